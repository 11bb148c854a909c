import { setTimeout as pause } from 'node:timers/promises'
import { makeBatcher } from '../../../platform/db/batcher.ts'
import type { Db, Tx } from '../../../platform/db/sql.ts'
import { errorText, isTransient } from '../../../platform/jobs/consume/job-outcome.ts'
import {
  backoff,
  type CompletedRun,
  Discard,
  type Job,
  jobEnded,
  Retry,
  Snooze,
} from '../../../platform/jobs/job-kind.ts'
import { notify } from '../../../platform/jobs/queue.ts'
import type { BatchJob, BatchMember } from '../batch.ts'
import { maxBatchAttempts } from '../limits.ts'
import { forceIndexPlans } from '../state-transition-store.ts'
import {
  completeBatches,
  type LeasedBatch,
  lockBatches,
  openMembers,
  type SentMember,
  type SplitMember,
  type StoredBatch,
  splitOff,
} from './batch-store.ts'
import { passJob } from './carrier-lease-store.ts'
import type { FairQueue, QueuedSubmission } from './fair-queue.ts'
import { submitKind } from './message-slots.ts'
import type { PendingCommits } from './pending-commits.ts'
import type { SendingWatch } from './sending-watch.ts'
import type { Submission, SubmitJob, SubmitOutcome } from './submit-handler.ts'

export type EndedRun = CompletedRun<Submission, SubmitOutcome>

/** A batch whose messages this process submits. */
type RunningBatch = LeasedBatch & {
  readonly account: string
  readonly createdAt: Date
  /** Aborts when the lease is lost, or the worker stops. */
  readonly signal: AbortSignal
  /** Messages whose end is not committed. */
  open: number
  /** True once the row of the batch is deleted. */
  isEnded: boolean
}

/** The sending of messages that this process submits, with the version of its state (sending-watch.ts). */
type SendingRun = { readonly id: string; readonly version: number }

type SentInBatch = SentMember & { readonly batch: RunningBatch }
/** The end of a message that was not sent at once: its outcome, or its own job. */
type OtherEnd = { readonly batch: RunningBatch } & ({ readonly run: EndedRun } | { readonly split: SplitMember })

/** How often a batch's ends are written, in milliseconds. A statement costs about 450 µs, each message another 25 µs. */
const flushIntervalMs = 10

type Deps = {
  readonly db: Db
  readonly queue: FairQueue
  readonly pendingCommits: PendingCommits
  readonly sendings: SendingWatch
  /** Submits one message. */
  submit(job: SubmitJob, signal: AbortSignal): Promise<SubmitOutcome>
  /** Wakes the process that runs jobs of a kind. */
  wake(kind: string): void
  /** Stores outcomes of messages. */
  storeOutcomes(tx: Tx, done: readonly EndedRun[]): Promise<void>
}

/** Result of a run that does not end its job itself. `split`: the messages get jobs of their own. */
export type BatchOutcome = 'split' | undefined

/** The delay of a failed submit, as classifyError has it for a job of its own. */
const delayOf = (error: unknown): Pick<SplitMember, 'error' | 'attempts' | 'waitsFor'> & { seconds: number } => {
  const text = errorText(error)
  if (error instanceof Snooze) return { seconds: error.seconds, error: text, attempts: 0, waitsFor: error.waitsFor }
  const seconds = error instanceof Retry ? error.seconds : error instanceof Discard ? 0 : backoff(1)
  return { seconds, error: text, attempts: 1, waitsFor: null }
}

/** Makes the handler that submits the messages of a batch. Each message ends in a statement of its own or shared with
 *  others, which checks the fence of the batch. */
