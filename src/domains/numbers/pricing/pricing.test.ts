import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Answer, makeWorld } from '../../../../test/world.ts'
import { loadCatalogue, stockSandbox } from '../catalogue/load-catalogue.ts'
import { renew } from '../lifecycle/renewal.ts'

const world = await makeWorld()
const { db, call } = world
before(async () => {
  await loadCatalogue(db)
  await db.begin(stockSandbox)
})
after(() => world.end())

const set = (...prices: object[]) => call('operator', 'PUT', '/operator/numbers/prices', { prices })
const importing = async (csv: string): Promise<Pick<Answer, 'status' | 'body'>> => {
  const headers = { 'x-operator-key': world.operatorKey, 'content-type': 'text/csv' }
  const answer = await world.app.inject({
    method: 'POST',
    url: '/operator/numbers/prices/import',
    headers,
    payload: csv,
  })
  return { status: answer.statusCode, body: answer.json() }
}
type Group = { id: string; prefix: string; price: { monthly_price: string; setup_price: string; ppm: string } }
const groups = async (query: string): Promise<Group[]> => {
  const ada = await world.tenant()
  return (await call(ada, 'GET', `/open/numbers/groups?${query}`)).body.data.groups
}
const monthly = async (query: string) => [...new Set((await groups(query)).map(({ price }) => price.monthly_price))]

test('the price of a group overrides that of a prefix, and a longer prefix overrides a shorter one', async () => {
  const before = await monthly('country=FR&did_type=local')
  assert.equal(before.length, 1)
  assert.equal((await set({ country: 'FR', type: 'local', monthly_price: '3' })).status, 200)
  assert.deepEqual(await monthly('country=FR&did_type=local'), ['3.00'])
  assert.notDeepEqual(await monthly('country=FR&did_type=mobile'), ['3.00'])
  const [paris] = await groups('country=FR&city_name_or_prefix=1')
  const done = await importing(
    `country,type,prefix,group_id,setup_price,monthly_price,price_per_minute\nfr,local,2,,0,4,\nFR,local,24,,0,5,\nFR,local,,${paris?.id},9,7.5,0.02\n`,
  )
  assert.deepEqual([done.status, done.body.count], [201, 3], JSON.stringify(done.body))
  assert.deepEqual(await monthly('country=FR&did_type=local&city_name_or_prefix=235'), ['4.00'])
  assert.deepEqual(await monthly('country=FR&did_type=local&city_name_or_prefix=240'), ['5.00'])
  assert.deepEqual(await monthly('country=FR&did_type=local&city_name_or_prefix=388'), ['3.00'])
  assert.deepEqual((await groups('country=FR&city_name_or_prefix=1'))[0]?.price, {
    setup_price: '9.00',
    monthly_price: '7.50',
    ppm: '0.02',
  })
  const { prices } = (await call('operator', 'GET', '/operator/numbers/prices')).body
  assert.equal(prices.filter(({ country }: { country: string }) => country === 'FR').length, 4)
})

test('a price applies from its date; earlier purchases keep their price', async () => {
  const ada = await world.tenant({ balance: '1000' })
  const day = new Date(Date.now() + 86_400_000).toISOString()
  await set(
    { country: 'NL', type: 'mobile', setup_price: '1', monthly_price: '2' },
    { country: 'NL', type: 'mobile', monthly_price: '20', price_per_minute: '0.5', effective_at: day },
  )
  const [group] = await groups('country=NL&did_type=mobile')
  assert.equal(group?.price.monthly_price, '2.00')
  const reserved = await call(ada, 'POST', '/open/numbers/reservations', { group_id: group?.id })
  const [reservation] = (await call(ada, 'GET', '/open/numbers/reservations')).body.data.reservations
  assert.equal(reservation.monthly_price, 2)
  await call(ada, 'DELETE', `/open/numbers/reservations/${reserved.body.data.reservation_details.uuid}`)
  const balance = async () =>
    Number((await call('operator', 'GET', `/operator/accounts/${ada.uuid}`)).body.account.balance)
  const { uuid } = (await call(ada, 'POST', '/open/numbers/purchase', { group_id: group?.id })).body.data.numbers[0]
  assert.equal(await balance(), 997)
  await db.run`update clock set offset_seconds = offset_seconds + 86400 + 60`
  assert.equal((await groups('country=NL&did_type=mobile'))[0]?.price.monthly_price, '20.00')
  const dear = await call(ada, 'POST', '/open/numbers/purchase', { group_id: group?.id })
  assert.equal(dear.body.data.numbers[0].incoming_price_per_minute, 0.5)
  assert.equal(await balance(), 977)
  await db.run`update clock set offset_seconds = offset_seconds + 31 * 86400`
  await db.begin((tx) => renew(tx, world.parts.changes, { account: ada.id, id: uuid.slice(3) }, 30))
  assert.equal(await balance(), 975)
})

