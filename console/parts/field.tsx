import type { ComponentChildren, VNode } from 'preact'
import { useId } from 'preact/hooks'
import { words } from '../words/en/parts.ts'
import { classes } from './classes.ts'
import { useFault } from './form.tsx'
import { Icon } from './icon.tsx'

/** Properties that every field has. */
export type FieldProps = {
  /** Name of the field in the request: refusals find the field by it. */
  readonly name: string
  readonly label: string
  readonly hint?: ComponentChildren
  /** A message of the page. Messages of the form come by themselves. */
  readonly error?: string | undefined
  readonly required?: boolean
  /** Shows the word "optional", where most fields of the form are required. */
  readonly optional?: boolean
  /** For search boxes and filters: the label is for screen readers only. */
  readonly hideLabel?: boolean
}

/** Properties that a field passes to its control. */
export type ControlProps = {
  readonly id: string
  readonly name: string
  readonly required: boolean
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': 'true' | undefined
}

/** Ids and the message of a field, for a control of its own shape. */
export const useField = ({ name, hint, error, required = false }: FieldProps) => {
  const id = useId()
  const { fault, clear } = useFault(name)
  const message = error ?? fault
  const described = [hint !== undefined && `${id}-hint`, message !== undefined && `${id}-error`].filter(Boolean)
  const control: ControlProps = {
    id,
    name,
    required,
    'aria-describedby': described.join(' ') || undefined,
    'aria-invalid': message === undefined ? undefined : 'true',
  }
  return { id, control, message, clear }
}

/** The hint and the message under a field. */
export const FieldNotes = ({
  id,
  hint,
  message,
}: {
  id: string
  hint?: ComponentChildren
  message?: string | undefined
}) => (
  <>
    {hint !== undefined && (
      <div class="field-hint" id={`${id}-hint`}>
        {hint}
      </div>
    )}
    {message !== undefined && (
      <div class="field-error" id={`${id}-error`}>
        <Icon name="circle-alert" />
        <span>{message}</span>
      </div>
    )}
  </>
)

export const FieldLabel = ({ optional, children }: { optional?: boolean | undefined; children: ComponentChildren }) => (
  <>
    {children}
    {optional && <span class="field-optional"> {words.optional}</span>}
  </>
)

type Props = FieldProps & { readonly class?: string; readonly children: (control: ControlProps) => VNode }

/** A label, a control, a hint and a message, connected for screen readers. */
export const Field = ({ class: more, children, ...props }: Props) => {
  const { id, control, message, clear } = useField(props)
  return (
    <div class={classes('field', message !== undefined && 'has-error', more)} onInput={clear}>
      <label for={id} class={props.hideLabel ? 'for-readers' : 'field-label'}>
        <FieldLabel optional={props.optional}>{props.label}</FieldLabel>
      </label>
      {children(control)}
      <FieldNotes id={id} hint={props.hint} message={message} />
    </div>
  )
}
