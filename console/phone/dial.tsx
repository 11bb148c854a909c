import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { SelectField } from '../parts/choice-fields.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form } from '../parts/form.tsx'
import { Icon } from '../parts/icon.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { Country } from '../parts/values.tsx'
import { paths } from '../paths.ts'
import { dialRequest, phone, type phoneBarrier } from '../shell/phone.ts'
import { words } from '../words/en/phone.ts'
import { clock, fullName, money, phoneNumber } from '../words/format.ts'
import { Availability } from './availability.tsx'
import { Keypad } from './keypad.tsx'
import { LineStatus } from './line-status.tsx'
import { localTimeOf } from './local-time.ts'
import { askMicrophone } from './microphone.ts'
import { act } from './tab-lock.ts'

const lastFromKey = 'trunkline.callerId'

const close = () => {
  dialRequest.value = null
}

/** A number as it is dialled; null while it is none. */
const dialled = (typed: string): string | null => {
  const bare = typed.replace(/[\s().\-/]/g, '').replace(/^00/, '+')
  return /^\+[1-9]\d{6,14}$/.test(bare) ? bare : null
}

/** The text after typing has paused. */
const usePaused = (text: string): string => {
  const [paused, setPaused] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), 250)
    return () => clearTimeout(timer)
  }, [text])
  return paused
}

/** Contacts whose name or number matches what was typed. */
const Matches = ({ text, onChoose }: { text: string; onChoose: (number: string) => void }) => {
  const q = usePaused(text.trim())
  const isName = /\p{L}{2}/u.test(q)
  const found = useQuery('GET /open/contacts/search', { query: { q, results_per_page: 5 }, enabled: isName })
  const rows = isName
    ? (found.data?.contacts ?? []).flatMap((contact) =>
        contact.details.flatMap(({ type, value }) =>
          type === 'PH' ? [{ key: `${contact.uuid} ${value}`, name: fullName(contact), value }] : [],
        ),
      )
    : []
  if (rows.length === 0) return null
  return (
    <ul class="phone-matches" aria-label={words.dial.contacts}>
      {rows.slice(0, 5).map(({ key, name, value }) => (
        <li key={key}>
          <button type="button" class="popup-item" onClick={() => onChoose(value)}>
            <Icon name="user" />
            <span class="cut" dir="auto">
              {name}
            </span>
            <bdi class="soft tabular" dir="ltr">
              {phoneNumber(value)}
            </bdi>
          </button>
        </li>
      ))}
    </ul>
  )
}

/** Price and time at the destination. */
const useDestination = (number: string | null) => {
  const pausedNumber = usePaused(number ?? '')
  const isPaused = pausedNumber !== '' && pausedNumber === number
  const price = useQuery('GET /open/voip/estimated-call-price/:number', {
    params: { number: pausedNumber },
    enabled: isPaused,
  })
  const data = isPaused ? price.data : undefined
  return {
    data,
    error: isPaused && !data ? price.error : null,
    time: data?.iso_country_code ? localTimeOf(data.iso_country_code) : null,
  }
}

const Destination = ({ data, time }: Pick<ReturnType<typeof useDestination>, 'data' | 'time'>) => {
  if (!data) return <p class="phone-destination" role="status" />
  const now = Date.now()
  const [first, last] = time ? [clock(now, time.first), clock(now, time.last)] : ['', '']
  return (
    <p class="phone-destination" role="status">
      {data.iso_country_code && <Country code={data.iso_country_code} />}
      {data.price_per_minute === 0 ? (
        <span>{words.dial.free}</span>
      ) : (
        <data value={data.price_per_minute}>
          {words.dial.price(money(String(data.price_per_minute), { exact: true }))}
        </data>
      )}
      {time && (
        <span class={time.isNight ? 'phone-night' : ''}>
          {time.isNight && <Icon name="moon" label={words.dial.night} />}
          {words.dial.time(first === last ? first : words.dial.between(first, last))}
        </span>
      )}
    </p>
  )
}

