import { useLocation } from 'preact-iso/router'
import { useQuery } from '../api/query.ts'
import { Chart } from '../parts/chart.tsx'
import { RadioField } from '../parts/choice-fields.tsx'
import { Figure } from '../parts/page.tsx'
import { Empty, ErrorState, Skeleton } from '../parts/page-states.tsx'
import { type PageOf, paths } from '../paths.ts'
import { words } from '../words/en/webhook-portal.ts'
import { duration, number, percent, shortDay, shortTime } from '../words/format.ts'
import type { Endpoint } from './endpoint.ts'

const steps = ['hour', 'day'] as const

/** How many calls succeeded, and how long they took, by hour or day. */
export const Figures = ({
  endpoint,
  search,
}: {
  endpoint: Endpoint
  search: PageOf<typeof paths.webhook>['search']
}) => {
  const { route: go } = useLocation()
  const step = search.step === 'day' ? 'day' : 'hour'
  const stats = useQuery('GET /open/webhooks/:webhook_uuid/stats', {
    params: { webhook_uuid: endpoint.webhooks[0]?.uuid ?? '' },
    query: { endpoint: 'true', step },
    live: ['webhook.delivery'],
    every: 5_000,
  })
  if (stats.error && !stats.data) return <ErrorState refusal={stats.error} onRetry={stats.refresh} />
  if (!stats.data) return <Skeleton rows={4} shape="card" />
  const { points, delivered, failed } = stats.data
  const times = points.map(([time]) => Date.parse(String(time)))
  const column = (index: number) => points.map((point) => Number(point[index]))
  const [p50, p95] = [column(3), column(4)]
  const formatTime = step === 'day' ? (time: number) => shortDay(time) : (time: number) => shortTime(time)
  return (
    <div class="stack">
      <h2 class="for-readers">{words.endpoint.figures}</h2>
      <RadioField
        name="step"
        label={words.figures.step}
        hideLabel
        look="row"
        value={step}
        onChange={(value) => go(paths.webhook({ webhook: endpoint.endpoint_uuid }, { tab: 'figures', step: value }))}
        options={steps.map((value) => ({ value, text: words.figures[value] }))}
      />
      {points.length === 0 ? (
        <Empty icon="chart-line" title={words.figures.none}>
          {words.figures.noneHint}
        </Empty>
      ) : (
        <>
          <div class="figures">
            <Figure name={words.figures.share} value={percent(delivered / Math.max(1, delivered + failed))} />
            <Figure name={words.figures.delivered} value={number(delivered)} />
            <Figure name={words.figures.failed} value={number(failed)} />
            <Figure name={words.figures.p50} value={duration(p50.at(-1) ?? 0)} />
            <Figure name={words.figures.p95} value={duration(p95.at(-1) ?? 0)} />
          </div>
          <Chart
            title={words.figures.calls}
            sentence={words.figures.callsSentence(delivered, failed)}
            kind="bars"
            times={times}
            formatTime={formatTime}
            series={[
              { name: words.figures.delivered, values: column(1), tone: 'good' },
              { name: words.figures.failed, values: column(2), tone: 'bad' },
            ]}
          />
          <Chart
            title={words.figures.durations}
            sentence={words.figures.durationsSentence(duration(p50.at(-1) ?? 0), duration(p95.at(-1) ?? 0))}
            kind="line"
            times={times}
            formatValue={duration}
            formatTime={formatTime}
            series={[
              { name: words.figures.p50, values: p50 },
              { name: words.figures.p95, values: p95, tone: 'notice' },
            ]}
          />
        </>
      )}
    </div>
  )
}
