import type { InvalidationBus } from '../../platform/db/invalidation-bus.ts'
import type { Db, Tx } from '../../platform/db/sql.ts'
import { batchesOf } from '../../platform/lib/batches.ts'
import type { Clock } from '../../platform/lib/clock.ts'
import { type Micros, micros } from '../../platform/lib/money.ts'
import { makeNewestRead } from '../../platform/lib/newest-read.ts'
import { priceBatchSize } from './limits.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

export type Prices = {
  /** Returns the price of a segment or a minute to an E.164 number, by the longest matching prefix; null without
   *  one. */
  of(kind: store.Kind, number: string): Micros | null
  /** Resolves once the list includes the last change known to this process. */
  ready(): Promise<void>
}

type DatedPrice = { from: number; price: Micros }

/** In-memory price list: lookups take well under a microsecond, and changes reload the list. */
export const makePrices = (
  db: Db,
  changes: InvalidationBus,
  clock: Clock,
  onError: (error: unknown) => void,
): Prices => {
  let list = new Map<string, DatedPrice[]>()
  let longest = 0

  const read = async () => {
    const next = new Map<string, DatedPrice[]>()
    let length = 0
    for (const { kind, prefix, price, effective_at } of await store.all(db)) {
      const key = kind + prefix
      const dated = { from: effective_at.getTime(), price: micros(price) ?? 0 }
      next.set(key, [...(next.get(key) ?? []), dated])
      length = Math.max(length, prefix.length)
    }
    return { next, length }
  }

  const { reload } = makeNewestRead(read, ({ next, length }) => {
    list = next
    longest = length
  })
  let reading = reload()
  changes.on('prices', () => {
    reading = reload().catch(onError)
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

/** Sets prices at startup, before caches exist. */
export const seedPrices = store.set

/**
 * Deletes the price of a kind and prefix, in every process within a second.
 * @param at effective date, to the second; null if there is only one price
 * @throws Problem 404, 409
 */
export const deletePrice = async (
  tx: Tx,
  changes: InvalidationBus,
  { kind, prefix, at }: { kind: store.Kind; prefix: string; at: string | null },
): Promise<store.PriceRow> => {
  const place = `${kind} to ${prefix || 'every number'}`
  const [found, another] = await store.ofPrefix(tx, kind, prefix, at)
  if (!found) throw refusals.unknownPrice(place, at)
  if (another) throw refusals.severalPrices(place)
  await store.remove(tx, found)
  await changes.invalidate(tx, 'prices')
  return found
}

/** Sets prices, in every process within a second. */
export const setPrices = async (
  tx: Tx,
  changes: InvalidationBus,
  prices: readonly store.NewPrice[],
): Promise<number> => {
  let count = 0
  for (const { items } of batchesOf(prices, priceBatchSize)) count += await store.set(tx, items)
  await changes.invalidate(tx, 'prices')
  return count
}
