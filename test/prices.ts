import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { micros } from '../src/platform/lib/money.ts'
import type { World } from './world.ts'

type Price = {
  readonly kind: 'sms_in' | 'sms_out' | 'call_in' | 'call_out'
  readonly prefix: string
  readonly price: string
}

/** Sets prices, and waits until the process has loaded them: it reads them a moment after the answer. */
export const putPrices = async ({ call, parts }: Pick<World, 'call' | 'parts'>, prices: readonly Price[]) => {
  const { status, body } = await call('operator', 'PUT', '/operator/prices', { prices })
  assert.ok(status < 300, JSON.stringify(body))
  const isLoaded = ({ kind, prefix, price }: Price) => parts.prices.of(kind, `+${prefix}0`) === micros(price)
  while (!prices.every(isLoaded)) await setImmediate()
}
