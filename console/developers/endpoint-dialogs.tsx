import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { RequestOf } from '../api/client.ts'
import { useAct, useQuery } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { SelectField } from '../parts/choice-fields.tsx'
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { TextareaField, TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { type PageOf, paths } from '../paths.ts'
import { words as parts } from '../words/en/parts.ts'
import { words } from '../words/en/webhook-portal.ts'
import { type Endpoint, pretty } from './endpoint.ts'
import { Replay } from './replay.tsx'
import { HeaderFields, headersOf } from './request-headers.tsx'
import { EndpointSecret } from './secret.tsx'

type Props = { readonly endpoint: Endpoint; readonly search: PageOf<typeof paths.webhook>['search'] }
type ActProps = { readonly endpoint: Endpoint; readonly onClose: () => void }

type LoggedName = NonNullable<NonNullable<RequestOf<'GET /open/events'>['query']>['name']>

const asObject = (text: string): object | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Sends a test event whose body may be changed first, and opens its delivery. */
const TestForm = ({ endpoint, onClose }: ActProps) => {
  const { route: go } = useLocation()
  const types = useQuery('GET /open/webhooks/event-types', {})
  const webhooks = endpoint.webhooks.filter(({ enabled }) => enabled)
  const [chosen, setChosen] = useState(webhooks[0]?.uuid ?? '')
  const [edited, setEdited] = useState<string>()
  const [isWrong, setWrong] = useState(false)
  const test = useAct('POST /open/webhooks/:webhook_uuid/test', {
    stale: ['GET /open/webhooks/:webhook_uuid/deliveries'],
    after: ({ delivery_id: delivery }) => go(paths.delivery({ webhook: endpoint.endpoint_uuid, delivery }), true),
  })
  const name = webhooks.find(({ uuid }) => uuid === chosen)?.event_name
  const log = useQuery('GET /open/events', {
    query: { name: name as LoggedName | undefined, results_per_page: 1 }, // an alias is refused: the example stays
    enabled: name !== undefined,
  })
  if (types.error && !types.data) return <ErrorState refusal={types.error} onRetry={types.refresh} />
  if (!types.data || (name && !log.data && !log.error)) return <Skeleton rows={5} />
  // The newest event of the kind is a better example than the one of the catalogue.
  const real = log.data?.events[0]?.payload
  const example = types.data.event_types.find(({ event_name }) => event_name === name)?.example
  const text = edited ?? pretty(real ?? example ?? { event: name })
  const submit = () => {
    if (test.isPending) return
    const payload = asObject(text)
    setWrong(payload === undefined)
    if (payload) void test({ params: { webhook_uuid: chosen }, body: { payload } })
  }
  return (
    <Form onSubmit={submit} refusal={test.error ?? undefined} label={words.test.title}>
      <SelectField
        name="webhook"
        label={words.test.event}
        value={chosen}
        onChange={(uuid) => {
          setChosen(uuid)
          setEdited(undefined)
        }}
        options={webhooks.map(({ uuid, event_name }) => ({ value: uuid, text: event_name }))}
      />
      <TextareaField
        name="payload"
        label={words.test.body}
        hint={words.test.bodyHint}
        error={isWrong && asObject(text) === undefined ? words.test.notJson : undefined}
        value={text}
        onInput={setEdited}
        rows={10}
        code
      />
      <FormActions>
        <Button type="submit" kind="primary" icon="send" busy={test.isPending}>
          {words.test.submit}
        </Button>
        <Button onClick={onClose}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}

const AddressForm = ({ endpoint, onClose }: ActProps) => {
  const { route: go } = useLocation()
  const change = useAct('PUT /open/webhooks/:webhook_uuid', {
    stale: ['GET /open/webhooks/endpoints'],
    after: ({ webhook }) => {
      showToast(words.endpoint.changed)
      // Another address is another endpoint.
      go(paths.webhook({ webhook: webhook.endpoint_uuid }), true)
    },
  })
  const params = { webhook_uuid: endpoint.webhooks[0]?.uuid ?? '' }
  const stored = endpoint.webhooks[0]?.headers
  return (
    <Form
      onSubmit={({ hook_url = '', ...rest }) => {
        if (!change.isPending) void change({ params, body: { hook_url, ...headersOf(rest, stored), endpoint: true } })
      }}
      refusal={change.error ?? undefined}
      label={words.endpoint.edit}
    >
      <TextField
        name="hook_url"
        label={words.form.address}
        hint={words.form.addressHint}
        type="url"
        initial={endpoint.hook_url}
        maxLength={2_048}
        required
        autofocus
      />
      <HeaderFields stored={stored} />
      <FormActions>
        <Button type="submit" kind="primary" busy={change.isPending}>
          {words.endpoint.edit}
        </Button>
        <Button onClick={onClose}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}

/** The dialogs of an endpoint. The address of the page names the open one, so links open it and Back closes it. */
export const EndpointDialogs = ({ endpoint, search }: Props) => {
  const { route: go } = useLocation()
  const { endpoint_uuid: webhook, webhooks } = endpoint
  const [secret, setSecret] = useState<{ secret: string; validUntil: string }>()
  const close = () => go(paths.webhook({ webhook }, { ...search, act: undefined }), true)
  const params = { webhook_uuid: webhooks[0]?.uuid ?? '' }
  const rotate = useAct('POST /open/webhooks/:webhook_uuid/rotate-secret', {
    after: ({ signing_secret, previous_secret_valid_until: validUntil }) => {
      setSecret({ secret: signing_secret, validUntil })
      close()
    },
  })
  const remove = useAct('DELETE /open/webhooks/:webhook_uuid', {
    stale: ['GET /open/webhooks/endpoints'],
    after: () => {
      showToast(words.endpoint.removed)
      go(paths.webhooks(), true)
    },
  })
  const act = { endpoint, onClose: close }
  return (
    <>
      <Dialog open={search.act === 'test'} title={words.test.title} onClose={close}>
        <TestForm {...act} />
      </Dialog>
      <Dialog open={search.act === 'replay'} title={words.replay.title} onClose={close}>
        <Replay {...act} />
      </Dialog>
      <Dialog open={search.act === 'edit'} title={words.endpoint.edit} onClose={close}>
        <AddressForm {...act} />
      </Dialog>
      <ConfirmDialog
        open={search.act === 'rotate'}
        title={words.endpoint.rotateTitle}
        act={words.endpoint.rotateAct}
        busy={rotate.isPending}
        error={rotate.error?.message}
        onClose={close}
        onConfirm={() => void rotate({ params, body: { endpoint: true } })}
      >
        <p>{words.endpoint.rotateWhy}</p>
      </ConfirmDialog>
      <Dialog open={secret !== undefined} title={words.secret.rotated} onClose={() => setSecret(undefined)}>
        {secret && <EndpointSecret {...secret} onDone={() => setSecret(undefined)} />}
      </Dialog>
      <ConfirmDialog
        open={search.act === 'remove'}
        title={words.endpoint.removeTitle}
        act={words.endpoint.remove}
        danger
        busy={remove.isPending}
        error={remove.error?.message}
        onClose={close}
        onConfirm={() => void remove({ params, query: { endpoint: 'true' } })}
      >
        <p>{words.endpoint.removeWhy}</p>
      </ConfirmDialog>
    </>
  )
}
