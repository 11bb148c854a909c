import type { Sql, Tx } from '../../platform/db/sql.ts'
import { Discard, type Job, type JobKind, type jobEnded, Retry } from '../../platform/jobs/job-kind.ts'
import { cancelJob, type OverdueJob, overdueJobs } from '../../platform/jobs/ops.ts'
import { notifyCapacity, onNotify } from '../../platform/jobs/queue.ts'
import type { Schedule } from '../../platform/jobs/schedule.ts'
import type { Services } from '../../services.ts'
import { makeMediaLinks } from '../msgapp/media/ops.ts'
import type { BatchPayload, LocalBatchPayload } from './batch.ts'
import { cancelUnsubmitted, endUnsent } from './cancellation.ts'
import { type CompletedMessage, completeSent } from './completion-store.ts'
import { deleteOldFingerprints } from './inbound/dedup-store.ts'
import { receiveIncomplete } from './inbound/inbound-receiver.ts'
import {
  expireKind,
  firstAdoptingAttempt,
  maxBatchAttempts,
  maxSubmissions,
  maxWaitingInMemory,
  maxWaitingPages,
  minClaimedInMemory,
  receiptGraceSeconds,
  waitingPageSize,
} from './limits.ts'
import { publishEvents } from './message-presenter.ts'
import { makePartCallbacks } from './part-tokens.ts'
import { type CarrierReceipt, storedReceipt } from './receipts/carrier-receipt.ts'
import { findMissingReceipts } from './receipts/receipt-queries.ts'
import { deleteOldUnparsedReceipts } from './receipts/unparsed-receipt-store.ts'
import { completeSendings } from './sendings/complete-sendings.ts'
import { isWaiting } from './sendings/store.ts'
import * as states from './state-transition-store.ts'
import { type BatchOutcome, type EndedRun, makeBatchHandler } from './submit/batch-handler.ts'
import { type StoredBatch, splitBatches } from './submit/batch-store.ts'
import { deleteOldLeases, returnStrayJobs } from './submit/carrier-lease-store.ts'
import { makeConnectionHealth } from './submit/connection-health.ts'
import { makeFailoverSubmitter } from './submit/failover-submitter.ts'
import { type FairQueue, makeFairQueue } from './submit/fair-queue.ts'
import { batchKind, submitKind } from './submit/message-slots.ts'
import { makePairSequencer } from './submit/pair-sequencer.ts'
import { deleteOldReferences } from './submit/parts-store.ts'
import { makeSendingWatch } from './submit/sending-watch.ts'
import {
  defaultValidSeconds,
  makeSubmitHandler,
  type Submission,
  type SubmitOutcome,
  validUntil,
} from './submit/submit-handler.ts'
import { makeSubmitProgress } from './submit/submit-progress.ts'

type BatchHandler = ReturnType<typeof makeBatchHandler>

/** Stores the outcomes of submissions. */
const storeOutcomes = async (tx: Tx, done: readonly EndedRun[]): Promise<void> => {
  const messages: { account: string; id: string }[] = []
  const parts: states.SentPart[] = []
  const ended: states.EndedMessage[] = []
  const canceled: { account: string; id: string }[] = []
  for (const { job, result } of done) {
    const { id, account } = job
    if (account === null || result.outcome === 'gone' || result.outcome === 'passed') continue
    if (result.outcome === 'canceled') {
      canceled.push({ account, id })
      continue
    }
    if (result.outcome === 'sent') {
      messages.push({ account, id })
      for (const taken of result.taken) parts.push({ account, message: id, ...taken })
    } else ended.push({ account, id, status: result.outcome, code: result.code })
  }
  if (messages.length > 0) await publishEvents(tx, await states.markSent(tx, messages, parts))
  await endUnsent(tx, ended)
  const ids = canceled.map(({ id }) => id)
  await cancelUnsubmitted(tx, canceled, ids)
}

