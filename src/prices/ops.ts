import type { Changes } from '../db/changes.ts'
import type { Db, Tx } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { type Micros, micros } from '../lib/money.ts'
import { slicesOf } from '../lib/slices.ts'
import * as store from './store.ts'

export type Prices = {
  /** The price of a segment or a minute to an E.164 number, by the longest prefix in force; null when there is none. */
  of(kind: store.Kind, number: string): Micros | null
  /** Resolves once the list is as new as the last change that this process knows of. */
  ready(): Promise<void>
}

type Dated = { from: number; price: Micros }

/** The price list in memory: looked up in well under a microsecond, read anew when it changes. */
export const makePrices = (db: Db, changes: Changes, clock: Clock, onError: (error: unknown) => void): Prices => {
  let list = new Map<string, Dated[]>()
  let longest = 0
  let turn = 0

  const read = async () => {
    const mine = ++turn
    const next = new Map<string, Dated[]>()
    let length = 0
    for (const { kind, prefix, price, effective_at } of await store.all(db)) {
      const key = kind + prefix
      const dated = { from: effective_at.getTime(), price: micros(price) ?? 0 }
      next.set(key, [...(next.get(key) ?? []), dated])
      length = Math.max(length, prefix.length)
    }
    if (mine !== turn) return // a newer change is being read
    list = next
    longest = length
  }

  let reading = read()
  changes.on('prices', () => {
    reading = read().catch(onError)
  })

  return {
    of: (kind, number) => {
      const now = clock.now()
      for (let length = Math.min(longest, number.length - 1); length >= 0; length--) {
        const found = list.get(kind + number.slice(1, length + 1))
        const current = found?.find(({ from }) => from <= now)
        if (current) return current.price
      }
      return null
    },
    ready: () => reading,
  }
}

/** Sets prices before anything runs. */
export const listPrices = store.set

/** Prices that one statement takes: 20,000 values, which the driver writes in one turn of the event loop. */
const part = 5_000

/** Sets prices, in every process within a second. */
export const setPrices = async (tx: Tx, changes: Changes, prices: readonly store.NewPrice[]): Promise<number> => {
  let count = 0
  for (const { items } of slicesOf(prices, part)) count += await store.set(tx, items)
  await changes.announce(tx, 'prices')
  return count
}
