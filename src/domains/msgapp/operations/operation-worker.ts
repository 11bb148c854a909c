import type { Tx } from '../../../platform/db/sql.ts'
import { type CompletedRun, Discard, type Job, type JobKind, Snooze } from '../../../platform/jobs/job-kind.ts'
import type { ChatNetwork } from '../../../ports/chat.ts'
import { downSnoozeSeconds, maxSnoozeSeconds } from '../limits.ts'
import type { Operation, Operations } from './operation.ts'
import { jobKindOf, type OperationPayload, storeAnswers } from './requests.ts'
import { jobAgeSeconds, snooze } from './snooze.ts'

/** Status of a channel in the process that runs its connection; `unknown`: not on the connection, or not enabled. */
export type ChannelReach = 'connected' | 'down' | 'unknown'

export type Deps = {
  readonly connection: string
  readonly network: ChatNetwork
  readonly acts: Operations
  /** Whether the lease holds. */
  isHeld(): boolean
  reach(channel: string): ChannelReach
  /** Whether the channel has been connected long enough for the network's initial work to be over. */
  isSteady(channel: string): boolean
  /** Whether there is anything to claim jobs for. */
  hasCapacity(): boolean
  /** Whether the channel was deleted. */
  isDeleted(channel: string): Promise<boolean>
}

type Result = { readonly act: Operation; readonly value: unknown } | 'late'
type CompletedJob = CompletedRun<OperationPayload<unknown>, Result>

const complete = async (tx: Tx, done: readonly CompletedJob[]): Promise<void> => {
  const acts = new Map<Operation, CompletedRun<OperationPayload<unknown>>[]>()
  const late: string[] = []
  for (const { job, result } of done) {
    if (result === 'late') late.push(job.id)
    else acts.set(result.act, [...(acts.get(result.act) ?? []), { job, result: result.value }])
  }
  for (const [act, list] of acts) await act.onComplete(tx, list)
  await storeAnswers(
    tx,
    late.map((id) => ({ id, answer: { outcome: 'late' } })),
  )
}

/** Job kind of a connection: runs all operations on its network, in the process that runs the connection. */
export const operationKind = ({
  connection,
  network,
  acts,
  isHeld,
  reach,
  isSteady,
  hasCapacity,
  isDeleted,
}: Deps): JobKind => {
  const run = async (job: Job<OperationPayload<unknown>>, signal: AbortSignal): Promise<Result> => {
    const { act: name, channel, until } = job.payload
    const act = acts[name]
    if (!act) throw new Discard(`unknown operation ${name}`)
    if (until !== undefined && Date.now() > until) return 'late'
    if (!isHeld()) throw new Snooze('the lease of the connection is lost', 1)
    const reached = reach(channel)
    if (reached === 'unknown' && (await isDeleted(channel))) throw new Discard('the channel was deleted')
    if (reached !== 'connected') snooze(job, 'the channel is not connected', downSnoozeSeconds, channel)
    try {
      return { act, value: await act.run(network, job, signal) }
    } catch (error) {
      if (!(error instanceof Snooze) || jobAgeSeconds(job) < maxSnoozeSeconds || !isSteady(channel)) throw error
      throw new Discard(`still postponed after a day: ${error.message}`)
    }
  }
  const kind: JobKind<OperationPayload<unknown>, Result> = {
    kind: jobKindOf(connection),
    concurrency: 256,
    batch: 128,
    flushIntervalMs: 5,
    leaseSeconds: 15,
    maxAttempts: 12,
    fair: true,
    capacity: () => (isHeld() && hasCapacity() ? Number.POSITIVE_INFINITY : 0),
    run,
    onComplete: complete,
    onDiscard: async (tx, job, reason) => {
      await acts[job.payload.act]?.onDiscard?.(tx, job, reason)
      if (job.payload.until !== undefined)
        await storeAnswers(tx, [{ id: job.id, answer: { outcome: 'failed', reason } }])
    },
  }
  // All jobs of this kind were added by `requestOperation`.
  return kind as JobKind
}
