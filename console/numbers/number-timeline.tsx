import { useQuery } from '../api/query.ts'
import { ButtonLink } from '../parts/button.tsx'
import { Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/states.tsx'
import { Timeline, type TimelineTone } from '../parts/timeline.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/numbers.ts'
import { numberEvents } from './number-state.tsx'

const toneOf = (what: string): TimelineTone => {
  if (what === 'bought') return 'good'
  return what === 'suspended' ? 'bad' : 'plain'
}

const ends = { succeeded: 'good', in_progress: 'waiting', failed: 'bad' } as const

/** What happened to a number, its state, and what helps next. */
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
          steps={data.timeline.map(({ at, what, text }, index) => ({
            key: String(index),
            time: at,
            title: text,
            tone: toneOf(what),
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