/** Returns null for a submission that was not sent. */
const sentOf = ({ job: { id, account }, fence, result }: EndedRun & { fence: number }): CompletedMessage | null =>
  account !== null && result.outcome === 'sent' ? { id, account, fence, taken: result.taken[0] ?? null } : null

/** Messages that may be claimed now. A few wait in memory even while the windows are full: they take turns there with
 *  the messages that this process accepts. Without any connection, all: they fail with no_route. */
const claimable = ({ carriers, routing }: Pick<Services, 'carriers' | 'routing'>, queue: FairQueue): number => {
  const { leases } = carriers
  if (!leases.readsQueue()) return 0
  if (routing.connections().length === 0) return Number.POSITIVE_INFINITY
  if (!carriers.isAnyUp() && !leases.hasOthersUp()) return 0
  return Math.max(carriers.availableWindow(), minClaimedInMemory) - queue.claimed()
}

/** Messages of a slot that may be claimed now: those that another process passed on to this one. While its connection is
 *  down, some are claimed if there is another one to try. */
const claimableOf = (
  { carriers, routing }: Pick<Services, 'carriers' | 'routing'>,
  queue: FairQueue,
  connection: string,
): number => {
  if (!carriers.up(connection) && routing.connections().length < 2) return 0
  return Math.max(carriers.availableWindowOf(connection), minClaimedInMemory) - queue.claimed()
}

type Run = (job: Job<Submission>, signal: AbortSignal, fence: number) => Promise<SubmitOutcome | typeof jobEnded>

/** Own jobs of messages: scheduled ones, those that are retried, and those accepted in a transaction of their request.
 *  Submits them at least once: a submit whose response was lost is repeated, unless the policy of the connection forbids
 *  it. */
const submitJob = (
  { carriers }: Pick<Services, 'carriers'>,
  { kind, run, capacity, onStopping }: { kind: string; run: Run; capacity(): number; onStopping(): void },
): JobKind<Submission, SubmitOutcome> => {
  const written = (tx: Tx, done: readonly EndedRun[]) => {
    const ids = done.map(({ job }) => job.id)
    tx.afterCommit(() => carriers.pendingCommits.clear(ids))
  }
  const end = async (sql: Sql, sent: readonly CompletedMessage[]): Promise<Set<string>> => {
    const ended = await completeSent(sql, sent)
    carriers.pendingCommits.clear(sent.map(({ id }) => id))
    return ended
  }
  return {
    kind,
    concurrency: maxSubmissions,
    // No caller waits for this. A statement costs about 450 µs, each message in it another 25 µs.
    flushIntervalMs: 10,
    leaseSeconds: 30,
    maxAttempts: 50,
    fair: true,
    capacity,
    onStopping,
    run,
    completeDirectly: (sql, done) => {
      const sent = done.map(sentOf)
      return sent.every((one) => one !== null) ? end(sql, sent) : null
    },
    onComplete: async (tx, done) => {
      written(tx, done)
      await states.forceIndexPlans(tx)
      await storeOutcomes(tx, done)
    },
    onDiscard: async (tx, { id, account }) => {
      tx.afterCommit(() => carriers.pendingCommits.clear([id]))
      if (account !== null) await endUnsent(tx, [{ account, id, status: 'failed', code: 'carrier_unreachable' }])
    },
  }
}

/** Batches of messages that were accepted together. */
const batchJob = (
  { carriers, routing }: Pick<Services, 'carriers' | 'routing'>,
  queue: FairQueue,
  { runBatch, batchesFor }: BatchHandler,
): JobKind<LocalBatchPayload, BatchOutcome> => ({
  kind: batchKind,
  concurrency: maxWaitingInMemory,
  leaseSeconds: 30,
  maxAttempts: maxBatchAttempts,
  fair: true,
  startsAfter: [submitKind],
  capacity: () => batchesFor(claimable({ carriers, routing }, queue)),
  hasLocalRoom: (account) =>
    carriers.leases.readsQueue() &&
    (routing.connections().length === 0 || carriers.isAnyUp()) &&
    queue.room(account) > 0,
  onStopping: queue.close,
  run: runBatch,
  onComplete: async (tx, done) => {
    const split = done.flatMap(({ job, result }) => (result === 'split' ? [job] : []))
    await splitBatches(tx, split)
  },
  onDiscard: async (tx, job) => await splitBatches(tx, [job]),
})

