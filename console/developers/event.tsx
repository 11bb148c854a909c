import type { ReplyOf } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { KeyValue, Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Badge, Status } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { Timeline, type TimelineTone } from '../parts/timeline.tsx'
import { Copy, Moment, NoValue } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/events.ts'
import { deliveryTones, pretty } from './endpoint.ts'

type Fact = ReplyOf<'GET /open/events/:event_uuid'>['timeline'][number]

const toneOf = ({ what, detail }: Fact): TimelineTone => {
  if (what !== 'delivered_to_webhook') return 'plain'
  const status = Number(detail?.response_status ?? 0)
  return status >= 200 && status < 300 ? 'good' : 'bad'
}

const endTones = { succeeded: 'good', in_progress: 'waiting', failed: 'bad' } as const

/** One event: its body, its deliveries, and what happened step by step. */
export const EventPage = ({ params: { event: uuid } }: PageOf<typeof paths.event>) => {
  const query = useQuery('GET /open/events/:event_uuid', { params: { event_uuid: uuid }, live: ['webhook.delivery'] })
  const crumbs = [{ text: words.log.title, href: paths.events() }]
  const { data } = query
  if (!data)
    return (
      <Page title={words.one.facts} crumbs={crumbs}>
        {query.error ? (
          <ErrorState refusal={query.error} onRetry={query.refresh} />
        ) : (
          <Skeleton rows={6} shape="card" />
        )}
      </Page>
    )
  const { event, deliveries, timeline, outcome, next_step: next } = data
  return (
    <Page title={event.name} crumbs={crumbs} status={event.test && <Badge>{words.log.test}</Badge>}>
      <KeyValue
        facts={[
          { name: words.one.id, value: <Copy value={event.uuid} what={words.one.id} /> },
          { name: words.one.happened, value: <Moment time={event.at} show="exact" /> },
          {
            name: words.one.of,
            value: event.channel_uuid ? <Copy value={event.channel_uuid} what={words.one.of} /> : words.log.account,
          },
        ]}
      />
      <Section title={words.one.timeline}>
        <Timeline
          label={words.one.timeline}
          steps={timeline.map((fact, index) => ({
            key: String(index),
            time: fact.at,
            title: fact.text,
            tone: toneOf(fact),
          }))}
          end={{
            tone: endTones[outcome.state],
            title: outcome.text,
            text: next.kind === 'none' ? '' : next.text,
          }}
        />
      </Section>
      <Section title={words.one.deliveries}>
        <Table
          label={words.one.deliveries}
          rows={deliveries}
          rowKey={({ id }) => id}
          rowHref={({ id, webhook_uuid: webhook }) => paths.delivery({ webhook, delivery: id })}
          columns={[
            { key: 'host', title: words.one.receiver, cell: ({ host }) => <span class="break">{host}</span> },
            {
              key: 'state',
              title: words.one.state,
              cell: ({ state }) => <Status tone={deliveryTones[state]}>{words.one.states[state]}</Status>,
            },
            {
              key: 'answer',
              title: words.one.answer,
              cell: ({ response_status: status }) => (status ? <code>{status}</code> : <NoValue />),
            },
            { key: 'attempts', title: words.one.attempts, align: 'end', cell: ({ attempts }) => attempts },
          ]}
          empty={<p class="soft">{words.one.noDeliveries}</p>}
        />
      </Section>
      <Section title={words.one.payload} lead={words.one.payloadHint}>
        <CodeBlock label={words.one.payload} samples={[{ language: words.one.payload, code: pretty(event.payload) }]} />
      </Section>
    </Page>
  )
}
