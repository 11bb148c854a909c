import type { ChatNetwork } from '../connectors/chat-port.ts'
import type { Tx } from '../db/sql.ts'
import { type Done, GiveUp, type Job, type Kind, Later } from '../jobs/kind.ts'
import type { Act, Acts } from './acts.ts'
import { type Asked, answer, kindOf } from './asking.ts'
import { ageOf, putOff } from './later.ts'

/** How a channel stands in the process that runs its connection; `unknown` is not one of the connection's, or not enabled. */
export type Reach = 'connected' | 'down' | 'unknown'

export type Work = {
  readonly connection: string
  readonly network: ChatNetwork
  readonly acts: Acts
  /** Whether the lease lasts. */
  isHeld(): boolean
  reach(channel: string): Reach
  /** Whether it has been connected for so long that whatever its network does at first is over. */
  isSteady(channel: string): boolean
  /** Whether there is anything to claim jobs for. */
  hasRoom(): boolean
  /** Whether the channel was taken away for good. */
  isGone(channel: string): Promise<boolean>
}

type Result = { readonly act: Act; readonly value: unknown } | 'late'
type Ended = Done<Asked<unknown>, Result>

/** A job of a channel that is down waits so many seconds, unless the channel comes up before, or goes for good (owner.ts). */
const downFor = { least: 15, most: 600 }

/** Seconds after which what a connected network puts off again and again is given up. */
const longest = 86_400

const settle = async (tx: Tx, done: readonly Ended[]): Promise<void> => {
  const acts = new Map<Act, Done<Asked<unknown>>[]>()
  const late: string[] = []
  for (const { job, result } of done) {
    if (result === 'late') late.push(job.id)
    else acts.set(result.act, [...(acts.get(result.act) ?? []), { job, result: result.value }])
  }
  for (const [act, list] of acts) await act.settle(tx, list)
  await answer(
    tx,
    late.map((id) => ({ id, answer: { outcome: 'late' } })),
  )
}

/** The jobs of a connection: whatever is asked of its network, in the process that runs it. */
export const workOf = ({ connection, network, acts, isHeld, reach, isSteady, hasRoom, isGone }: Work): Kind => {
  const run = async (job: Job<Asked<unknown>>, signal: AbortSignal): Promise<Result> => {
    const { act: name, channel, until } = job.payload
    const act = acts[name]
    if (!act) throw new GiveUp(`there is no act ${name}`)
    if (until !== undefined && Date.now() > until) return 'late'
    if (!isHeld()) throw new Later('another process may run it', 1)
    const standing = reach(channel)
    if (standing === 'unknown' && (await isGone(channel))) throw new GiveUp('the channel was deleted')
    if (standing !== 'connected') putOff(job, 'the channel is not connected', downFor, channel)
    try {
      return { act, value: await act.run(network, job, signal) }
    } catch (error) {
      if (!(error instanceof Later) || ageOf(job) < longest || !isSteady(channel)) throw error
      throw new GiveUp(`put off for a day: ${error.message}`)
    }
  }
  const kind: Kind<Asked<unknown>, Result> = {
    kind: kindOf(connection),
    concurrency: 256,
    batch: 128,
    leaseSeconds: 15,
    maxAttempts: 12,
    fair: true,
    room: () => (isHeld() && hasRoom() ? Number.POSITIVE_INFINITY : 0),
    run,
    settle,
    failed: async (tx, job, reason) => {
      await acts[job.payload.act]?.failed?.(tx, job, reason)
      if (job.payload.until !== undefined) await answer(tx, [{ id: job.id, answer: { outcome: 'failed', reason } }])
    },
  }
  // Everything of this kind was added by `ask`.
  return kind as Kind
}