/** Retries receipts that arrived before their part was committed: after 0.3, 1, 2, 4 … 64 s, two minutes in total. */
const receiptJob = ({ receipts, routing }: Pick<Services, 'receipts' | 'routing'>): JobKind<CarrierReceipt, void> => ({
  kind: 'sms.receipt',
  concurrency: 16,
  leaseSeconds: 30,
  maxAttempts: 8,
  run: async ({ payload, attempt }) => {
    const connection = routing.connections().find(({ connection }) => connection === payload.connection)
    const seconds = (connection?.validSeconds ?? defaultValidSeconds) + receiptGraceSeconds
    if (await receipts.retryEarly(storedReceipt(payload), attempt < firstAdoptingAttempt ? null : seconds)) return
    if (attempt === 8) throw new Discard('no message part has this id')
    throw new Retry('no message part has this id yet', 2 ** (attempt - 1))
  },
})

type JobDeps = Pick<
  Services,
  'db' | 'changes' | 'carriers' | 'routing' | 'clock' | 'config' | 'sandboxAccounts' | 'receipts' | 'seal' | 'publicUrl'
>

/** Job kinds of the SMS domain. */
export const smsJobs = (parts: JobDeps): JobKind[] => {
  const { db, carriers, routing, clock, config, sandboxAccounts } = parts
  const sequencer = makePairSequencer((id) => isWaiting(db, id))
  const submit = makeSubmitHandler({
    routing,
    clock,
    sandboxAccounts,
    submitter: makeFailoverSubmitter(carriers, makeConnectionHealth()),
    sequencer,
    progress: makeSubmitProgress(db, carriers.pendingCommits, config.optOut),
    callbackOf: makePartCallbacks(parts.seal, parts.publicUrl),
    linkOf: makeMediaLinks(parts).urlOf,
  })
  const { leases } = carriers
  const capacity = () => {
    if (routing.connections().length === 0) return Number.POSITIVE_INFINITY
    // Messages for carriers of other processes are passed on.
    return !carriers.isAnyUp() && leases.hasOthersUp() ? minClaimedInMemory : carriers.availableWindow()
  }
  const queue = makeFairQueue(capacity, (schedule) =>
    onNotify(submitKind, () => {
      schedule()
      notifyCapacity(batchKind)
    }),
  )
  const { pendingCommits } = carriers
  const sendings = makeSendingWatch({ ...parts, slotKinds: () => leases.slotKinds() })
  const wake = (kind: string) => leases.wake(kind)
  const handler = makeBatchHandler({ db, queue, pendingCommits, sendings, submit, wake, storeOutcomes })
  leases.setRunner({
    expect: sequencer.expect,
    recheck: sequencer.recheck,
    jobKindOf: (kind, connection) => {
      const waiting = new Set<() => void>()
      return submitJob(parts, {
        kind,
        run: (job, signal, fence) => handler.runSingle(job, signal, fence, waiting),
        capacity: () => claimableOf(parts, queue, connection),
        onStopping: () => {
          for (const giveBack of [...waiting]) giveBack()
        },
      })
    },
  })
  const own = submitJob(parts, {
    kind: submitKind,
    run: handler.runSingle,
    capacity: () => claimable(parts, queue),
    onStopping: queue.close,
  })
  return [own, batchJob(parts, queue, handler), receiptJob(parts), expireJob]
}

/** Ends messages with a validity of their own that still wait when it is over. One that is being submitted then ends there. */
const expireJob: JobKind = {
  kind: expireKind,
  concurrency: 4,
  leaseSeconds: 30,
  maxAttempts: 5,
  fair: true,
  onComplete: async (tx, done) => {
    const expired: states.EndedMessage[] = []
    for (const { job } of done) {
      const { message } = Object(job.payload)
      if (job.account !== null && (await cancelJob(tx, message)))
        expired.push({ account: job.account, id: message, status: 'expired', code: 'validity' })
    }
    await endUnsent(tx, expired)
  },
}

