import type { Db } from '../../db/sql.ts'
import type { Job } from '../job-kind.ts'

/** A number of reserved slots and the time of the reservation (milliseconds of `performance.now()`). */
export type SlotReservation = { readonly count: number; readonly at: number }

/**
 * Slots of this process's worker for jobs that are inserted already leased to it. Such jobs start without a claim,
 * which saves an update of the row and its indexes, a round trip and a flush for each job.
 *
 * The inserting statement sets `leased_until` (by `clock_timestamp()` and `leaseSeconds`), `owner`, `fence` 1 and
 * `attempts` 1 for at most the reserved number of jobs, and passes them on after its commit. The statement itself must
 * check that no older jobs of another process wait. If the process dies in between, the jobs return when the lease
 * ends.
 */
export type LocalQueue = {
  readonly worker: string
  readonly leaseSeconds: number
  /** Resolves when the running claim, expected to find few jobs, has ended and slots may be free again. Otherwise
   *  null. */
  whenCaughtUp(): Promise<void> | null
  /** Reserves slots for at most `count` jobs. Null while older jobs wait or without capacity. Ends with `commit` or
   *  `cancel`. */
  reserve(count: number): SlotReservation | null
  /** Starts the committed jobs, at most the reserved number. The jobs must have no key. */
  commit(grant: SlotReservation, jobs: readonly Job[]): void
  /** Releases the slots: no leased job was committed or, if `doubtful`, the outcome of the commit is unknown. */
  cancel(grant: SlotReservation, doubtful: boolean): void
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
