import { avoidConnectionMs, maxConnectionFailures } from '../limits.ts'

/** Tracks connections that failed recently, so that others are preferred. */
export type ConnectionHealth = {
  /** Records the result of a submit: `false` without a response, and after a fault of the carrier. */
  record(connection: string, good: boolean): void
  isHealthy(connection: string): boolean
}

export const makeConnectionHealth = (now: () => number = () => performance.now()): ConnectionHealth => {
  const failures = new Map<string, { count: number; last: number }>()
  return {
    record: (connection, good) => {
      if (good) failures.delete(connection)
      else failures.set(connection, { count: (failures.get(connection)?.count ?? 0) + 1, last: now() })
    },
    isHealthy: (connection) => {
      const failed = failures.get(connection)
      return !failed || failed.count < maxConnectionFailures || now() - failed.last > avoidConnectionMs
    },
  }
}