export const makeBatchHandler = ({ db, queue, pendingCommits, sendings, submit, wake, storeOutcomes }: Deps) => {
  /** Average number of open messages in the claimed batches of late. */
  let averageSize = 1

  /** Accounts of which claimed batches are being read, with the end of the last one's reading. */
  const arrivals = new Map<string, Promise<void>>()

  const loads = makeBatcher<StoredBatch, BatchMember[]>((batches) => openMembers(db, batches))

  const sent = makeBatcher<SentInBatch, boolean>(
    async (members) => {
      const counts = new Map<RunningBatch, number>()
      for (const { batch } of members) counts.set(batch, (counts.get(batch) ?? 0) + 1)
      const final = new Set([...counts].flatMap(([batch, count]) => (count === batch.open ? [batch] : [])))
      const held = await completeBatches(db, members, (batch) => final.has(batch))
      for (const [batch, count] of counts) batch.open -= count
      for (const batch of final) batch.isEnded = held.has(batch.id)
      pendingCommits.clear(members.map(({ id }) => id))
      return members.map(({ batch }) => held.has(batch.id))
    },
    { spacingMs: flushIntervalMs },
  )

  queue.onStalled(sent.flush)

  const others = makeBatcher<OtherEnd, boolean>(async (ends) => {
    const held = await db.begin(async (tx) => {
      await forceIndexPlans(tx)
      const locked = await lockBatches(tx, [...new Set(ends.map(({ batch }) => batch))])
      const ours = ends.filter(({ batch }) => locked.has(batch.id))
      await storeOutcomes(
        tx,
        ours.flatMap((end) => ('run' in end ? [end.run] : [])),
      )
      const split = ours.flatMap((end) => ('split' in end ? [end.split] : []))
      if (split.length > 0) await splitOff(tx, split)
      return locked
    })
    for (const { batch } of ends) batch.open--
    pendingCommits.clear(ends.map((end) => ('run' in end ? end.run.job.id : end.split.id)))
    return ends.map(({ batch }) => held.has(batch.id))
  })

  /** Repeats a write until the database takes or rejects it. */
  const untilWritten = async ({ signal }: RunningBatch, write: () => Promise<boolean>): Promise<boolean> => {
    for (let tries = 1; ; tries++) {
      try {
        return await write()
      } catch (error) {
        if (!isTransient(error) || signal.aborted) throw error
        await pause(Math.min(1_000, 25 * 2 ** Math.min(tries, 6)))
      }
    }
  }

  const split = async (batch: RunningBatch, { id, payload }: BatchMember, error: unknown): Promise<void> => {
    const { account, createdAt } = batch
    const delay = delayOf(error)
    const end = { batch, split: { id, account, kind: submitKind, payload, createdAt, ...delay } }
    await untilWritten(batch, () => others.add(end))
    if (delay.seconds < 0.5) setTimeout(() => notify(submitKind), Math.ceil(delay.seconds * 1_000)).unref()
  }

  /** Gives a message a job of its own that another process runs. */
  const passOn = async (
    batch: RunningBatch,
    member: BatchMember,
    kind: string,
    tried: readonly string[],
  ): Promise<void> => {
    const { account, createdAt } = batch
    const { id } = member
    const payload = tried.length === 0 ? member.payload : { ...member.payload, tried }
    const due = { createdAt, seconds: null, error: null, attempts: 0, waitsFor: null }
    await untilWritten(batch, () => others.add({ batch, split: { id, account, kind, payload, ...due } }))
    wake(kind)
  }

  const store = async (batch: RunningBatch, job: Job<Submission>, result: SubmitOutcome): Promise<void> => {
    const { id } = job
    const { account } = batch
    if (result.outcome === 'passed') return
    try {
      if (result.outcome === 'sent' && (result.taken.length === 0 || !result.mayBeStored)) {
        const end = { id, account, batch, taken: result.taken[0] ?? null }
        await untilWritten(batch, () => sent.add(end))
      } else await untilWritten(batch, () => others.add({ batch, run: { job, result } }))
    } catch (error) {
      if (isTransient(error)) throw error
      // The database rejects the outcome: that counts as a failure of the message.
      await split(batch, job, error)
    }
  }

  /** Submits the members, and resolves once the end of each is committed. Rejects if some remain. */
  const submitAll = async (
    batch: RunningBatch,
    members: readonly BatchMember[],
    isClaimed: boolean,
    sending: SendingRun | null,
  ): Promise<void> => {
    const { account, createdAt, signal } = batch
    const done = Promise.withResolvers<void>()
    let left = members.length
    let failure: unknown = null
    const ended = () => {
      left--
      if (left > 0) return
      if (failure === null) done.resolve()
      else done.reject(failure)
    }
    const drop = () => {
      failure ??= new Snooze('the worker is stopping', 0)
      ended()
    }
    const finish = (work: Promise<void>) =>
      void work.then(ended, (error: unknown) => {
        failure ??= error
        ended()
      })
    const waiting = new Map<QueuedSubmission, BatchMember>()
    const entries = members.map((member): QueuedSubmission => {
      const job = {
        ...member,
        account,
        kind: submitKind,
        key: null,
        runAt: createdAt,
        createdAt,
        attempt: 1,
        passOn: (kind: string, tried: readonly string[]) => passOn(batch, member, kind, tried),
      }
      const entry: QueuedSubmission = {
        id: member.id,
        account,
        isClaimed,
        drop,
        start: () =>
          submit(job, signal).then(
            (result) => finish(store(batch, job, result)),
            // Another worker continues, or this one after its next start.
            (error) => (signal.aborted ? drop() : finish(split(batch, member, error))),
          ),
      }
      if (sending) waiting.set(entry, member)
      return entry
    })
    const stop = () => {
      const removed = queue.remove(new Set(entries))
      for (const entry of removed) entry.drop()
    }
    signal.addEventListener('abort', stop, { once: true })
    queue.add(entries)
    if (signal.aborted) stop()
    /** Gives the messages that wait jobs of their own, which hold or end them. */
    const halt = () => {
      for (const entry of queue.remove(new Set(entries))) {
        const member = waiting.get(entry)
        if (member) finish(split(batch, member, new Snooze('the sending was paused or canceled', 0)))
      }
    }
    const unfollow = sending && sendings.follow(account, sending.id, sending.version, halt)
    try {
      await done.promise
    } finally {
      unfollow?.()
    }
  }

  /** Reads the members of a claimed batch, and adds them to the queue. Whatever the account has to submit later waits for
   *  that: otherwise, a message accepted in the meantime overtakes them. */
  const enterQueue = async (job: BatchJob, account: string, signal: AbortSignal, fence: number) => {
    const { id, createdAt, payload } = job
    const local = payload.members
    const earlier = arrivals.get(account)
    const entered = Promise.withResolvers<void>()
    if (!local) arrivals.set(account, entered.promise)
    try {
      const admission =
        payload.sending === undefined ? null : await sendings.admit({ account, sending: payload.sending, message: id })
      if (admission?.state === 'canceled') return 'split'
      const members = local ?? (await loads.add({ account, payload, createdAt }))
      if (earlier) await earlier
      if (!local) averageSize += (members.length - averageSize) / 8
      if (members.length === 0) return null
      const batch: RunningBatch = { id, fence, account, createdAt, signal, open: members.length, isEnded: false }
      const sending = admission && { id: payload.sending ?? '', version: admission.version }
      return { batch, done: submitAll(batch, members, !local, sending) }
    } finally {
      entered.resolve()
      if (arrivals.get(account) === entered.promise) arrivals.delete(account)
    }
  }

  /** Runs a batch. A batch of this process brings its members; those of another one are read. */
  const runBatch = async (
    job: BatchJob,
    signal: AbortSignal,
    fence: number,
  ): Promise<BatchOutcome | typeof jobEnded> => {
    if (job.account === null) throw new Discard('the batch has no account')
    if (job.attempt >= maxBatchAttempts) return 'split'
    const running = await enterQueue(job, job.account, signal, fence)
    if (running === null) return undefined
    if (running === 'split') return running
    await running.done
    return running.batch.isEnded ? jobEnded : undefined
  }

  /** Submits the own job of a message, in the turn of its account. */
  const submitSingle = (
    job: SubmitJob,
    signal: AbortSignal,
    sending: SendingRun | null,
    waiting: Set<() => void>,
  ): Promise<SubmitOutcome> => {
    const account = job.account ?? ''
    let unfollow = () => {}
    const outcome = new Promise<SubmitOutcome>((resolve, reject) => {
      const drop = () => {
        waiting.delete(giveBack)
        reject(new Snooze('the worker is stopping', 0))
      }
      const start = () => {
        waiting.delete(giveBack)
        return submit(job, signal).then(resolve, reject)
      }
      const entry: QueuedSubmission = { id: job.id, account, isClaimed: true, start, drop }
      const giveBack = () => {
        if (queue.remove(new Set([entry])).length > 0) drop()
      }
      waiting.add(giveBack)
      const enter = () => (signal.aborted ? drop() : queue.add([entry]))
      const halt = () => {
        // Its next run holds or ends it.
        if (queue.remove(new Set([entry])).length === 0) return
        waiting.delete(giveBack)
        reject(new Snooze('the sending was paused or canceled', 0))
      }
      if (sending) unfollow = sendings.follow(account, sending.id, sending.version, halt)
      signal.addEventListener('abort', () => queue.remove(new Set([entry])).length > 0 && drop(), { once: true })
      const earlier = arrivals.get(account)
      if (earlier) void earlier.then(enter)
      else enter()
    })
    return sending ? outcome.finally(() => unfollow()) : outcome
  }

  /** Runs the own job of a message. One of a sending waits while that is paused, and ends once it is canceled, unless
   *  a submit has begun. */
  const runOwn = async (job: SubmitJob, signal: AbortSignal, waiting: Set<() => void>): Promise<SubmitOutcome> => {
    const { sending } = job.payload
    if (sending === undefined || job.account === null) return await submitSingle(job, signal, null, waiting)
    const { state, status, version } = await sendings.admit({ account: job.account, sending, message: job.id })
    if (state === 'canceled' && status === 'queued') return { outcome: 'canceled' }
    return await submitSingle(job, signal, { id: sending, version }, waiting)
  }

  /** @param waiting collects functions that return messages which have not been started to the queue */
  const runSingle = async (
    job: Job<Submission>,
    signal: AbortSignal,
    fence: number,
    waiting = new Set<() => void>(),
  ): Promise<SubmitOutcome | typeof jobEnded> => {
    const passed = async (kind: string, tried: readonly string[]) => {
      await passJob(db, { id: job.id, fence, kind, tried })
      wake(kind)
    }
    const outcome = await runOwn({ ...job, passOn: passed }, signal, waiting)
    return outcome.outcome === 'passed' ? jobEnded : outcome
  }

  return {
    runBatch,
    runSingle,
    /** Number of claimed batches that hold about so many messages. */
    batchesFor: (messages: number) => Math.ceil(messages / Math.max(1, averageSize)),
  }
}
