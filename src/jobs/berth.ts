import type { Db } from '../db/sql.ts'
import type { Job } from './kind.ts'

/** So many places, granted at that moment (milliseconds of `performance.now()`). */
export type Grant = { readonly count: number; readonly at: number }

/**
 * A place in this process's worker for jobs that are added already leased to it, so that they start without having been
 * claimed: an update of the row and its indexes, a round trip and a flush less for each.
 *
 * The statement that adds a job writes `leased_until` (by `clock_timestamp()` and `leaseSeconds`), `owner`, `fence` 1 and
 * `attempts` 1 for as many as were granted, and hands them over after its commit. It must see for itself that no older ones
 * wait that another process added. If the process dies in between, the jobs come back when the lease ends, like any other.
 */
export type Berth = {
  readonly worker: string
  readonly leaseSeconds: number
  /** Resolves once a claim has ended that is to find hardly anything: places may be had again. Else null. */
  caughtUp(): Promise<void> | null
  /** Places for at most so many jobs; null while older ones wait, or there is no room. Ends with `take` or `forsake`. */
  reserve(count: number): Grant | null
  /** The jobs that were committed, at most as many as were granted. They have no key. */
  take(grant: Grant, jobs: readonly Job[]): void
  /** Nothing was committed leased; or, when doubtful, nobody knows. */
  forsake(grant: Grant, doubtful: boolean): void
}

const berths = new WeakMap<Db, Map<string, Berth[]>>()

/** @returns the way to end it */
export const openBerth = (db: Db, kind: string, berth: Berth): (() => void) => {
  const kinds = berths.get(db) ?? new Map<string, Berth[]>()
  berths.set(db, kinds.set(kind, [...(kinds.get(kind) ?? []), berth]))
  return () => {
    const left = (kinds.get(kind) ?? []).filter((one) => one !== berth)
    kinds.set(kind, left)
  }
}

/** The place for jobs of that kind, when this process runs them on that database. */
export const berthOf = (db: Db, kind: string): Berth | undefined => berths.get(db)?.get(kind)?.[0]
