import type { Db } from '../../db/sql.ts'
import type { Job } from '../job-kind.ts'

/** A reserved slot, with the time of the reservation (milliseconds of `performance.now()`). */
export type SlotReservation = { readonly at: number }

/**
 * Slots of this process's worker for jobs that are inserted already leased to it. Such jobs start without a claim,
 * which saves an update of the row and its indexes, a round trip and a flush for each job.
 *
 * The inserting statement sets `leased_until` (by `clock_timestamp()` and `leaseSeconds`), `owner`, `fence` 1 and
 * `attempts` 1, and passes the job on after its commit. The statement itself must check that no older jobs of the same
 * account wait. If the process dies in between, the jobs return when the lease ends.
 */
export type LocalQueue = {
  readonly worker: string
  readonly leaseSeconds: number
  /** Reserves a slot for a job of an account. Null without a free slot, or while the database is unavailable. Ends with
   *  `commit` or `cancel`. */
  reserve(account: string): SlotReservation | null
  /** Starts the committed job. It must have no key. */
  commit(reservation: SlotReservation, job: Job): void
  /** Releases the slot: no leased job was committed or, if `doubtful`, the outcome of the commit is unknown. */
  cancel(reservation: SlotReservation, doubtful: boolean): void
}

const localQueues = new WeakMap<Db, Map<string, LocalQueue[]>>()

/** Registers a local queue. @returns a function that removes it */
export const registerLocalQueue = (db: Db, kind: string, queue: LocalQueue): (() => void) => {
  const kinds = localQueues.get(db) ?? new Map<string, LocalQueue[]>()
  localQueues.set(db, kinds.set(kind, [...(kinds.get(kind) ?? []), queue]))
  return () => {
    const left = (kinds.get(kind) ?? []).filter((one) => one !== queue)
    kinds.set(kind, left)
  }
}

/** The local queue for a kind, if this process runs that kind on this database. */
export const localQueueOf = (db: Db, kind: string): LocalQueue | undefined => localQueues.get(db)?.get(kind)?.[0]
