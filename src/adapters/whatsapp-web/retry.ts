import { setTimeout } from 'node:timers/promises'

/** Delays after failed attempts in milliseconds; together they cover a restart of the database. */
const delays = [200, 500, 1_000, 2_000]

/** Retries an idempotent operation. @throws the last error */
export const retry = async <T>(work: () => Promise<T>): Promise<T> => {
  for (const wait of delays) {
    try {
      return await work()
    } catch {
      await setTimeout(wait)
    }
  }
  return work()
}
