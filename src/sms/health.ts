/** Which connections have failed of late, so that others are preferred. */
export type Health = {
  /** How a submit ended: `false` for no answer, and for a carrier's own fault. */
  note(connection: string, good: boolean): void
  isWell(connection: string): boolean
}

/** Failures in a row after which a connection is avoided, and for how long. */
const mostFailures = 5
const restMs = 30_000

export const makeHealth = (now: () => number = () => performance.now()): Health => {
  const failures = new Map<string, { count: number; last: number }>()
  return {
    note: (connection, good) => {
      if (good) failures.delete(connection)
      else failures.set(connection, { count: (failures.get(connection)?.count ?? 0) + 1, last: now() })
    },
    isWell: (connection) => {
      const failed = failures.get(connection)
      return !failed || failed.count < mostFailures || now() - failed.last > restMs
    },
  }
}
