import type { Sql, Tx } from '../db/sql.ts'

/** A job as its handler sees it. Times by the platform's clock. */
export type Job<Payload = unknown> = {
  readonly id: string
  readonly account: string | null
  readonly kind: string
  readonly key: string | null
  readonly payload: Payload
  /** When it was due: it may have started later. */
  readonly runAt: Date
  readonly createdAt: Date
  /** This run's number, from 1. */
  readonly attempt: number
}

export type Done<Payload = unknown, Result = unknown> = { readonly job: Job<Payload>; readonly result: Result }

/**
 * How jobs of one kind are run: data and three functions.
 *
 * `run` is for the outside world and may happen more than once for a job (a worker may die before it writes down what it
 * did): hand the job's id to the other side. `settle` is for our database and takes effect exactly once, together with the end
 * of the job. A kind may have either or both.
 */
export type Kind<Payload = unknown, Result = unknown> = {
  readonly kind: string
  /** How many may run at a time in this process. For speed at least twice `batch`. */
  readonly concurrency: number
  /** How many are claimed or ended by one statement; 128 unless told. */
  readonly batch?: number
  /** Milliseconds from one statement that ends jobs to the next, unless half a batch waits: for kinds of which very many end. */
  readonly spacing?: number
  /** A dead process's jobs come back after this; living ones prolong theirs, so it need not cover a slow run. */
  readonly leaseSeconds: number
  /** Failures after which a job is given up. */
  readonly maxAttempts: number
  /** Claims go round the accounts, so that a long queue of one does not hold up the others. */
  readonly fair?: boolean
  /** Seconds to wait after the attempt of that number failed; `backoff` below unless told. */
  backoff?(attempt: number): number
  /**
   * How many more may be claimed at this moment, asked before each claim: a carrier's window, say. At 0 jobs stay where
   * they are and lose no attempt. When room comes back, call `makeRoom` (queue.ts); else it is noticed within half a second.
   */
  room?(): number
  /** The effect outside; no transaction is open. The signal says that the lease was lost or the worker is stopping. */
  run?(job: Job<Payload>, signal: AbortSignal): Promise<Result>
  /** The effects in our database, in the transaction that ends the jobs. Those whose lease was lost are not among them. */
  settle?(tx: Tx, done: readonly Done<Payload, Result>[]): Promise<void>
  /**
   * What `settle` does, by one statement that also ends the jobs whose fences hold. For kinds of which very many end.
   * @returns the ids of those that ended, or null for what only `settle` can do: then nothing was done
   */
  end?(db: Sql, done: readonly (Done<Payload, Result> & { readonly fence: number })[]): Promise<Set<string>> | null
  /** When a job is given up, in the transaction that moves it to `dead_jobs`. */
  failed?(tx: Tx, job: Job<Payload>, error: string): Promise<void>
}

/** Thrown by `run` for a failure that says when to try again. Counts as an attempt. */
export class Retry extends Error {
  readonly seconds: number
  constructor(reason: string, seconds: number) {
    super(reason)
    this.seconds = seconds
  }
}

/**
 * Thrown by `run` when nothing was tried (no room, not connected): the job goes back and no attempt is counted. `waitsFor` names
 * what it waits for, for whoever brings that about (`hasten` in ops.ts).
 */
export class Later extends Error {
  readonly seconds: number
  readonly waitsFor: string | null
  constructor(reason: string, seconds: number, waitsFor: string | null = null) {
    super(reason)
    this.seconds = seconds
    this.waitsFor = waitsFor
  }
}

/** Thrown by `run` when trying again is of no use: the job is given up at once. */
export class GiveUp extends Error {}

/** 1, 2, 4 … seconds, at most an hour, and a quarter more or less, so that what failed together does not return together. */
export const backoff = (attempt: number, random: () => number = Math.random): number =>
  Math.min(3600, 2 ** Math.min(attempt - 1, 20)) * (0.75 + random() / 2)

/** What the workers say of themselves; a pino logger fits. */
export type Log = {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}
