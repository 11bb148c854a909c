import { setTimeout } from 'node:timers/promises'

/** How long is waited after each attempt that failed, milliseconds: a database that restarts is away for as long. */
const waits = [200, 500, 1_000, 2_000]

/** Does what is kept once however often it is told, until it is kept. @throws the last error */
export const insist = async <T>(work: () => Promise<T>): Promise<T> => {
  for (const wait of waits) {
    try {
      return await work()
    } catch {
      await setTimeout(wait)
    }
  }
  return work()
}
