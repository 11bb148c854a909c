import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { words } from '../words/en/parts.ts'
import type { Option } from './choice-fields.tsx'
import { isComposing } from './composing.ts'
import { Field, type FieldProps } from './field.tsx'
import { Icon } from './icon.tsx'

export type ComboboxProps = FieldProps & {
  /** The chosen one. */
  readonly value: Option | undefined
  readonly onChange: (option: Option | undefined) => void
  /** All choices; typing filters them. */
  readonly options?: readonly Option[]
  /** Finds choices on a server, 150 ms after the last letter. The signal ends a search that is out of date. */
  readonly load?: (query: string, signal: AbortSignal) => Promise<readonly Option[]>
  readonly placeholder?: string
}

type Results = { readonly options: readonly Option[]; readonly state: 'ready' | 'loading' | 'failed' }

const loadDelay = 150
/** More rows than this are a list, not a choice: people type another letter. */
const mostShown = 100

/** Letters without case and accents: `Zürich` is found by `zur`. */
const bare = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

const matching = (options: readonly Option[], query: string): readonly Option[] => {
  const sought = bare(query.trim())
  const all = sought === '' ? options : options.filter(({ text, value }) => bare(`${text} ${value}`).includes(sought))
  return all.slice(0, mostShown)
}

/** The choices for a text, from the list or from `load`. */
const useFound = ({ options, load }: ComboboxProps, query: string, isOpen: boolean): Results => {
  const [found, setFound] = useState<Results>({ options: [], state: 'loading' })
  const latest = useRef(load)
  latest.current = load
  const isLoaded = load !== undefined
  useEffect(() => {
    const find = latest.current
    if (!isOpen || !isLoaded || !find) return
    const controller = new AbortController()
    setFound((before) => ({ ...before, state: 'loading' }))
    const timer = setTimeout(async () => {
      try {
        const next = await find(query, controller.signal)
        if (!controller.signal.aborted) setFound({ options: next.slice(0, mostShown), state: 'ready' })
      } catch {
        if (!controller.signal.aborted) setFound({ options: [], state: 'failed' })
      }
    }, loadDelay)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [query, isOpen, isLoaded])
  return options === undefined ? found : { options: matching(options, query), state: 'ready' }
}

type OptionListProps = {
  readonly id: string
  readonly label: string
  readonly options: readonly Option[]
  readonly value: Option | undefined
  readonly active: number
  readonly onActive: (index: number) => void
  readonly onChoose: (option: Option) => void
}

const OptionList = ({ id, label, options, value, active, onActive, onChoose }: OptionListProps) => (
  <div id={id} role="listbox" aria-label={label}>
    {options.map((option, index) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the box has the keys.
      // biome-ignore lint/a11y/useFocusableInteractive: the box keeps the focus.
      <div
        key={option.value}
        id={`${id}-${index}`}
        role="option"
        class={index === active ? 'listbox-option is-active' : 'listbox-option'}
        aria-selected={option.value === value?.value}
        aria-disabled={option.reason === undefined ? undefined : 'true'}
        onClick={() => onChoose(option)}
        onPointerMove={() => active !== index && onActive(index)}
      >
        <span class="listbox-text">
          <span dir="auto">{option.text}</span>
          {(option.reason ?? option.hint) && <span class="menu-hint">{option.reason ?? option.hint}</span>}
        </span>
        {option.value === value?.value && <Icon name="check" />}
      </div>
    ))}
  </div>
)

