import type { Sql, Tx } from '../db/sql.ts'

/** A job as passed to its handler. Times are by the platform's clock. */
export type Job<Payload = unknown> = {
  readonly id: string
  readonly account: string | null
  readonly kind: string
  readonly key: string | null
  readonly payload: Payload
  /** Due time; the run may start later. */
  readonly runAt: Date
  readonly createdAt: Date
  /** Number of this run, from 1. */
  readonly attempt: number
}

export type CompletedRun<Payload = unknown, Result = unknown> = { readonly job: Job<Payload>; readonly result: Result }

/** Result of a `run` that deleted the job itself, in a transaction that checked the fence: nothing is left to commit. */
export const jobEnded: unique symbol = Symbol('the job has ended')

/**
 * Defines how jobs of one kind run.
 *
 * `run` acts on external systems and may happen more than once for a job: a worker may die before it commits the
 * outcome. Pass the job's id to the other side for deduplication. `onComplete` acts on our database and takes effect
 * exactly once, in the transaction that ends the job. A kind may have either or both.
 */
export type JobKind<Payload = unknown, Result = unknown> = {
  readonly kind: string
  /** Maximum of concurrent runs in this process. For throughput, at least twice `batch`. */
  readonly concurrency: number
  /** Maximum of jobs that one statement claims or ends. Default: 128; upper limit: 1,000. */
  readonly batch?: number
  /** Milliseconds between a statement that ended four jobs or more and the next one, unless half a batch waits. For kinds
   *  with a high rate. */
  readonly flushIntervalMs?: number
  /** Lease duration: jobs of a dead process return after it. A live worker extends its leases, whatever the run
   *  time. */
  readonly leaseSeconds: number
  /** Failures after which a job is moved to `dead_jobs`. */
  readonly maxAttempts: number
  /** Claims rotate over the accounts, so that a long queue of one account does not delay the others. */
  readonly fair?: boolean
  /** Seconds to wait after the given attempt failed. Default: `backoff` below. */
  backoff?(attempt: number): number
  /**
   * Number of jobs that may be claimed now, read before each claim; for example, the free window of a carrier. At 0,
   * jobs stay queued and lose no attempt. Call `notifyCapacity` (queue.ts) when capacity returns; otherwise the worker
   * notices within half a second.
   */
  capacity?(): number
  /** Whether a job of an account that is inserted leased to this worker may start (local-queue.ts). Default: always. */
  hasLocalRoom?(account: string): boolean
  /** Kinds whose jobs may be older than one that is inserted leased to this worker: it starts after those of a claim in
   *  progress. The own kind is always one. */
  readonly startsAfter?: readonly string[]
  /** The external effect, outside any transaction. The signal aborts when the lease is lost or the worker stops.
   *  @param fence of the lease */
  run?(job: Job<Payload>, signal: AbortSignal, fence: number): Promise<Result | typeof jobEnded>
  /** Called when the worker begins to stop: jobs that only wait end soon, with `Snooze`. */
  onStopping?(): void
  /** The effects on our database, in the transaction that ends the jobs. Jobs whose lease was lost are left out. */
  onComplete?(tx: Tx, done: readonly CompletedRun<Payload, Result>[]): Promise<void>
  /**
   * Replaces `onComplete` by one statement that also ends the jobs whose fences hold. For kinds with a high rate.
   * @returns the ids of the ended jobs, or null, without any effect, if the batch needs `onComplete`
   */
  completeDirectly?(
    db: Sql,
    done: readonly (CompletedRun<Payload, Result> & { readonly fence: number })[],
  ): Promise<Set<string>> | null
  /** Makes the failure take effect when a job fails permanently, in the transaction that moves it to `dead_jobs`. Such a
   *  job is settled: an operator cannot requeue it. */
  onDiscard?(tx: Tx, job: Job<Payload>, error: string): Promise<void>
}

/** Thrown by `run` for a failure with its own retry delay. Counts as an attempt. */
export class Retry extends Error {
  readonly seconds: number
  constructor(reason: string, seconds: number) {
    super(reason)
    this.seconds = seconds
  }
}

/**
 * Thrown by `run` when nothing was attempted (no capacity, not connected). The job is rescheduled and no attempt is
 * counted. `waitsFor` names the condition that the job waits for; `promoteJobs` (ops.ts) runs such jobs once the
 * condition is met.
 */
export class Snooze extends Error {
  readonly seconds: number
  readonly waitsFor: string | null
  constructor(reason: string, seconds: number, waitsFor: string | null = null) {
    super(reason)
    this.seconds = seconds
    this.waitsFor = waitsFor
  }
}

/** Thrown by `run` when a retry is useless: the job moves to `dead_jobs` at once. */
export class Discard extends Error {}

/** Exponential backoff: 1, 2, 4 … seconds, at most an hour. Jitter of ±25% spreads jobs that failed together. */
export const backoff = (attempt: number, random: () => number = Math.random): number =>
  Math.min(3600, 2 ** Math.min(attempt - 1, 20)) * (0.75 + random() / 2)

/** The logger of the workers; compatible with pino. */
export type Log = {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}