const useCallerIds = () => {
  const list = useQuery('GET /open/voip/caller-ids', { query: { results_per_page: 200 } })
  return list.data?.caller_ids.filter(({ verified }) => verified)
}

const storedFrom = (): string => {
  try {
    return localStorage.getItem(lastFromKey) ?? ''
  } catch {
    return ''
  }
}

const storeFrom = (number: string): void => {
  try {
    localStorage.setItem(lastFromKey, number)
  } catch {
    // The browser forbids storage.
  }
}

const DialForm = ({ request }: { request: NonNullable<typeof dialRequest.value> }) => {
  const [typed, setTyped] = useState(request.number ? phoneNumber(request.number) : '')
  const [chosen, setChosen] = useState(request.from ?? storedFrom())
  const [fault, setFault] = useState('')
  const [isPending, setPending] = useState(false)
  const field = useRef<HTMLDivElement>(null)
  const number = dialled(typed)
  const { data, error, time } = useDestination(number)
  const callerIds = useCallerIds()
  const from = callerIds?.some(({ phone_number }) => phone_number === chosen) ? chosen : ''
  // The dialog gives the focus to the field as it opens. With another number it is open already.
  useLayoutEffect(() => field.current?.querySelector('input')?.focus(), [])
  const change = (next: string) => {
    setTyped(next)
    setFault('')
  }
  const call = async () => {
    if (isPending) return
    if (!number) return setFault(words.dial.notNumber)
    setPending(true)
    const problem = await askMicrophone()
    setPending(false)
    if (problem) return setFault(problem)
    storeFrom(from)
    act({ act: 'call', number, ...(from ? { from } : {}) })
    close()
  }
  const isReady = phone.value.line === 'ready' || phone.value.line === 'reconnecting'
  return (
    <Form onSubmit={() => void call()}>
      <div ref={field} class="phone-number">
        <TextField
          name="number"
          label={words.dial.number}
          hint={words.dial.numberHint}
          icon="phone"
          value={typed}
          onInput={change}
          error={fault || error?.message}
          autocomplete="off"
          autofocus
        />
      </div>
      <Destination data={data} time={time} />
      <Matches text={typed} onChoose={(value) => change(phoneNumber(value))} />
      <Keypad onKey={(key) => change(typed === '' && key === '0' ? '+' : typed + key)} />
      {callerIds === undefined || callerIds.length > 0 ? (
        <SelectField
          name="from"
          label={words.dial.from}
          value={from}
          onChange={setChosen}
          options={[
            { value: '', text: words.dial.fromAny },
            ...(callerIds ?? []).map(({ phone_number, friendly_name }) => ({
              value: phone_number,
              text:
                friendly_name && friendly_name !== phone_number
                  ? `${phoneNumber(phone_number)} · ${friendly_name}`
                  : phoneNumber(phone_number),
            })),
          ]}
        />
      ) : (
        <p class="soft">
          {words.dial.fromNone} {may('numbers') && <a href={paths.shop()}>{words.dial.buy}</a>}
        </p>
      )}
      <Button
        type="submit"
        kind="primary"
        icon="phone"
        wide
        busy={isPending}
        reason={isReady ? undefined : words.lines[phone.value.line]}
      >
        {time?.isNight ? words.dial.callAnyway : words.dial.call}
      </Button>
    </Form>
  )
}

type Props = {
  readonly request: NonNullable<typeof dialRequest.value>
  readonly barrier: ReturnType<typeof phoneBarrier>
}

/** The telephone: who to call, which number is shown, the price, and the time there. */
export const DialDialog = ({ request, barrier }: Props) => (
  <Dialog open title={words.dial.title} onClose={close} size="small">
    {barrier === null ? (
      <div class="stack phone-dial">
        <LineStatus />
        <DialForm key={`${request.number} ${request.from}`} request={request} />
        <div class="phone-foot">
          <Availability />
          <ButtonLink kind="quiet" size="small" icon="settings" href={paths.telephone()}>
            {words.dial.devices}
          </ButtonLink>
        </div>
      </div>
    ) : (
      <p>{words.barriers[barrier]}</p>
    )}
  </Dialog>
)
