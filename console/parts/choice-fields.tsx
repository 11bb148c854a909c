import type { ComponentChildren } from 'preact'
import { classes } from './classes.ts'
import { Field, FieldLabel, FieldNotes, type FieldProps, useField } from './field.tsx'
import { Icon } from './icon.tsx'

export type Option = {
  readonly value: string
  readonly text: string
  readonly hint?: string
  /** Why it cannot be chosen. */
  readonly reason?: string | undefined
}

export type OptionGroup = { readonly label: string; readonly options: readonly Option[] }

type ChoiceProps = FieldProps & {
  readonly options: readonly Option[]
  readonly value?: string | undefined
  readonly initial?: string | undefined
  readonly onChange?: (value: string) => void
}

const OptionRow = ({ option, selected }: { option: Option; selected: boolean | undefined }) => (
  <option value={option.value} disabled={option.reason !== undefined} selected={selected}>
    {option.text}
  </option>
)

/** A native select: for up to about twenty choices. More need a Combobox. */
export const SelectField = ({
  groups = [],
  placeholder,
  ...props
}: ChoiceProps & { readonly groups?: readonly OptionGroup[]; readonly placeholder?: string }) => {
  const chosen = props.value ?? props.initial
  return (
    <Field {...props}>
      {(control) => (
        <span class="input-box select-box">
          <select
            class="input"
            {...control}
            {...(props.value === undefined ? {} : { value: props.value })}
            onChange={({ currentTarget }) => props.onChange?.(currentTarget.value)}
          >
            {placeholder !== undefined && <option value="">{placeholder}</option>}
            {props.options.map((option) => (
              <OptionRow key={option.value} option={option} selected={chosen === option.value} />
            ))}
            {groups.map(({ label, options }) => (
              <optgroup key={label} label={label}>
                {options.map((option) => (
                  <OptionRow key={option.value} option={option} selected={chosen === option.value} />
                ))}
              </optgroup>
            ))}
          </select>
          <Icon name="chevrons-up-down" />
        </span>
      )}
    </Field>
  )
}

type CheckProps = FieldProps & {
  readonly checked?: boolean | undefined
  readonly initial?: boolean
  readonly onChange?: (checked: boolean) => void
  readonly value?: string
}

/** One yes or no. The label is part of the target. */
export const CheckboxField = ({ checked, initial = false, onChange, value = 'true', ...props }: CheckProps) => {
  const { id, control, message, clear } = useField(props)
  return (
    <div class={classes('field', message !== undefined && 'has-error')}>
      <label class="choice">
        <input
          type="checkbox"
          value={value}
          {...control}
          {...(checked === undefined ? { defaultChecked: initial } : { checked })}
          onChange={({ currentTarget }) => {
            clear()
            onChange?.(currentTarget.checked)
          }}
        />
        <span class="choice-text">
          <FieldLabel optional={props.optional}>{props.label}</FieldLabel>
        </span>
      </label>
      <div class="choice-notes">
        <FieldNotes id={id} hint={props.hint} message={message} />
      </div>
    </div>
  )
}

type RadioProps = ChoiceProps & {
  /** `cards` show each choice with its hint in a box. `row` is for two or three short ones. */
  readonly look?: 'list' | 'row' | 'cards'
  readonly extra?: ComponentChildren
}

/** One of a few. Arrow keys move, as in every group of native radio buttons. */
export const RadioField = ({ options, value, initial, onChange, look = 'list', extra, ...props }: RadioProps) => {
  const { id, control, message, clear } = useField(props)
  return (
    <fieldset
      class={classes('field', 'choices', `choices-${look}`, message !== undefined && 'has-error')}
      aria-describedby={control['aria-describedby']}
    >
      <legend class={props.hideLabel ? 'for-readers' : 'field-label'}>
        <FieldLabel optional={props.optional}>{props.label}</FieldLabel>
      </legend>
      <div class="choices-box">
        {options.map((option) => (
          <label key={option.value} class={classes('choice', option.reason !== undefined && 'is-off')}>
            <input
              type="radio"
              name={props.name}
              value={option.value}
              required={control.required}
              disabled={option.reason !== undefined}
              {...(value === undefined
                ? { defaultChecked: initial === option.value }
                : { checked: value === option.value })}
              onChange={() => {
                clear()
                onChange?.(option.value)
              }}
            />
            <span class="choice-text">
              {option.text}
              {(option.reason ?? option.hint) && <span class="choice-hint">{option.reason ?? option.hint}</span>}
            </span>
          </label>
        ))}
      </div>
      {extra}
      <FieldNotes id={id} hint={props.hint} message={message} />
    </fieldset>
  )
}

type ChecksProps = FieldProps & {
  readonly options: readonly Option[]
  readonly values: readonly string[]
  readonly onChange: (values: readonly string[]) => void
}

/** Several of a few. */
export const CheckboxGroup = ({ options, values, onChange, ...props }: ChecksProps) => {
  const { id, control, message, clear } = useField(props)
  return (
    <fieldset class="field choices choices-list" aria-describedby={control['aria-describedby']}>
      <legend class={props.hideLabel ? 'for-readers' : 'field-label'}>
        <FieldLabel optional={props.optional}>{props.label}</FieldLabel>
      </legend>
      <div class="choices-box">
        {options.map((option) => (
          <label key={option.value} class={classes('choice', option.reason !== undefined && 'is-off')}>
            <input
              type="checkbox"
              name={props.name}
              value={option.value}
              checked={values.includes(option.value)}
              disabled={option.reason !== undefined}
              onChange={({ currentTarget }) => {
                clear()
                const rest = values.filter((each) => each !== option.value)
                onChange(currentTarget.checked ? [...rest, option.value] : rest)
              }}
            />
            <span class="choice-text">
              {option.text}
              {(option.reason ?? option.hint) && <span class="choice-hint">{option.reason ?? option.hint}</span>}
            </span>
          </label>
        ))}
      </div>
      <FieldNotes id={id} hint={props.hint} message={message} />
    </fieldset>
  )
}
