import type { Job } from './kind.ts'

/**
 * A place in this process's worker for jobs that are added already leased to it, so that they start without having been
 * claimed: an update of the row and its indexes, a round trip and a flush less for each (measured: see bench/queue.ts).
 *
 * The statement that adds a job writes `leased_until` (by `clock_timestamp()` and `leaseSeconds`), `owner`, `fence` 1 and
 * `attempts` 1 for as many as were granted, and hands them over after its commit. If the process dies in between, they come
 * back when the lease ends, like any other.
 */
export type Berth = {
  readonly worker: string
  readonly leaseSeconds: number
  /** How many of so many jobs may be added leased: none while older ones wait. Ends with `take` or `forsake`. */
  reserve(count: number): number
  /** The jobs that were committed, at most as many as were granted. They have no key. */
  take(granted: number, jobs: readonly Job[]): void
  /** Nothing was committed; or, when doubtful, nobody knows. */
  forsake(granted: number, doubtful: boolean): void
}

const berths = new Map<string, Berth[]>()

/** @returns the way to end it */
export const openBerth = (kind: string, berth: Berth): (() => void) => {
  berths.set(kind, [...(berths.get(kind) ?? []), berth])
  return () => {
    const left = (berths.get(kind) ?? []).filter((one) => one !== berth)
    berths.set(kind, left)
  }
}

/** The place for jobs of that kind, when this process runs them. */
export const berthOf = (kind: string): Berth | undefined => berths.get(kind)?.[0]
