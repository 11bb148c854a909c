import { useEffect, useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import { type ApiError, asApiError } from '../api/errors.ts'
import { queryClient } from '../api/query.ts'
import { newIdempotencyKey } from '../api/send.ts'
import { Button } from '../parts/button.tsx'
import { RadioField, SelectField } from '../parts/choice-fields.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { words as parts } from '../words/en/parts.ts'
import { words } from '../words/en/webhook-portal.ts'
import { type Endpoint, oneOf } from './endpoint.ts'

const day = 86_400_000
const ages = { hour: day / 24, day, week: 7 * day, month: 30 * day } as const
const times = ['hour', 'day', 'week', 'month'] as const
const modes = ['missed', 'all'] as const

/** Milliseconds between looks at the progress. */
const pace = 500

type ReplayRange = {
  readonly webhooks: readonly string[]
  readonly since: string | undefined
  readonly only: 'missed' | 'all'
}
type Count = { readonly count: number; readonly isMore: boolean }
type State =
  | { readonly is: 'form' }
  | { readonly is: 'counted'; readonly range: ReplayRange; readonly count: Count }
  | { readonly is: 'running'; readonly range: ReplayRange }

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Counts first, then sends the events of a time again, and shows the progress. */
export const Replay = ({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) => {
  const [state, setState] = useState<State>({ is: 'form' })
  const [isPending, setPending] = useState(false)
  const [error, setError] = useState<ApiError>()

  const attempt = async (act: () => Promise<void>) => {
    if (isPending) return
    setPending(true)
    setError(undefined)
    await act().catch((thrown: unknown) => setError(asApiError(thrown)))
    setPending(false)
  }
  const count = (range: ReplayRange) =>
    attempt(async () => {
      const found = { count: 0, isMore: false }
      for (const webhook_uuid of range.webhooks) {
        const { since, only } = range
        const body = { only, dry_run: true, ...(since ? { since } : {}) }
        const reply = await api('POST /open/webhooks/:webhook_uuid/replay', { params: { webhook_uuid }, body })
        found.count += reply.count ?? 0
        found.isMore ||= reply.count_capped === true
      }
      setState({ is: 'counted', range, count: found })
    })
  const send = (range: ReplayRange) =>
    attempt(async () => {
      for (const webhook_uuid of range.webhooks) {
        const { since, only } = range
        await api(
          'POST /open/webhooks/:webhook_uuid/replay',
          { params: { webhook_uuid }, body: { only, ...(since ? { since } : {}) } },
          { idempotencyKey: newIdempotencyKey() },
        )
      }
      setState({ is: 'running', range })
    })

  if (state.is === 'running') return <Running webhooks={state.range.webhooks} onClose={onClose} />
  if (state.is === 'counted')
    return (
      <Form onSubmit={() => void send(state.range)} refusal={error} label={words.replay.title}>
        <p role="status">
          {state.count.count === 0 ? words.replay.none : words.replay.counted(state.count.count, state.count.isMore)}
        </p>
        <FormActions>
          {state.count.count > 0 && (
            <Button type="submit" kind="primary" busy={isPending}>
              {words.replay.send(state.count.count, state.count.isMore)}
            </Button>
          )}
          <Button onClick={() => setState({ is: 'form' })}>{parts.back}</Button>
        </FormActions>
      </Form>
    )
  const choose = ({ webhook = '', only, since = '' }: Readonly<Record<string, string>>) => {
    const age = oneOf(times, since)
    void count({
      webhooks: webhook ? [webhook] : endpoint.webhooks.map(({ uuid }) => uuid),
      only: oneOf(modes, only) ?? 'missed',
      since: age ? new Date(Date.now() - ages[age]).toISOString().replace(/\.\d+Z$/, 'Z') : undefined,
    })
  }
  return (
    <Form onSubmit={choose} refusal={error} label={words.replay.title}>
      <SelectField
        name="webhook"
        label={words.replay.event}
        options={[
          ...(endpoint.webhooks.length > 1 ? [{ value: '', text: words.replay.every }] : []),
          ...endpoint.webhooks.map(({ uuid, event_name }) => ({ value: uuid, text: event_name })),
        ]}
      />
      <RadioField
        name="only"
        label={words.replay.which}
        look="cards"
        initial="missed"
        options={[
          { value: 'missed', text: words.replay.missed, hint: words.replay.missedHint },
          { value: 'all', text: words.replay.all, hint: words.replay.allHint },
        ]}
      />
      <SelectField
        name="since"
        label={words.replay.since}
        initial="day"
        options={[
          { value: 'pause', text: words.replay.times.pause },
          ...times.map((value) => ({ value, text: words.replay.times[value] })),
        ]}
      />
      <FormActions>
        <Button type="submit" kind="primary" busy={isPending}>
          {words.replay.count}
        </Button>
        <Button onClick={onClose}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}

/** The progress of replays, until all are done. */
const Running = ({ webhooks, onClose }: { webhooks: readonly string[]; onClose: () => void }) => {
  const [progress, setProgress] = useState({ sent: 0, share: 0, isDone: false })
  const ids = webhooks.join()
  useEffect(() => {
    let isOver = false
    const follow = async () => {
      while (!isOver) {
        const replies = await Promise.all(
          ids
            .split(',')
            .map((webhook_uuid) => api('GET /open/webhooks/:webhook_uuid/replay', { params: { webhook_uuid } })),
        )
        const replays = replies.flatMap(({ replay }) => (replay ? [replay] : []))
        const isDone = replays.every(({ state }) => state === 'done')
        if (isOver) return
        setProgress({
          sent: replays.reduce((sum, { sent }) => sum + sent, 0),
          share: replays.reduce((sum, replay) => sum + replay.progress, 0) / Math.max(1, replays.length),
          isDone,
        })
        if (isDone) return void queryClient.invalidateQueries()
        await wait(pace)
      }
    }
    // A lost connection is announced by the shell: the progress stays as it was.
    void follow().catch(() => undefined)
    return () => {
      isOver = true
    }
  }, [ids])
  return (
    <div class="stack">
      <progress max={1} value={progress.share} aria-label={words.replay.running} />
      <p role="status">
        {words.replay.progress(progress.sent)} {progress.isDone && words.replay.done}
      </p>
      <FormActions>
        <Button kind="primary" onClick={onClose}>
          {words.replay.close}
        </Button>
      </FormActions>
    </div>
  )
}
