import type { ReplyOf } from '../api/client.ts'
import { useAct, useQuery } from '../api/query.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { CodeBlock } from '../parts/code-block.tsx'
import { KeyValue, Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Status } from '../parts/status.tsx'
import { showToast } from '../parts/toast.tsx'
import { Copy, Moment } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/webhook-portal.ts'
import { duration, exactTime, relative } from '../words/format.ts'
import { deliveryTones, prettyText } from './endpoint.ts'

type Reply = ReplyOf<'GET /open/webhooks/deliveries/:delivery_id'>
type AttemptRow = Reply['delivery']['attempts'][number]

const headerLines = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')

const isGood = ({ response_status: status }: AttemptRow): boolean =>
  status !== undefined && status >= 200 && status < 300

/** One call of the receiver: when, how long, and what it answered. */
const Attempt = ({
  attempt,
  index,
  sent,
}: {
  attempt: AttemptRow
  index: number
  sent: Readonly<Record<string, string>>
}) => {
  const isSigned = 'webhook-signature' in sent
  return (
    <li class="attempt stack">
      <div class="row">
        <h3>{words.delivery.attempt(index + 1)}</h3>
        <Status tone={isGood(attempt) ? 'good' : 'bad'}>
          {attempt.response_status ?? attempt.error ?? words.delivery.noAnswer}
        </Status>
        <span class="soft">
          <Moment time={attempt.at} show="exact" />, {words.delivery.took(duration(attempt.latency_ms))}
        </span>
      </div>
      {attempt.error && attempt.response_status !== undefined && <p>{attempt.error}</p>}
      {attempt.response_excerpt ? (
        <CodeBlock
          label={words.delivery.answer}
          samples={[{ language: words.delivery.answer, code: prettyText(attempt.response_excerpt) }]}
        />
      ) : (
        attempt.response_status !== undefined && <p class="soft">{words.delivery.emptyAnswer}</p>
      )}
      {attempt.response_headers && (
        <CodeBlock
          label={words.delivery.answerHeaders}
          samples={[{ language: words.delivery.answerHeaders, code: headerLines(attempt.response_headers) }]}
        />
      )}
      <details class="fold">
        <summary>{words.delivery.headers}</summary>
        <CodeBlock
          label={words.delivery.headers}
          samples={[{ language: words.delivery.headers, code: headerLines(sent) }]}
        />
        {!isSigned && <p class="soft">{words.delivery.noSignature}</p>}
      </details>
    </li>
  )
}

/** One delivery: the request as it was sent, and each attempt with its response. */
export const DeliveryPage = ({ params: { webhook, delivery: id } }: PageOf<typeof paths.delivery>) => {
  const params = { delivery_id: id }
  const query = useQuery('GET /open/webhooks/deliveries/:delivery_id', { params, live: ['webhook.delivery'] })
  const redeliver = useAct('POST /open/webhooks/deliveries/:delivery_id/redeliver', {
    stale: ['GET /open/webhooks/deliveries/:delivery_id', 'GET /open/webhooks/:webhook_uuid/deliveries'],
    after: () => showToast(words.deliveries.redelivered),
  })
  const endpoints = useQuery('GET /open/webhooks/endpoints', {})
  const crumbs = [
    { text: words.title, href: paths.webhooks() },
    {
      text:
        endpoints.data?.endpoints.find((one) => one.endpoint_uuid === webhook)?.hook_url ?? words.endpoint.deliveries,
      href: paths.webhook({ webhook }),
    },
  ]
  const { data } = query
  if (!data)
    return (
      <Page title={words.delivery.facts} crumbs={crumbs}>
        {query.error ? (
          <ErrorState refusal={query.error} onRetry={query.refresh} />
        ) : (
          <Skeleton rows={6} shape="card" />
        )}
      </Page>
    )
  const { delivery, request } = data
  const next = delivery.state === 'pending' ? delivery.next_attempt_at : undefined
  return (
    <Page
      title={delivery.event_name}
      crumbs={crumbs}
      status={<Status tone={deliveryTones[delivery.state]}>{words.deliveries.states[delivery.state]}</Status>}
      actions={
        <Button icon="refresh-cw" busy={redeliver.isPending} onClick={() => void redeliver({ params })}>
          {words.deliveries.redeliver}
        </Button>
      }
    >
      {redeliver.error && <Banner tone="bad">{redeliver.error.message}</Banner>}
      <KeyValue
        facts={[
          { name: words.delivery.id, value: <Copy value={delivery.id} what={words.delivery.id} /> },
          {
            name: words.delivery.eventId,
            value: <a href={paths.event({ event: delivery.event_uuid })}>{delivery.event_uuid}</a>,
          },
          { name: words.delivery.made, value: <Moment time={delivery.created_at} show="exact" /> },
        ]}
      />
      <Section title={words.delivery.request}>
        <CodeBlock
          label={words.delivery.body}
          samples={[{ language: words.delivery.body, code: prettyText(request.body) }]}
        />
      </Section>
      <Section title={words.delivery.attempts}>
        {delivery.attempts.length === 0 && <p class="soft">{words.delivery.none}</p>}
        <ol class="feed" aria-label={words.delivery.attempts} aria-live="polite">
          {/* The newest comes last, so that it moves nothing. */}
          {delivery.attempts.map((attempt, index) => (
            <Attempt key={attempt.at} attempt={attempt} index={index} sent={request.attempts[index]?.headers ?? {}} />
          ))}
        </ol>
        {next && <p>{words.delivery.next(relative(next) ?? exactTime(next))}</p>}
      </Section>
    </Page>
  )
}
