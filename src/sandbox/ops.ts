import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import { tick } from '../jobs/tick.ts'
import type { Clock } from '../lib/clock.ts'
import type { Simulator } from './simulator.ts'
import * as store from './store.ts'

/** Seconds that the platform's clock is ahead of the real one. */
export const readOffset = async (db: Db): Promise<number> => (await store.offset(db)).offset_seconds

type Watched = { db: Db; changes: Changes; clock: Clock; simulator: Simulator }

/** How far back a look goes beyond the last one: transactions that were open then may have ended since. */
const overlapMs = 60_000

/** A number that another process bought is told of by then. */
const everyMs = 5_000

/**
 * Keeps the sandbox's network told of the platform's numbers, as a carrier is when a number is ported: what one of them sends
 * to another comes back in. Resolves once it knows all that there are, with what ends it.
 * @param onError hears of a look that failed; the next one makes up for it
 */
export const tellLines = async ({ db, changes, clock, simulator }: Watched, onError: (error: unknown) => void) => {
  let since = new Date(0)
  let turn = Promise.resolve()
  let waiting = false

  const tell = async () => {
    waiting = false
    const next = new Date(clock.now() - overlapMs)
    let after = ''
    for (;;) {
      const lines = await store.lines(db, since, after)
      if (lines.length > 0) await simulator.provision(lines)
      after = lines.at(-1)?.number ?? ''
      if (lines.length < 1_000) break
    }
    since = next
  }

  const look = (): Promise<void> => {
    if (!waiting) {
      waiting = true
      turn = turn.then(tell).catch(onError)
    }
    return turn
  }
  changes.on('numbers', () => void look())
  changes.on('purchases', () => void look())
  await look()
  return tick(everyMs, look, onError)
}
