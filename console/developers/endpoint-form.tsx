import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { useAct, useQuery } from '../api/query.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { CheckboxGroup, type Option, SelectField } from '../parts/choice-fields.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { words as parts } from '../words/en/parts.ts'
import { words } from '../words/en/webhook-portal.ts'
import { phoneNumber } from '../words/format.ts'
import type { EventType } from './endpoint.ts'
import { HeaderFields, headersOf } from './request-headers.tsx'

type NewEndpoint = ReplyOf<'POST /open/webhooks'>
type Kind = EventType['channel']

const kinds: readonly Kind[] = ['sms', 'call', 'account', 'msgapp']

type FormProps = {
  /** The address of an endpoint that gets further events. */
  readonly address?: string
  readonly onDone: (endpoint: NewEndpoint) => void
  readonly onCancel: () => void
}

type EventChoicesProps = {
  readonly kind: Kind
  readonly events: readonly EventType[]
  readonly chosen: readonly string[]
  readonly onChoose: (names: readonly string[]) => void
  /** The account has no channel with such events. */
  readonly isMissing: boolean
}

/** Chooses events of one kind. */
const EventChoices = ({ kind, events, chosen, onChoose, isMissing }: EventChoicesProps) =>
  isMissing && kind !== 'account' ? (
    <>
      <p class="field-label">{words.form.kinds[kind]}</p>
      <p class="soft">{words.form.noChannel[kind]}</p>
    </>
  ) : (
    <CheckboxGroup
      name={`events-${kind}`}
      label={words.form.kinds[kind]}
      values={chosen}
      onChange={onChoose}
      options={events
        .filter(({ channel }) => channel === kind)
        .map(({ event_name, description }) => ({ value: event_name, text: event_name, hint: description }))}
    />
  )

type ChoiceFormProps = FormProps & {
  readonly events: readonly EventType[]
  readonly numbers: readonly Option[]
  readonly apps: readonly Option[]
}

const ChoiceForm = ({ address, onDone, onCancel, events, numbers, apps }: ChoiceFormProps) => {
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [isMissing, setMissing] = useState(false)
  const create = useAct('POST /open/webhooks', { stale: ['GET /open/webhooks/endpoints'] })
  const field = useRef<HTMLDivElement>(null)
  // The dialog was open before the form was there.
  useLayoutEffect(() => field.current?.querySelector('input')?.focus(), [])
  const namesOf = (kind: Kind) =>
    events
      .filter(({ channel, event_name }) => channel === kind && chosen.includes(event_name))
      .map(({ event_name }) => event_name)
  const has = (kind: Kind) => namesOf(kind).length > 0
  const lacks = { sms: numbers.length === 0, call: false, msgapp: apps.length === 0, account: false }

  const submit = async ({
    hook_url = address ?? '',
    number = '',
    app = '',
    ...rest
  }: Readonly<Record<string, string>>) => {
    if (create.isPending) return
    setMissing(chosen.length === 0)
    if (chosen.length === 0) return
    const onNumber = [...namesOf('sms'), ...namesOf('call'), ...namesOf('account')]
    const onApp = namesOf('msgapp')
    // Further events of an endpoint get its headers.
    const headers = address === undefined ? headersOf(rest) : {}
    const requests = [
      ...(onNumber.length > 0
        ? [{ hook_url, event_names: onNumber, ...headers, ...(number ? { channel_uuid: number } : {}) }]
        : []),
      ...(onApp.length > 0 ? [{ hook_url, event_names: onApp, ...headers, channel_uuid: app }] : []),
    ]
    let endpoint: NewEndpoint | undefined
    for (const body of requests) {
      endpoint = await create({ body })
      if (!endpoint) return
    }
    if (endpoint) onDone(endpoint)
  }

  return (
    <Form
      onSubmit={(values) => void submit(values)}
      refusal={create.error ?? undefined}
      label={address ? words.form.addEvents : words.form.title}
    >
      {address === undefined && (
        <div ref={field}>
          <TextField
            name="hook_url"
            label={words.form.address}
            hint={words.form.addressHint}
            type="url"
            maxLength={2_048}
            required
          />
          <HeaderFields />
        </div>
      )}
      {isMissing && chosen.length === 0 && <Banner tone="bad">{words.form.chooseOne}</Banner>}
      {kinds.map((kind) => (
        <div key={kind}>
          <EventChoices {...{ kind, events, chosen }} onChoose={setChosen} isMissing={lacks[kind]} />
        </div>
      ))}
      {(has('sms') || has('call')) && numbers.length > 0 && (
        <SelectField
          name="number"
          label={has('sms') ? words.form.channel.sms : words.form.channel.call}
          options={[...(has('sms') ? [] : [{ value: '', text: words.form.everyNumber }]), ...numbers]}
        />
      )}
      {has('msgapp') && <SelectField name="app" label={words.form.channel.msgapp} options={apps} />}
      <FormActions>
        <Button type="submit" kind="primary" busy={create.isPending}>
          {address ? words.form.submitEvents : words.form.submit}
        </Button>
        <Button onClick={onCancel}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}

/** Subscribes an address to events: those of texts and calls on a number, those of the messaging app on a channel. */
export const EndpointForm = (props: FormProps) => {
  const types = useQuery('GET /open/webhooks/event-types', {})
  const numbers = useQuery('GET /open/sms/channels', {})
  const apps = useQuery('GET /open/msgapp/get-numbers', {})
  if (types.error && !types.data) return <ErrorState refusal={types.error} onRetry={types.refresh} />
  if (!types.data || !numbers.data || (!apps.data && !apps.error)) return <Skeleton rows={32} />
  return (
    <ChoiceForm
      {...props}
      events={types.data.event_types}
      numbers={numbers.data.channels
        .filter(({ enabled }) => enabled)
        .map(({ uuid, phone_number }) => ({ value: uuid, text: phoneNumber(phone_number) }))}
      apps={(apps.data?.numbers ?? []).map(({ uuid, phone_number }) => ({
        value: uuid,
        text: phone_number ? phoneNumber(phone_number) : uuid,
      }))}
    />
  )
}
