import { useEffect, useState } from 'preact/hooks'
import { words } from '../words/en/parts.ts'
import * as format from '../words/format.ts'
import { Icon } from './icon.tsx'
import { Tooltip } from './tooltip.tsx'

// Small parts that show one value each.

export type MoneyProps = format.MoneyOptions & { readonly amount: string }

/** An amount, rounded for show. Focus and hover show every digit when some are hidden. */
export const Money = ({ amount, ...options }: MoneyProps) => {
  const shown = format.money(amount, options)
  const full = format.money(amount, { ...options, exact: true })
  if (shown === full)
    return (
      <data value={amount} class="tabular">
        {shown}
      </data>
    )
  return (
    <Tooltip text={full}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users reach the exact amount by focus. */}
      <data value={amount} class="tabular has-more" tabIndex={0}>
        <span aria-hidden="true">{shown}</span>
        <span class="for-readers">{full}</span>
      </data>
    </Tooltip>
  )
}

export type MomentProps = {
  /** ISO 8601, or milliseconds since 1970. */
  readonly time: string | number
  /** `relative` counts up by itself; `short` is for tables. Default: short. */
  readonly show?: 'relative' | 'short' | 'exact' | 'day'
  /** A zone of the other side, such as `Europe/London`. */
  readonly zone?: string
}

/** A time, in the zone of the person. The exact time is in its title. */
export const Moment = ({ time, show = 'short', zone }: MomentProps) => {
  const [, setTick] = useState(0)
  useEffect(() => {
    if (show !== 'relative') return
    const timer = setInterval(() => setTick((tick) => tick + 1), 20_000)
    return () => clearInterval(timer)
  }, [show])
  // A time that was read since the last tick is not in the future.
  const now = Date.now()
  const text = {
    relative: () => format.relative(time, now) ?? format.shortTime(time, now),
    short: () => (zone === undefined ? format.shortTime(time, now) : format.clock(time, zone)),
    exact: () => format.exactTime(time, zone),
    day: () => format.shortDay(time, now),
  }[show]()
  return (
    <time dateTime={new Date(time).toISOString()} title={format.exactTime(time, zone)} class="tabular nowrap">
      {text}
    </time>
  )
}

/** A number in E.164, grouped, in its own direction within right-to-left text. */
export const PhoneNumber = ({ number, href }: { number: string; href?: string | undefined }) => {
  const text = (
    <bdi dir="ltr" class="tabular nowrap">
      {format.phoneNumber(number)}
    </bdi>
  )
  return href === undefined ? text : <a href={href}>{text}</a>
}

/** The code of a country in a box. Flags would be letters on Windows, and flags of regions are a matter of dispute. */
export const Flag = ({ country }: { country: string }) => (
  <abbr class="flag" title={format.country(country)}>
    {country.toUpperCase()}
  </abbr>
)

export const Country = ({ code }: { code: string }) => (
  <span class="country">
    <span aria-hidden="true" class="flag">
      {code.toUpperCase()}
    </span>
    {format.country(code)}
  </span>
)

const copiedFor = 1_800

/** Copies by the clipboard of the browser. Pages over plain HTTP have none, so they copy a selection. */
export const copyText = async (text: string): Promise<void> => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

export type CopyButtonProps = { readonly text: string; readonly what: string }

/** Copies a text. Says so by an icon and to screen readers. */
export const CopyButton = ({ text, what }: CopyButtonProps) => {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), copiedFor)
    return () => clearTimeout(timer)
  }, [isCopied])
  return (
    <button
      type="button"
      class={`copy-button ${isCopied ? 'is-copied' : ''}`}
      title={words.copyOf(what)}
      onClick={async () => {
        await copyText(text)
        setCopied(true)
      }}
    >
      <Icon name={isCopied ? 'check' : 'copy'} label={words.copyOf(what)} />
      <span class="for-readers" role="status">
        {isCopied ? words.copied : ''}
      </span>
    </button>
  )
}

/** An id or another value that people copy. `shown` may be shorter than the value. */
export const Copy = ({ value, what, shown = value }: { value: string; what: string; shown?: string }) => (
  <span class="copy">
    <code title={value} dir="ltr">
      {shown}
    </code>
    <CopyButton text={value} what={what} />
  </span>
)

/** Shows that a value is missing: a dash for the eye, words for screen readers. */
export const NoValue = () => (
  <span class="soft">
    <span aria-hidden="true">–</span>
    <span class="for-readers">{words.noValue}</span>
  </span>
)

/** The id by which an operator finds a request in the log. */
export const RequestId = ({ id }: { id: string }) => (
  <p class="request-id">
    {words.form.requestId} <code>{id}</code>
    <CopyButton text={id} what={words.form.requestId} />
  </p>
)
