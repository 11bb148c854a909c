import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useList } from '../api/query.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Status } from '../parts/status.tsx'
import { Moment } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/webhook-portal.ts'
import { type Endpoint, stateTones } from './endpoint.ts'
import { EndpointForm } from './endpoint-form.tsx'
import { EndpointSecret } from './secret.tsx'

/** Event names that a row shows. */
const shownEvents = 2

const Events = ({ webhooks }: Pick<Endpoint, 'webhooks'>) => {
  const names = [...new Set(webhooks.map(({ event_name }) => event_name))]
  return (
    <span class="row">
      {names.slice(0, shownEvents).map((name) => (
        <code key={name} class="break">
          {name}
        </code>
      ))}
      {names.length > shownEvents && <span class="soft">{words.more(names.length - shownEvents)}</span>}
    </span>
  )
}

const lastSuccess = ({ webhooks }: Endpoint): string | undefined =>
  webhooks
    .flatMap(({ last_success_at: at }) => (at ? [at] : []))
    .sort()
    .at(-1)

const columns = () => [
  {
    key: 'address',
    title: words.address,
    cell: ({ hook_url }: Endpoint) => (
      <bdi dir="ltr" class="break">
        {hook_url}
      </bdi>
    ),
  },
  {
    key: 'state',
    title: words.state,
    narrow: true,
    cell: ({ state }: Endpoint) => <Status tone={stateTones[state]}>{words.states[state]}</Status>,
  },
  { key: 'events', title: words.events, cell: (endpoint: Endpoint) => <Events webhooks={endpoint.webhooks} /> },
  {
    key: 'success',
    title: words.lastSuccess,
    cell: (endpoint: Endpoint) => {
      const at = lastSuccess(endpoint)
      return at ? <Moment time={at} show="relative" /> : <span class="soft">{words.never}</span>
    },
  },
]

/** The endpoints of the account. */
export const WebhooksPage = ({ search }: PageOf<typeof paths.webhooks>) => {
  const { route: go } = useLocation()
  const endpoints = useList('GET /open/webhooks/endpoints', { live: ['webhook.delivery'] })
  const [endpoint, setEndpoint] = useState<{ secret: string; uuid: string }>()
  const close = () => {
    if (endpoint) go(paths.webhook({ webhook: endpoint.uuid }))
    else go(paths.webhooks(), true)
    setEndpoint(undefined)
  }
  const add = (
    <Button kind="primary" icon="plus" onClick={() => go(paths.webhooks({}, { create: '1' }))}>
      {words.add}
    </Button>
  )
  const listen = (
    <ButtonLink href={paths.listen()} icon="radio">
      {words.listen}
    </ButtonLink>
  )
  return (
    <Page
      title={words.title}
      lead={words.about}
      actions={
        <>
          {listen}
          {add}
        </>
      }
    >
      <ListTable
        of={endpoints}
        label={words.caption}
        columns={columns()}
        rowKey={({ endpoint_uuid }) => endpoint_uuid}
        rowHref={({ endpoint_uuid }) => paths.webhook({ webhook: endpoint_uuid })}
        empty={
          <Empty icon="webhook" title={words.empty} act={add}>
            {words.emptyHint}
          </Empty>
        }
      />
      <Dialog
        open={search.create !== undefined || endpoint !== undefined}
        title={endpoint ? words.secret.made : words.form.title}
        onClose={close}
      >
        {endpoint ? (
          <EndpointSecret secret={endpoint.secret} onDone={close} />
        ) : (
          <EndpointForm
            onDone={({ endpoint_uuid: uuid, signing_secret: secret }) => setEndpoint({ uuid, secret })}
            onCancel={close}
          />
        )}
      </Dialog>
    </Page>
  )
}
