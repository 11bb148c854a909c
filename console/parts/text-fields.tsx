import type { ComponentChildren, InputHTMLAttributes } from 'preact'
import { useState } from 'preact/hooks'
import type { IconName } from '../icons/names.ts'
import { words } from '../words/en/parts.ts'
import * as format from '../words/format.ts'
import { Field, type FieldProps } from './field.tsx'
import { Icon } from './icon.tsx'

/** A field whose value is text. With `value` the page holds the text, with `initial` the form does. */
export type TextProps = FieldProps & {
  readonly value?: string | undefined
  readonly initial?: string | undefined
  readonly onInput?: (value: string) => void
  readonly placeholder?: string
  readonly autocomplete?: InputHTMLAttributes<HTMLInputElement>['autocomplete']
  readonly autofocus?: boolean
  readonly maxLength?: number
  readonly readOnly?: boolean
}

// Preact types inputs by a literal type. One that a property chooses has the attributes of a line of text.
const Line = ({ type, ...rest }: { type: string } & Omit<InputHTMLAttributes<HTMLInputElement>, 'type' | 'role'>) => (
  <input {...(rest as object)} type={type as 'text'} />
)

/** `value` or `defaultValue`, and the callback: shared by every control of text. */
const textOf = ({ value, initial, onInput, placeholder, autofocus, maxLength, readOnly }: TextProps) => ({
  ...(value === undefined ? { defaultValue: initial ?? '' } : { value }),
  onInput: ({ currentTarget }: { currentTarget: { value: string } }) => onInput?.(currentTarget.value),
  placeholder,
  autofocus,
  readOnly,
  ...(maxLength === undefined ? {} : { maxLength }),
})

type LineProps = TextProps & {
  readonly type?: 'text' | 'email' | 'url' | 'password' | 'search' | 'date' | 'datetime-local' | 'time'
  readonly pattern?: string
  /** The message when the text does not match the pattern or the type. */
  readonly fault?: string
  readonly icon?: IconName
  readonly code?: boolean
  readonly min?: string
  readonly max?: string
}

export const TextField = (props: LineProps) => (
  <Field {...props}>
    {(control) => (
      <span class="input-box">
        {props.icon && <Icon name={props.icon} />}
        <Line
          class={props.code ? 'input code-input' : 'input'}
          type={props.type ?? 'text'}
          autocomplete={props.autocomplete ?? 'off'}
          pattern={props.pattern}
          min={props.min}
          max={props.max}
          data-fault={props.fault}
          spellcheck={!props.code}
          dir={props.code ? 'ltr' : 'auto'}
          {...control}
          {...textOf(props)}
        />
      </span>
    )}
  </Field>
)

/** A password that can be shown. Paste and password managers work. */
export const PasswordField = (props: TextProps) => {
  const [isShown, setShown] = useState(false)
  return (
    <Field {...props}>
      {(control) => (
        <span class="input-box">
          <Line
            class="input"
            type={isShown ? 'text' : 'password'}
            autocomplete={props.autocomplete ?? 'current-password'}
            dir="ltr"
            {...control}
            {...textOf(props)}
          />
          <button type="button" class="input-act" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
            <Icon name={isShown ? 'eye-off' : 'eye'} label={`${words.reveal} ${props.label}`} />
          </button>
        </span>
      )}
    </Field>
  )
}

type AmountProps = {
  readonly field: TextProps
  readonly inputMode: 'numeric' | 'decimal'
  readonly pattern: string
  /** Fault of a value that does not match the pattern. */
  readonly fault: string
  readonly unit: string | undefined
}

const AmountField = ({ field, inputMode, pattern, fault, unit }: AmountProps) => (
  <Field {...field}>
    {(control) => (
      <span class="input-box input-short">
        <input
          class="input tabular"
          inputMode={inputMode}
          pattern={pattern}
          data-fault={fault}
          autocomplete="off"
          dir="ltr"
          {...control}
          {...textOf(field)}
        />
        {unit && <span class="input-unit">{unit}</span>}
      </span>
    )}
  </Field>
)

/** A whole number. `inputmode` instead of `type=number`: a wheel or an arrow key does not change it by accident. */
export const NumberField = ({ unit, ...field }: TextProps & { readonly unit?: string }) => (
  <AmountField field={field} inputMode="numeric" pattern="-?[0-9]+" fault={words.form.notNumber} unit={unit} />
)

/** An amount of money as a decimal string: never a float. */
export const MoneyField = ({ currency = 'USD', ...field }: TextProps & { readonly currency?: string }) => (
  <AmountField
    field={field}
    inputMode="decimal"
    pattern="-?[0-9]+(\.[0-9]{1,6})?"
    fault={words.form.notMoney}
    unit={currency}
  />
)

/** Digits of what people type or paste: spaces, brackets and dashes go, `00` becomes `+`. */
const toE164 = (typed: string): string => typed.replace(/[^\d+]/g, '').replace(/^00/, '+')

/** A phone number in E.164. Pasted numbers are cleaned when the field is left. */
export const PhoneField = (props: TextProps) => (
  <Field {...props}>
    {(control) => (
      <span class="input-box input-short">
        <Icon name="phone" />
        <input
          class="input tabular"
          type="tel"
          autocomplete={props.autocomplete ?? 'off'}
          pattern="\+[0-9]{7,15}"
          data-fault={words.form.notPhone}
          dir="ltr"
          {...control}
          {...textOf({ ...props, placeholder: props.placeholder ?? '+44 20 7946 0018' })}
          onChange={({ currentTarget }) => {
            const number = toE164(currentTarget.value)
            if (number === currentTarget.value) return
            currentTarget.value = number
            props.onInput?.(number)
          }}
        />
      </span>
    )}
  </Field>
)

/** Several lines. Grows with its text where the browser can (`field-sizing`). */
export const TextareaField = (
  props: TextProps & { readonly rows?: number; readonly foot?: ComponentChildren; readonly code?: boolean },
) => {
  const [length, setLength] = useState((props.value ?? props.initial ?? '').length)
  const { onInput, ...text } = textOf(props)
  return (
    <Field {...props}>
      {(control) => (
        <span class="input-block">
          <textarea
            class={props.code ? 'input code-input' : 'input'}
            rows={props.rows ?? 3}
            dir={props.code ? 'ltr' : 'auto'}
            {...control}
            {...text}
            onInput={(event) => {
              setLength(event.currentTarget.value.length)
              onInput(event)
            }}
          />
          {(props.foot !== undefined || props.maxLength !== undefined) && (
            <span class="input-foot tabular">
              <span>{props.foot}</span>
              {props.maxLength !== undefined && (
                <span>
                  {format.number(props.value?.length ?? length)}/{format.number(props.maxLength)}
                </span>
              )}
            </span>
          )}
        </span>
      )}
    </Field>
  )
}
