import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { words } from '../words/en/parts.ts'
import { Icon } from './icon.tsx'
import { RequestId } from './values.tsx'

/** A refusal of the API, as pages show it. */
export type Refusal = {
  readonly message: string
  readonly code?: string | undefined
  readonly requestId?: string | undefined
  /** Messages by JSON pointer or field name. Without them the message names the field. */
  readonly fields?: Readonly<Record<string, string>> | undefined
}

type Faults = ReadonlyMap<string, string>

type FormState = {
  readonly faults: Faults
  /** Takes the message away from a field that was changed. */
  readonly clear: (name: string) => void
}

const FormContext = createContext<FormState>({ faults: new Map(), clear: () => undefined })

/** The message for a field, and the function that takes it away. */
export const useFault = (name: string): { fault: string | undefined; clear: () => void } => {
  const { faults, clear } = useContext(FormContext)
  return { fault: faults.get(name), clear: () => clear(name) }
}

/** `#/body/from_number`, `/from_number` and `from_number` are one field. */
const nameOf = (pointer: string): string => pointer.replace(/^#?\/?(?:body\/|query\/|path\/)?/, '')

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

const controlsOf = (form: HTMLFormElement): Control[] =>
  [...form.elements].filter(
    (one): one is Control =>
      (one instanceof HTMLInputElement || one instanceof HTMLSelectElement || one instanceof HTMLTextAreaElement) &&
      one.name !== '',
  )

const hasWord = (text: string, name: string): boolean => {
  const last = name.split('/').at(-1) ?? name
  // Names of fields consist of word characters; any other one would have a meaning in the pattern.
  return /^\w+$/.test(last) && new RegExp(`(?<![\\w.])${last}(?!\\w)`).test(text)
}

/** The control of a pointer: `/hooks/0/url` belongs to the control `hooks` when there is none of its own. */
const controlOf = (pointer: string, names: readonly string[]): string | undefined => {
  const steps = nameOf(pointer).split('/')
  const paths = steps.map((_, index) => steps.slice(0, steps.length - index).join('/'))
  return paths.find((path) => names.includes(path))
}

/** Messages by field. Without a pointer the message itself names the field: the first one that it names has it. */
const faultsOf = (refusal: Refusal, names: readonly string[]): Faults => {
  const byPointer = Object.entries(refusal.fields ?? {}).flatMap(([pointer, text]) => {
    const name = controlOf(pointer, names)
    return name === undefined ? [] : [[name, text] as const]
  })
  if (byPointer.length > 0) return new Map(byPointer)
  const name = names.find((each) => hasWord(refusal.message, each))
  return name === undefined ? new Map() : new Map([[name, refusal.message]])
}

/** The fault of a control by the browser's own checks, in words of the catalogue. */
const faultOf = (control: Control): string | undefined => {
  const { validity } = control
  if (validity.valid) return undefined
  if (validity.customError) return control.validationMessage
  if (validity.valueMissing) return words.form.required
  if (control.dataset.fault) return control.dataset.fault
  if (validity.typeMismatch) return control.type === 'email' ? words.form.notEmail : words.form.notUrl
  if (control instanceof HTMLInputElement && validity.rangeUnderflow) return words.form.tooSmall(control.min)
  if (control instanceof HTMLInputElement && validity.rangeOverflow) return words.form.tooLarge(control.max)
  return words.form.invalid
}

const focusOn = (form: HTMLFormElement | null, name: string): void => {
  const found = form?.elements.namedItem(name)
  const control = found instanceof RadioNodeList ? found[0] : found
  if (control instanceof HTMLElement) control.focus()
}

export type FormProps = {
  /** Called once every field is valid. Files are in `data`. */
  readonly onSubmit: (values: Readonly<Record<string, string>>, data: FormData) => void
  /** The last refusal. The summary names it and its request; fields show theirs. */
  readonly refusal?: Refusal | undefined
  readonly id?: string
  readonly label?: string
  readonly children: ComponentChildren
}

/**
 * A form that checks its fields in words of the catalogue and shows refusals at their fields. After a refusal the
 * summary has the focus, so that screen readers read it and the next Tab reaches the faults.
 */
export const Form = ({ onSubmit, refusal, id, label, children }: FormProps) => {
  const form = useRef<HTMLFormElement>(null)
  const summary = useRef<HTMLDivElement>(null)
  const [faults, setFaults] = useState<Faults>(new Map())
  const [count, setCount] = useState(0)

  useEffect(() => {
    const names = form.current ? controlsOf(form.current).map(({ name }) => name) : []
    setFaults(refusal ? faultsOf(refusal, names) : new Map())
    setCount(0)
    if (refusal) summary.current?.focus()
  }, [refusal])

  const clear = (name: string) => {
    if (faults.has(name)) setFaults(new Map([...faults].filter(([each]) => each !== name)))
  }

  const submit = (event: Event) => {
    event.preventDefault()
    if (!form.current) return
    const found = controlsOf(form.current).flatMap((control) => {
      const fault = faultOf(control)
      return fault === undefined ? [] : [[control.name, fault] as const]
    })
    // The first fault of a group of radio buttons counts.
    setFaults(new Map(found.toReversed()))
    setCount(new Map(found).size)
    const first = found[0]
    if (first) return focusOn(form.current, first[0])
    const data = new FormData(form.current)
    onSubmit(
      Object.fromEntries([...data].flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []))),
      data,
    )
  }

  // Links to the fields, as in an error summary: also for the message itself, when a field has it.
  const inFields = refusal ? [...faults] : []
  const isInField = inFields.some(([, text]) => text === refusal?.message)
  return (
    <FormContext.Provider value={{ faults, clear }}>
      <form ref={form} class="form" id={id} aria-label={label} noValidate onSubmit={submit}>
        <div role="status" class="for-readers">
          {count > 0 && faults.size > 0 ? words.form.faults(count) : ''}
        </div>
        {refusal && (
          <div ref={summary} class="banner tone-bad" role="alert" tabIndex={-1}>
            <Icon name="circle-x" />
            <div class="banner-text">
              <strong>{words.form.refused}</strong>
              {!isInField && <p>{refusal.message}</p>}
              {inFields.length > 0 && (
                <ul class="form-faults">
                  {inFields.map(([name, text]) => (
                    <li key={name}>
                      <button type="button" class="link" onClick={() => focusOn(form.current, name)}>
                        {text}
                      </button>
                    </li>
                  ))}
                </ul>
              )}
              {refusal.requestId && <RequestId id={refusal.requestId} />}
            </div>
          </div>
        )}
        {children}
      </form>
    </FormContext.Provider>
  )
}

/** The acts of a form: the first one is the one that people came for. */
export const FormActions = ({ children }: { children: ComponentChildren }) => <div class="form-actions">{children}</div>
