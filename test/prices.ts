import assert from 'node:assert/strict'
import { micros } from '../src/platform/lib/money.ts'
import { until } from './platform.ts'
import type { World } from './world.ts'

type Price = {
  readonly kind: 'sms_in' | 'sms_out' | 'call_in' | 'call_out' | 'mms_out'
  readonly prefix: string
  readonly price: string
}

/** The price to a number by the table, as `Prices.of` finds it in memory. */
const storedPrice = async ({ db }: World['parts'], kind: Price['kind'], number: string) =>
  (
    await db.maybe<{ price: string }>`
      select price from prices
      where kind = ${kind} and starts_with(${number.slice(1)}, prefix) and effective_at <= app_now()
      order by length(prefix) desc, effective_at desc limit 1`
  )?.price ?? null

/** Sets prices, and waits until the process has loaded them: it reads them a moment after the answer. */
export const putPrices = async ({ call, parts }: Pick<World, 'call' | 'parts'>, prices: readonly Price[]) => {
  const { status, body } = await call('operator', 'PUT', '/operator/prices', { prices })
  assert.ok(status < 300, JSON.stringify(body))
  for (const { kind, prefix } of prices) {
    // A longer prefix or a later price may be there, which applies in place of the new one.
    const number = `+${prefix}0`
    const isLoaded = async () =>
      parts.prices.of(kind, number) === micros((await storedPrice(parts, kind, number)) ?? '')
    await until(isLoaded, 60, 1)
  }
}
