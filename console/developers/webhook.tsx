import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAct, useQuery } from '../api/query.ts'
import { followTopic } from '../live/live-topics.ts'
import { Banner } from '../parts/banner.tsx'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Menu } from '../parts/menu.tsx'
import { Empty, ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Status } from '../parts/status.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { showToast } from '../parts/toast.tsx'
import { Moment } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/webhook-portal.ts'
import { exactTime, relative } from '../words/format.ts'
import { Deliveries } from './deliveries.tsx'
import { type Endpoint, stateTones } from './endpoint.ts'
import { EndpointDialogs } from './endpoint-dialogs.tsx'
import { Figures } from './figures.tsx'
import { Subscriptions } from './subscriptions.tsx'

type Props = PageOf<typeof paths.webhook>

/** The last answer of the receiver: shown while something is wrong. */
const LastAnswer = ({ endpoint }: { endpoint: Endpoint }) => {
  const webhook = endpoint.webhooks[0]?.uuid ?? ''
  const { data } = useQuery('GET /open/webhooks/:webhook_uuid/deliveries', {
    params: { webhook_uuid: webhook },
    query: { endpoint: 'true', results_per_page: 20 },
    live: ['webhook.delivery'],
  })
  const found = data?.deliveries.find(({ attempts }) => {
    const status = attempts.at(-1)?.response_status
    return attempts.length > 0 && (status === undefined || status >= 300)
  })
  const last = found?.attempts.at(-1)
  if (!found || !last) return null
  return (
    <p>
      {words.endpoint.lastAnswer}: <code>{last.response_status ?? last.error ?? words.endpoint.noAnswer}</code>{' '}
      <a href={paths.delivery({ webhook: endpoint.endpoint_uuid, delivery: found.id })}>{words.endpoint.openLast}</a>
    </p>
  )
}

/** The fault of the endpoint, and what helps. */
const Trouble = ({ endpoint }: { endpoint: Endpoint }) => {
  const { state, webhooks } = endpoint
  const failing = webhooks.find((webhook) => webhook.state === 'failing')
  const off = webhooks.find((webhook) => webhook.state === 'disabled')
  if (state === 'paused')
    return (
      <Banner tone="info" title={words.endpoint.paused}>
        {words.endpoint.pausedHint}
      </Banner>
    )
  if (state === 'disabled')
    return (
      <Banner tone="bad" title={off?.disabled_reason === 'gone' ? words.endpoint.gone : words.endpoint.failed}>
        <p>{off?.disabled_reason === 'gone' ? words.endpoint.goneHint : words.endpoint.failedHint}</p>
        <LastAnswer endpoint={endpoint} />
      </Banner>
    )
  if (!failing?.failing_since) return null
  const end = failing.disables_at
  return (
    <Banner tone="notice" title={words.endpoint.failing(failing.failures, exactTime(failing.failing_since))}>
      {end && <p>{words.endpoint.failingHint(relative(end) ?? exactTime(end))}</p>}
      <LastAnswer endpoint={endpoint} />
    </Banner>
  )
}

const Acts = ({ endpoint }: { endpoint: Endpoint }) => {
  const { route: go } = useLocation()
  const webhook = endpoint.endpoint_uuid
  const open = (act: string) => go(paths.webhook({ webhook }, { act }))
  const isOff = endpoint.state === 'paused' || endpoint.state === 'disabled'
  const change = useAct('PUT /open/webhooks/:webhook_uuid', {
    stale: ['GET /open/webhooks/endpoints'],
    after: () => showToast(isOff ? words.endpoint.resumedDone : words.endpoint.pausedDone),
    onError: ({ message }) => showToast(message, 'bad'),
  })
  const params = { webhook_uuid: endpoint.webhooks[0]?.uuid ?? '' }
  return (
    <>
      <Button
        icon={isOff ? 'play' : 'pause'}
        busy={change.isPending}
        onClick={() => void change({ params, body: { enabled: isOff, endpoint: true } })}
      >
        {isOff ? words.endpoint.resume : words.endpoint.pause}
      </Button>
      <Button kind="primary" icon="send" reason={isOff ? words.deliveries.off : undefined} onClick={() => open('test')}>
        {words.endpoint.test}
      </Button>
      <Menu
        label={words.endpoint.acts}
        items={[
          { text: words.endpoint.replay, icon: 'history', onSelect: () => open('replay') },
          { text: words.endpoint.edit, icon: 'pencil', onSelect: () => open('edit') },
          { text: words.endpoint.rotate, icon: 'key-round', onSelect: () => open('rotate') },
          { text: words.endpoint.remove, icon: 'trash-2', danger: true, onSelect: () => open('remove') },
        ]}
      />
    </>
  )
}

