import type { ReplyOf } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { ButtonLink } from '../parts/button.tsx'
import { Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Timeline, type TimelineTone } from '../parts/timeline.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/numbers.ts'
import { numberEvents } from './number-state.tsx'

type Entry = ReplyOf<'GET /open/voip/virtual-numbers/:virtual_number_uuid/timeline'>['timeline'][number]

const toneOf = ({ what, detail }: Entry): TimelineTone => {
  if (what === 'bought') return 'good'
  if (what === 'delivered_to_webhook') {
    const status = Number(detail?.response_status ?? 0)
    return status >= 200 && status < 300 ? 'good' : 'bad'
  }
  return what === 'suspended' ? 'bad' : 'plain'
}

/** The ledger entry of a charge, or the delivery to a webhook. */
const linkOf = ({ at, detail = {} }: Entry) => {
  const { transfer_uuid: transfer, webhook_uuid: webhook, delivery_id: delivery } = detail
  if (transfer !== undefined && may('money'))
    return { text: words.one.ledger, href: paths.money({}, { entry: String(transfer), at }) }
  if (webhook !== undefined && delivery !== undefined && may('develop'))
    return { text: words.one.delivery, href: paths.delivery({ webhook: String(webhook), delivery: String(delivery) }) }
  return undefined
}

const ends = { succeeded: 'good', in_progress: 'waiting', failed: 'bad' } as const

/** The events of a number, its state, and what helps next. */
export const NumberTimeline = ({ uuid }: { uuid: string }) => {
  const { data, error, refresh } = useQuery('GET /open/voip/virtual-numbers/:virtual_number_uuid/timeline', {
    params: { virtual_number_uuid: uuid },
    live: [...numberEvents, 'webhook.delivery'],
  })
  const { kind = 'none', text = '' } = data?.next_step ?? {}
  return (
    <Section title={words.one.timeline}>
      {data ? (
        <Timeline
          label={words.one.timeline}
          steps={data.timeline.map((entry, index) => ({
            key: String(index),
            time: entry.at,
            title: entry.text,
            tone: toneOf(entry),
            link: linkOf(entry),
          }))}
          end={{
            tone: ends[data.outcome.state],
            title: data.outcome.text,
            text: kind === 'provide_documents' ? words.documents.next : kind === 'none' ? null : text,
            actions: kind === 'buy_number' ? <ButtonLink href={paths.shop()}>{words.buy}</ButtonLink> : undefined,
          }}
        />
      ) : error ? (
        <ErrorState refusal={error} onRetry={refresh} />
      ) : (
        <Skeleton />
      )}
    </Section>
  )
}