/** The text, the list and the active choice of a combobox, and its keys. */
const useCombobox = (props: ComboboxProps) => {
  const { value, onChange } = props
  const [text, setText] = useState(value?.text ?? '')
  const [query, setQuery] = useState('')
  const [isOpen, setOpen] = useState(false)
  const [active, setActive] = useState(-1)
  const { options, state } = useFound(props, query, isOpen)
  useEffect(() => setText(value?.text ?? ''), [value?.value, value?.text])

  const open = (next = '') => {
    setQuery(next)
    // The choices of this text: those on the page belong to the last one.
    const local = props.options ? matching(props.options, next) : []
    setActive(next === '' ? local.findIndex((option) => option.value === value?.value) : 0)
    setOpen(true)
  }
  const close = () => {
    setOpen(false)
    setActive(-1)
  }
  const choose = (option: Option | undefined) => {
    if (option?.reason !== undefined) return
    setText(option?.text ?? '')
    close()
    onChange(option)
  }

  const onKeyDown = (event: KeyboardEvent) => {
    if (isComposing(event)) return
    const last = options.length - 1
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      if (!isOpen) return open()
      const step = event.key === 'ArrowDown' ? 1 : -1
      setActive(active + step > last ? 0 : active + step < 0 ? last : active + step)
    } else if (event.key === 'Enter' && isOpen) {
      event.preventDefault()
      const option = options[active]
      if (option) choose(option)
    } else if (event.key === 'Escape' && (isOpen || text !== (value?.text ?? ''))) {
      // The first Escape closes the list, and not the dialog around it.
      event.preventDefault()
      event.stopPropagation()
      setText(value?.text ?? '')
      close()
    }
  }
  const onInput = (next: string) => {
    setText(next)
    open(next)
  }
  const onBlur = () => {
    close()
    // An empty box means no choice; any other rest of a word does not.
    if (text.trim() === '' && value) onChange(undefined)
    else setText(value?.text ?? '')
  }
  return { text, options, state, isOpen, active, setActive, open, choose, onKeyDown, onInput, onBlur }
}

/** Shows and hides the list, and scrolls to the active choice. */
const useListbox = (isOpen: boolean, active: number) => {
  const box = useRef<HTMLSpanElement>(null)
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = list.current
    if (!element) return
    if (isOpen && !element.matches(':popover-open')) element.showPopover(box.current ? { source: box.current } : {})
    if (!isOpen && element.matches(':popover-open')) element.hidePopover()
  }, [isOpen])
  useEffect(() => {
    if (isOpen && active >= 0) list.current?.querySelector('.is-active')?.scrollIntoView({ block: 'nearest' })
  }, [active, isOpen])
  return { box, list }
}

/**
 * A text box that finds one of many (ARIA APG, combobox with list autocomplete): the focus stays in the box, and
 * `aria-activedescendant` names the active choice. Leaving the box without a choice restores the last one.
 */
export const Combobox = (props: ComboboxProps) => {
  const { value, placeholder } = props
  const listId = useId()
  const input = useRef<HTMLInputElement>(null)
  const { text, options, state, isOpen, active, setActive, open, choose, ...handlers } = useCombobox(props)
  const { box, list } = useListbox(isOpen, active)
  const note = state === 'failed' ? words.combobox.failed : state === 'loading' ? words.loading : words.combobox.none
  return (
    <Field {...props}>
      {(control) => (
        <span class="input-box combobox" ref={box}>
          <Icon name="search" />
          <input
            {...control}
            ref={input}
            class="input"
            role="combobox"
            autocomplete="off"
            spellcheck={false}
            dir="auto"
            placeholder={placeholder}
            aria-expanded={isOpen}
            aria-controls={listId}
            aria-autocomplete="list"
            aria-activedescendant={isOpen && options[active] ? `${listId}-${active}` : undefined}
            value={text}
            onInput={({ currentTarget }) => handlers.onInput(currentTarget.value)}
            onClick={() => !isOpen && open()}
            onBlur={handlers.onBlur}
            onKeyDown={handlers.onKeyDown}
          />
          {value && !control.required && (
            <button
              type="button"
              class="input-act"
              onClick={() => {
                choose(undefined)
                input.current?.focus()
              }}
            >
              <Icon name="x" label={`${words.combobox.clear} ${props.label}`} />
            </button>
          )}
          <div class="for-readers" role="status">
            {isOpen && (options.length > 0 && state === 'ready' ? words.combobox.results(options.length) : note)}
          </div>
          <div ref={list} class="listbox" popover="manual" onPointerDown={(event) => event.preventDefault()}>
            <OptionList
              id={listId}
              label={props.label}
              options={isOpen ? options : []}
              {...{ value, active }}
              onActive={setActive}
              onChoose={choose}
            />
            {isOpen && (options.length === 0 || state === 'failed') && <div class="listbox-note">{note}</div>}
          </div>
        </span>
      )}
    </Field>
  )
}