/**
 * Expires messages that wait while no carrier is connected, because such jobs never run. Messages of a longer validity
 * may precede them, so each run continues where the last one ended and starts over after the last page.
 * @returns the position at which the next run continues
 */
const expireWaiting = async (
  tx: Tx,
  at: Date,
  { routing, sandboxAccounts, carriers }: Pick<Services, 'routing' | 'sandboxAccounts' | 'carriers'>,
  from: OverdueJob<Submission> | null,
): Promise<OverdueJob<Submission> | null> => {
  const validities = routing.connections().map(({ validSeconds }) => validSeconds ?? defaultValidSeconds)
  const shortest = Math.min(defaultValidSeconds, ...validities)
  const before = new Date(at.getTime() - shortest * 1_000)
  const isOver = ({ account, payload, createdAt }: OverdueJob<Submission>) => {
    const isSandbox = account !== null && sandboxAccounts.has(account)
    return validUntil(payload, createdAt, routing.decide(payload.to, isSandbox).candidates[0]) <= at.getTime()
  }
  // Batches that no worker claimed: each of their messages is checked as a job of its own.
  const batches = await overdueJobs<BatchPayload>(tx, batchKind, before, { after: null, limit: waitingPageSize })
  const canceled: StoredBatch[] = []
  for (const batch of batches) if (await cancelJob(tx, batch.id)) canceled.push(batch)
  await splitBatches(tx, canceled)
  const expired: states.EndedMessage[] = []
  /** @returns the last job of a full page */
  const expirePage = async (kind: string, after: OverdueJob<Submission> | null) => {
    const waiting = await overdueJobs<Submission>(tx, kind, before, { after, limit: waitingPageSize })
    for (const job of waiting) {
      const { id, account } = job
      if (account !== null && isOver(job) && (await cancelJob(tx, id)))
        expired.push({ account, id, status: 'expired', code: 'validity' })
    }
    return waiting.length < waitingPageSize ? null : (waiting.at(-1) ?? null)
  }
  let after = from
  for (let pages = 0; pages < maxWaitingPages; pages++) {
    after = await expirePage(submitKind, after)
    if (after === null) break
  }
  for (const kind of carriers.leases.slotKinds()) await expirePage(kind, null)
  await endUnsent(tx, expired)
  return after
}

/** Schedules of the SMS domain. */
export const smsSchedules = (services: Services): Schedule[] => {
  const { routing, carriers } = services
  let looked: OverdueJob<Submission> | null = null
  return [
    {
      name: 'receive-incomplete-texts',
      every: 600,
      run: (tx) => receiveIncomplete(tx, services),
    },
    {
      name: 'expire-waiting-texts',
      every: 60,
      run: async (tx, at) => {
        looked = await expireWaiting(tx, at, services, looked)
      },
    },
    completeSendings(),
    findMissingReceipts(routing),
    {
      name: 'mark-missing-receipts',
      every: 60,
      run: async (tx) => {
        // A connection that was deleted or disabled meanwhile brings no receipt either.
        const former = (await states.checkedConnections(tx)).map((connection) => [connection, null] as const)
        const present = routing.connections().map(({ connection, validSeconds }) => [connection, validSeconds] as const)
        for (const [connection, validSeconds] of new Map([...former, ...present]))
          await states.markMissingReceipts(tx, connection, (validSeconds ?? defaultValidSeconds) + receiptGraceSeconds)
      },
    },
    {
      name: 'forget-sms-traces',
      every: 600,
      run: async (tx) => {
        await deleteOldFingerprints(tx)
        await deleteOldReferences(tx)
        await deleteOldUnparsedReceipts(tx)
        await deleteOldLeases(tx)
        await returnStrayJobs(tx, carriers.leases.slotKinds())
      },
    },
  ]
}