test('a duplicate price is refused with both positions, and nothing is set', async () => {
  const before = (await call('operator', 'GET', '/operator/numbers/prices')).body.prices
  const file = await importing('country,type,prefix,monthly_price\nGB,local,20,1\nGB,local,21,1\n\ngb,local,20,2\n')
  assert.equal(file.status, 422)
  assert.match(file.body.error_message, /^Nothing was imported: line 5: the price of GB local 20 .* \(first line 2\)/)
  const good = { country: 'GB', type: 'local', monthly_price: '1' }
  const list = await set(good, { ...good, prefix: '20' }, { ...good, monthly_price: '3' })
  assert.equal(list.status, 400)
  assert.match(list.body.error_message, /^prices\.2: the price of GB local all .* \(first prices\.0\)/)
  assert.deepEqual((await call('operator', 'GET', '/operator/numbers/prices')).body.prices, before)
})

test('a duplicate list price is refused with both positions', async () => {
  const headers = { 'x-operator-key': world.operatorKey, 'content-type': 'text/csv' }
  const payload = 'kind,prefix,price\nsms_out,44,0.04\n\nsms_out,33,0.04\nsms_out,44,0.05\n'
  const url = '/operator/prices/import'
  const file = await world.app.inject({ method: 'POST', url, headers, payload })
  assert.equal(file.statusCode, 422)
  assert.match(file.json().error_message, /line 5: the price of sms_out to 44 .* \(first line 2\)/)
  const price = { kind: 'sms_out', prefix: '44', price: '0.04' }
  const list = await call('operator', 'PUT', '/operator/prices', { prices: [price, { ...price, price: '0.05' }] })
  assert.equal(list.status, 400)
  assert.match(list.body.error_message, /^prices\.1: .* \(first prices\.0\)/)
})

test('bad prices are reported by position, and none of the others is set', async () => {
  const before = (await call('operator', 'GET', '/operator/numbers/prices')).body.prices
  const good = { country: 'GB', type: 'local', monthly_price: '1' }
  for (const [odd, message] of [
    [{ country: 'ZZ', type: 'local', monthly_price: '1' }, /prices\.1\.country: ZZ is not one/],
    [{ ...good, group_id: 'GB-mobile-74-united-kingdom' }, /prices\.1\.group_id: there is no group/],
    [{ ...good, prefix: '20', group_id: 'GB-local-20-london' }, /prices\.1: prefix and group_id exclude/],
    [{ ...good, monthly_price: '-1' }, /prices\.1\.monthly_price must match/],
  ] as const) {
    const { status, body } = await set(good, odd)
    assert.equal(status, 400)
    assert.match(body.error_message, message)
  }
  const { status, body } = await importing(
    'country,type,monthly_price,effective_at\nGB,local,1,\nGB,landline,1,\n\nGB,local,1.x,\nGB,local,1,soon\n',
  )
  assert.equal(status, 422)
  assert.match(
    body.error_message,
    /^Nothing was imported: line 3: type .*; line 5: monthly_price .*; line 6: effective_at/,
  )
  assert.match(
    (await importing('country,type,monthly_price\nZZ,local,1\n')).body.error_message,
    /line 2: ZZ is not one/,
  )
  assert.match((await importing('country,typ,monthly_price\nGB,local,1\n')).body.error_message, /no column "typ"/)
  assert.match((await importing('country,type\n')).body.error_message, /no lines/)
  assert.deepEqual((await call('operator', 'GET', '/operator/numbers/prices')).body.prices, before)
})
