import { useState } from 'preact/hooks'
import type { ReplyOf, RequestOf } from '../api/client.ts'
import type { ApiError } from '../api/errors.ts'
import { Button } from '../parts/button.tsx'
import { CheckboxGroup, RadioField, SelectField } from '../parts/choice-fields.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { NumberField, TextField } from '../parts/text-fields.tsx'
import { words } from '../words/en/applications.ts'
import { words as parts } from '../words/en/parts.ts'

export type Application = ReplyOf<'GET /open/voip/applications'>['applications'][number]
type Fields = RequestOf<'POST /open/voip/applications'>['body']

const methods = (['POST', 'GET'] as const).map((method) => ({ value: method, text: method }))
const shapes = ['native', 'twilio'] as const
const statuses = ['initiated', 'ringing', 'answered', 'completed'] as const

type FormProps = {
  /** The application to change; undefined: a new one. */
  readonly application?: Application
  readonly label: string
  readonly act: string
  readonly busy: boolean
  readonly refusal: ApiError | null
  readonly onSubmit: (fields: Fields) => void
  readonly onCancel?: () => void
}

/** The fields of an application. */
export const ApplicationForm = ({ application: own, label, act, busy, refusal, onSubmit, onCancel }: FormProps) => {
  const [events, setEvents] = useState<readonly string[]>(own?.status_events ?? ['completed'])
  const submit = ({ name = '', url = '', method, format, ...values }: Readonly<Record<string, string>>) => {
    if (busy) return
    onSubmit({
      name,
      url,
      method: method === 'GET' ? 'GET' : 'POST',
      fallback_url: values.fallback_url || null,
      format: format === 'twilio' ? 'twilio' : 'native',
      ...(values.timeout_seconds ? { timeout_seconds: Number(values.timeout_seconds) } : {}),
      status_url: values.status_url || null,
      status_events: statuses.filter((status) => events.includes(status)),
    })
  }
  const address = { type: 'url', maxLength: 2_048 } as const
  return (
    <Form onSubmit={submit} refusal={refusal ?? undefined} label={label}>
      <TextField
        name="name"
        label={words.name}
        hint={words.nameHint}
        initial={own?.name}
        maxLength={100}
        required
        autofocus={!own}
      />
      <TextField name="url" label={words.url} hint={words.urlHint} initial={own?.url} {...address} required />
      <SelectField name="method" label={words.method} initial={own?.method ?? 'POST'} options={methods} />
      <TextField
        name="fallback_url"
        label={words.fallback}
        hint={words.fallbackHint}
        initial={own?.fallback_url ?? ''}
        {...address}
        optional
      />
      <RadioField
        name="format"
        label={words.format}
        initial={own?.format ?? 'native'}
        options={shapes.map((shape) => ({ value: shape, text: words.formats[shape], hint: words.formatHints[shape] }))}
      />
      <NumberField
        name="timeout_seconds"
        label={words.timeout}
        hint={words.timeoutHint}
        initial={own ? String(own.timeout_seconds) : ''}
        unit={words.seconds}
        optional
      />
      <TextField
        name="status_url"
        label={words.statusUrl}
        hint={words.statusUrlHint}
        initial={own?.status_url ?? ''}
        {...address}
        optional
      />
      <CheckboxGroup
        name="status_events"
        label={words.statusEvents}
        options={statuses.map((status) => ({ value: status, text: words.events[status] }))}
        values={events}
        onChange={setEvents}
      />
      <FormActions>
        <Button type="submit" kind="primary" busy={busy}>
          {act}
        </Button>
        {onCancel && <Button onClick={onCancel}>{parts.cancel}</Button>}
      </FormActions>
    </Form>
  )
}
