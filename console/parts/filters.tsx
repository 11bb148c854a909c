import { useEffect, useRef, useState } from 'preact/hooks'
import { words } from '../words/en/parts.ts'
import { Button } from './button.tsx'
import type { Option } from './choice-fields.tsx'
import { isComposing } from './composing.ts'
import { Icon } from './icon.tsx'

/** One filter: its name is that of the parameter in the URL. */
export type Filter =
  | { readonly kind: 'search'; readonly name: string; readonly label: string }
  | { readonly kind: 'choice'; readonly name: string; readonly label: string; readonly options: readonly Option[] }
  | { readonly kind: 'date'; readonly name: string; readonly label: string }
  | { readonly kind: 'text'; readonly name: string; readonly label: string }

export type FilterValues = Readonly<Record<string, string | undefined>>

export type FiltersProps = {
  readonly filters: readonly Filter[]
  /** From the URL. */
  readonly values: FilterValues
  /** Puts them into the URL. Called 300 ms after the last letter of a text. */
  readonly onChange: (values: FilterValues) => void
}

const typingDelay = 300

type OneProps<F> = { readonly filter: F; readonly value: string; readonly onChange: (value: string) => void }

/** A text that waits until typing pauses. The URL is right again when the back button or another filter changes it. */
const TextFilter = ({ filter, value, onChange }: OneProps<Filter>) => {
  const [text, setText] = useState(value)
  /** The text in the URL, at once or with the next render: letters typed until then must not be lost. */
  const sent = useRef(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // Another filter may change while the text waits: the newest function keeps its value.
  const latest = useRef(onChange)
  latest.current = onChange
  useEffect(() => {
    if (value === sent.current) return
    sent.current = value
    clearTimeout(timer.current)
    setText(value)
  }, [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const send = (next: string) => {
    clearTimeout(timer.current)
    if (next === sent.current) return
    sent.current = next
    latest.current(next)
  }
  const wait = (next: string) => {
    clearTimeout(timer.current)
    if (next !== sent.current) timer.current = setTimeout(() => send(next), typingDelay)
  }
  return (
    <label class={`filter filter-${filter.kind}`}>
      {filter.kind === 'search' && <Icon name="search" />}
      <span class="for-readers">{filter.label}</span>
      <input
        type="search"
        placeholder={filter.label}
        autocomplete="off"
        value={text}
        data-search={filter.kind === 'search' ? 'true' : undefined}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          wait(currentTarget.value)
        }}
        onKeyDown={(event) => event.key === 'Enter' && !isComposing(event) && send(event.currentTarget.value)}
        // Not at once: the rows must not move under the click that took the focus.
        onBlur={({ currentTarget }) => wait(currentTarget.value)}
      />
    </label>
  )
}

const ChoiceFilter = ({ filter, value, onChange }: OneProps<Extract<Filter, { kind: 'choice' }>>) => (
  <label class={value === '' ? 'filter' : 'filter is-set'}>
    <span class="filter-name">{filter.label}</span>
    <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      <option value="">{words.filters.any}</option>
      {filter.options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.text}
        </option>
      ))}
    </select>
    <Icon name="chevron-down" />
  </label>
)

const DateFilter = ({ filter, value, onChange }: OneProps<Filter>) => (
  <label class={value === '' ? 'filter' : 'filter is-set'}>
    <span class="filter-name">{filter.label}</span>
    <input type="date" value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)} />
  </label>
)

/** The filters of a list in one row. Their values are in the URL: a reload and a link show the same list. */
export const Filters = ({ filters, values, onChange }: FiltersProps) => {
  const set = (name: string, value: string) => onChange({ ...values, [name]: value === '' ? undefined : value })
  const isSet = filters.some(({ name }) => (values[name] ?? '') !== '')
  return (
    <search class="filters" aria-label={words.filters.title}>
      {filters.map((filter) => {
        const value = values[filter.name] ?? ''
        const props = { key: filter.name, value, onChange: (next: string) => set(filter.name, next) }
        if (filter.kind === 'choice') return <ChoiceFilter {...props} filter={filter} />
        if (filter.kind === 'date') return <DateFilter {...props} filter={filter} />
        return <TextFilter {...props} filter={filter} />
      })}
      {isSet && (
        <Button
          kind="quiet"
          icon="x"
          onClick={() => onChange(Object.fromEntries(filters.map(({ name }) => [name, undefined])))}
        >
          {words.filters.clear}
        </Button>
      )}
    </search>
  )
}