const Content = ({ endpoint, search }: { endpoint: Endpoint; search: Props['search'] }) => {
  const webhook = endpoint.endpoint_uuid
  const tab = search.tab ?? 'deliveries'
  const events = new Set(endpoint.webhooks.map(({ event_name }) => event_name)).size
  // The attempts of each webhook, whose topics report them one by one.
  const ids = endpoint.webhooks.map(({ uuid }) => uuid).join()
  useEffect(() => {
    const ends = ids
      .split(',')
      .slice(0, 20)
      .map((id) => followTopic(`webhook:${id}` as `webhook:WHK${string}`))
    return () => {
      for (const end of ends) end()
    }
  }, [ids])
  return (
    <div class="stack stack-wide">
      <Trouble endpoint={endpoint} />
      <Tabs
        label={words.endpoint.tabs}
        tabs={[
          { text: words.endpoint.deliveries, href: paths.webhook({ webhook }), current: tab === 'deliveries' },
          {
            text: words.endpoint.figures,
            href: paths.webhook({ webhook }, { tab: 'figures' }),
            current: tab === 'figures',
          },
          {
            text: words.events,
            href: paths.webhook({ webhook }, { tab: 'events' }),
            current: tab === 'events',
            count: String(events),
          },
        ]}
      />
      {tab === 'figures' ? (
        <Figures endpoint={endpoint} search={search} />
      ) : tab === 'events' ? (
        <Subscriptions endpoint={endpoint} search={search} />
      ) : (
        <Deliveries endpoint={endpoint} search={search} />
      )}
      <EndpointDialogs endpoint={endpoint} search={search} />
    </div>
  )
}

/** One endpoint: its state, deliveries, figures and events. */
export const WebhookPage = ({ params: { webhook }, search }: Props) => {
  const list = useQuery('GET /open/webhooks/endpoints', { live: ['webhook.delivery'] })
  // A link may name a single webhook.
  const endpoint = list.data?.endpoints.find(
    ({ endpoint_uuid, webhooks }) => endpoint_uuid === webhook || webhooks.some(({ uuid }) => uuid === webhook),
  )
  const crumbs = [{ text: words.title, href: paths.webhooks() }]
  if (list.error && !list.data)
    return (
      <Page title={words.title} crumbs={crumbs}>
        <ErrorState refusal={list.error} onRetry={list.refresh} />
      </Page>
    )
  if (!list.data)
    return (
      <Page title={words.title} crumbs={crumbs}>
        <Skeleton rows={5} shape="table" />
      </Page>
    )
  if (!endpoint)
    return (
      <Page title={words.endpoint.missing} crumbs={crumbs}>
        <Empty
          icon="webhook"
          title={words.endpoint.missing}
          act={<ButtonLink href={paths.webhooks()}>{words.endpoint.toList}</ButtonLink>}
        >
          {words.endpoint.missingHint}
        </Empty>
      </Page>
    )
  const success = endpoint.webhooks
    .flatMap(({ last_success_at: at }) => (at ? [at] : []))
    .sort()
    .at(-1)
  return (
    <Page
      title={endpoint.hook_url}
      crumbs={crumbs}
      status={<Status tone={stateTones[endpoint.state]}>{words.states[endpoint.state]}</Status>}
      lead={
        success && (
          <>
            {words.lastSuccess}: <Moment time={success} show="relative" />
          </>
        )
      }
      actions={<Acts endpoint={endpoint} />}
    >
      <Content key={endpoint.endpoint_uuid} endpoint={endpoint} search={search} />
    </Page>
  )
}
