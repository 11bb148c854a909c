import type { InvalidationBus } from '../../platform/db/invalidation-bus.ts'
import type { Db } from '../../platform/db/sql.ts'
import { tick } from '../../platform/jobs/tick.ts'
import type { Clock } from '../../platform/lib/clock.ts'
import { makeSerialQueue } from '../../platform/lib/serial-queue.ts'
import { numbersPerProvision, provisionOverlapMs, provisionPollMs } from './limits.ts'
import type { SimulatorClient } from './simulator-client.ts'
import * as store from './store.ts'

/** Seconds by which the platform's clock is ahead of the real one. */
export const readOffset = async (db: Db): Promise<number> => (await store.offset(db)).offset_seconds

type Deps = { db: Db; changes: InvalidationBus; clock: Clock; simulator: SimulatorClient }

/**
 * Synchronises the platform's numbers with the sandbox network, so that messages between them return, as for ported
 * numbers. Resolves after the first full synchronisation with a stop function.
 * @param onError receives the error of a failed poll; the next one catches up
 */
export const syncNumbers = async ({ db, changes, clock, simulator }: Deps, onError: (error: unknown) => void) => {
  let since = new Date(0)
  const queue = makeSerialQueue()
  let waiting: Promise<void> | null = null

  const sendChanged = async () => {
    waiting = null
    const next = new Date(clock.now() - provisionOverlapMs)
    let after = ''
    for (;;) {
      const lines = await store.changedNumbers(db, since, after, numbersPerProvision)
      const last = lines.at(-1)
      if (!last) break
      await simulator.provision(lines)
      after = last.number
    }
    since = next
  }

  const sync = (): Promise<void> => {
    waiting ??= queue(sendChanged).catch(onError)
    return waiting
  }
  changes.on('numbers', () => void sync())
  changes.on('purchases', () => void sync())
  await sync()
  return tick(provisionPollMs, sync, onError)
}
