import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { makeWorld } from '../../../test/world.ts'

const { call, db, parts, tenant } = await makeWorld()
const who = await tenant()
const estimate = (number: string) => call(who, 'GET', `/open/voip/estimated-call-price/${number}`)

test('a call is estimated by the longest prefix whose price is in force', async () => {
  const prices = [
    { kind: 'call_out', prefix: '44', price: '0.01' },
    { kind: 'call_out', prefix: '447', price: '0.025' },
    { kind: 'call_out', prefix: '4479', price: '9', effective_at: '2099-01-01T00:00:00Z' },
    { kind: 'sms_out', prefix: '', price: '0.5' },
    { kind: 'call_in', prefix: '49', price: '0.3' },
  ]
  await call('operator', 'PUT', '/operator/prices', { prices })
  await until(async () => parts.prices.of('call_out', '+441632960000') !== null)
  const expected = { success: true, currency: 'USD', iso_country_code: 'GB' }
  assert.deepEqual((await estimate('+441632960001')).body, { ...expected, price_per_minute: 0.01 })
  assert.deepEqual((await estimate('447700900123')).body, { ...expected, price_per_minute: 0.025 }, 'digits alone do')
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at)
    values (${who.id}, gen_random_uuid(), '+447700900124', 'x', 'GB', '', 'mobile', 'x', 0, 0, 'ACTIVE', 'infinity')`
  assert.deepEqual(
    (await estimate('+447700900124')).body,
    { ...expected, price_per_minute: 0 },
    'it stays on the platform',
  )
  const none = await estimate('+4915112345678')
  assert.deepEqual([none.status, none.body.error_code], [422, 'destination_not_priced'])
  const odd = await estimate('12')
  assert.deepEqual([odd.status, odd.body.error_code], [422, 'invalid_phone_number'])
})
