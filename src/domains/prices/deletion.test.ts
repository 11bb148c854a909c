import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { putPrices } from '../../../test/prices.ts'
import { makeWorld } from '../../../test/world.ts'

const { call, parts } = await makeWorld()

const set = (...prices: object[]) => call('operator', 'PUT', '/operator/prices', { prices })
const remove = (query: Record<string, string>) =>
  call('operator', 'DELETE', `/operator/prices?${new URLSearchParams(query)}`)
const dates = async (prefix: string) =>
  (await call('operator', 'GET', '/operator/prices')).body.prices
    .filter((one: { prefix: string }) => one.prefix === prefix)
    .map((one: { effective_at: string }) => one.effective_at)

test('a deleted price no longer applies, the previous one does, and the audit trail records it', async () => {
  const place = { kind: 'sms_out', prefix: '44' }
  await set(
    { ...place, price: '0.04', effective_at: '2020-01-01T00:00:00Z' },
    { ...place, price: '0.05', effective_at: '2021-01-01T00:00:00Z' },
  )
  await until(async () => parts.prices.of('sms_out', '+447700900123') === 50_000)
  const { status, body } = await remove({ ...place, effective_at: '2021-01-01T00:00:00Z' })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(body.price, { ...place, price: '0.05', effective_at: '2021-01-01T00:00:00Z' })
  await until(async () => parts.prices.of('sms_out', '+447700900123') === 40_000)
  const [act] = (await call('operator', 'GET', '/operator/audit?action=deletePrice')).body.acts
  assert.ok(
    act.changes.some((one: { field: string; before: string }) => one.field === 'price' && one.before === '0.05'),
  )
  assert.equal((await remove(place)).status, 200)
  await until(async () => parts.prices.of('sms_out', '+447700900123') === null)
})

test('one of several prices is selected by its date; without a date nothing is deleted', async () => {
  const place = { kind: 'call_out', prefix: '49' }
  await set(
    { ...place, price: '1', effective_at: '2020-01-01T00:00:00Z' },
    { ...place, price: '2', effective_at: '2999-01-01T00:00:00Z' },
  )
  const refused = await remove(place)
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'several_prices'])
  assert.equal((await remove({ ...place, effective_at: '2998-01-01T00:00:00Z' })).status, 404)
  assert.equal((await dates('49')).length, 2)
  assert.equal((await remove({ ...place, effective_at: '2999-01-01T01:00:00+01:00' })).status, 200)
  assert.deepEqual(await dates('49'), ['2020-01-01T00:00:00Z'])
})

test('a price set without a date is deleted by its listed date', async () => {
  const place = { kind: 'sms_in', prefix: '33' }
  await set({ ...place, price: '1' })
  const [effective_at] = await dates('33')
  assert.equal((await remove({ ...place, effective_at })).status, 200)
  assert.deepEqual(await dates('33'), [])
})

test('the price for every number is deleted by its kind and an empty prefix, and no other price is', async () => {
  await set({ kind: 'sms_in', prefix: '', price: '1' }, { kind: 'sms_in', prefix: '7', price: '2' })
  assert.equal((await remove({ kind: 'sms_out' })).status, 404)
  assert.equal((await remove({ kind: 'sms_in' })).body.price.prefix, '')
  assert.equal((await dates('7')).length, 1)
  assert.match((await remove({ kind: 'letter', prefix: '' })).body.error_message, /kind.*sms_out/)
})

test('setting a price in a test does not wait for it where a longer prefix hides it', async () => {
  assert.equal((await set({ kind: 'call_in', prefix: '880', price: '0.5' })).status, 200)
  await putPrices({ call, parts }, [{ kind: 'call_in', prefix: '88', price: '0.2' }])
  assert.deepEqual(
    ['+8801', '+8811'].map((number) => parts.prices.of('call_in', number)),
    [500_000, 200_000],
  )
})
