import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beginCall, callAnswered, callEnded } from '../src/domains/calls/ops.ts'
import { renew } from '../src/domains/numbers/lifecycle/renewal.ts'
import { acceptBatches } from '../src/domains/sms/accept/accepted-batch-store.ts'
import { contact, giveNumber, makeSmsWorld, startSmsc } from '../src/domains/sms/sms-testing.ts'
import { foldUsage } from '../src/domains/usage/jobs.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { decimal, micros } from '../src/platform/lib/money.ts'
import { until } from './platform.ts'
import type { Tenant } from './world.ts'

// The worker of this world counts no usage: the tests decide when it is counted.
const world = await makeSmsWorld()
const { call, db, tenant } = world
const smsc = await startSmsc()
await world.connect('usage', smsc)

type Point = [time: string, n: number, units: number, amount: string]
type Report = {
  series: { by: string; points: Point[] }[]
  total: { n: number; units: number; amount: string }
  adjustments: { kind: string; n: number; amount: string }[]
}

const dimensions = ['kind', 'country', 'channel', 'status', 'direction']
const read = async (who: Tenant, query = ''): Promise<Report> => {
  const { status, body } = await call(who, 'GET', `/open/usage?${query}`)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}
const readAll = (who: Tenant) => Promise.all(dimensions.map((by) => read(who, `by=${by}`)))
const fold = () => db.begin(foldUsage)
const sum = (amounts: readonly string[]) => amounts.reduce((total, one) => total + (micros(one) ?? Number.NaN), 0)
const costOf = ({ series }: Report) => sum(series.flatMap(({ points }) => points.map(([, , , amount]) => amount)))
const seriesOf = ({ series }: Report) =>
  Object.fromEntries(
    series.map(({ by, points }) => [by, points.map(([, n, units, amount]) => `${n} ${units} ${amount}`).join(', ')]),
  )

/** Compares reports with the ledger: each way of splitting has the same sum, and the sums explain the balance. */
const assertAddsUp = async (who: Tenant, reports: readonly Report[]) => {
  const { balance, held, transfers } = (await call(who, 'GET', '/open/ledger?results_per_page=200')).body
  const changes = sum(transfers.map(({ change }: { change: string }) => change))
  assert.equal(decimal(changes), balance, 'the ledger’s changes are the balance')
  for (const report of reports) {
    assert.equal(decimal(costOf(report)), report.total.amount)
    const paid = sum(report.adjustments.map(({ amount }) => amount))
    assert.equal(decimal(paid - (micros(report.total.amount) ?? 0)), decimal(sum([balance, held])))
  }
}

const send = async (who: Tenant, from: string, text: string, more = {}): Promise<string> =>
  (await world.send(who, from, text, more)).body.message_uuid

const makeCall = async (who: Tenant, did: string, end = true) => {
  const id = uuid()
  await db.begin((tx) =>
    beginCall(tx, {
      ...{ account_id: who.id, id, callid: id, direction: 'O' as const, user_id: null, from_number: null },
      ...{ to_number: '+33612345678', iso_country_code: 'FR', is_msgapp: false, is_trunk: true, caller_id: null },
      ...{ caller_id_used: '+441632960000', virtual_number_id: did, toll_free: false, rate: '0.333333' },
    }),
  )
  await db.begin((tx) => callAnswered(tx, who.id, id, null))
  if (end) await db.begin((tx) => callEnded(tx, who.id, id, { status: 'COMPLETED', reason: '200', agoMs: 0 }))
}

let groups = 0
const buyNumber = async (who: Tenant) => {
  const [group, number] = [`usage-${++groups}`, `+44163299${1000 + groups}`]
  await db.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
      allow_number_selection, is_eligible_for_free_number, supplier)
    values (${group}, 'GB', 'local', '1632', 'Nowhere', 'nowhere', 1, 1.5, 0, true, false, 'test')`
  await db.run`insert into numbers (number, group_id, shuffle) values (${number}, ${group}, 1)`
  await db.run`insert into number_stock (group_id, free) values (${group}, 1)`
  const { body } = await call(who, 'POST', '/open/numbers/purchase', { number })
  return String(body.data.numbers[0].uuid).slice(3)
}

/** An account that did everything that costs money: each kind of transfer, and money that is still held. */
const makeBusyAccount = async () => {
  const who = await tenant({ balance: '50' })
  const { number, channel, did } = await giveNumber(world, who)
  const prices = [{ kind: 'sms_in', prefix: number.slice(1), price: '0.000001' }]
  await call('operator', 'PUT', '/operator/prices', { prices })
  await until(async () => world.parts.prices.of('sms_in', number) === 1)
  smsc.react = ({ text }) => (text === 'bad' ? 11 : 'take')
  const sent = [await send(who, number, 'one'), await send(who, number, 'x'.repeat(200), { to: '+33612345678' })]
  const bad = await send(who, number, 'bad')
  const later = await send(who, number, 'later', { send_at: new Date(Date.now() + 7_200_000).toISOString() })
  assert.equal((await call(who, 'DELETE', `/open/sms/message/${later}`)).status, 200)
  for (const one of sent) await world.waitForStatus(who, one, 'sent')
  await world.waitForStatus(who, bad, 'failed')
  await smsc.sendInbound(contact, number, 'hello')
  await until(async () => (await call(who, 'GET', '/open/sms/messages?direction=inbound')).body.count === 1)
  await makeCall(who, did)
  await makeCall(who, did, false)
  const bought = await buyNumber(who)
  await db.run`update virtual_numbers set expires_at = app_now() where account_id = ${who.id} and id = ${bought}`
  await db.begin((tx) => renew(tx, world.parts.changes, { account: who.id, id: bought }, 30))
  const operate = (path: string, body: object) =>
    call('operator', 'POST', `/operator/accounts/${who.uuid}/${path}`, body)
  assert.equal((await operate('debit', { amount: '1.000001', reason: 'r' })).status, 201)
  assert.equal((await operate('corrections', { amount: '-0.5', reason: 'r' })).status, 201)
  assert.equal((await operate('credit', { amount: '3' })).status, 201)
  return { who, channel, did, bought }
}

test('usage adds up to the ledger to the last micro-dollar, counted or not', async () => {
  const { who, channel, did, bought } = await makeBusyAccount()
  const before = await readAll(who)
  await assertAddsUp(who, before)
  const [byKind, byCountry, byChannel, byStatus, byDirection] = before.map(seriesOf)
  assert.deepEqual(byKind, {
    number_purchase: '1 1 2.50',
    number_month: '1 1 1.50',
    call: '1 60 0.333333',
    sms: '4 5 0.22',
    sms_in: '1 1 0.000001',
    sms_refund: '2 2 -0.08',
  })
  assert.deepEqual(byCountry, { GB: '2 2 4.00', FR: '2 62 0.433333', GG: '4 4 0.040001' })
  assert.deepEqual(byChannel, {
    [`DID${bought}`]: '2 2 4.00',
    [`DID${did}`]: '1 60 0.333333',
    [channel]: '5 6 0.140001',
  })
  assert.deepEqual(byStatus, { charged: '8 68 4.553334', refunded: '2 2 -0.08' })
  assert.deepEqual(byDirection, {
    none: '2 2 4.00',
    outbound: '5 65 0.473333',
    inbound: '1 1 0.000001',
  })
  assert.deepEqual(before[0]?.total, { n: 8, units: 68, amount: '4.473334' })
  assert.deepEqual(
    new Map(before[0]?.adjustments.map(({ kind, n, amount }) => [kind, `${n} ${amount}`])),
    new Map([
      ['credit', '2 53.00'],
      ['debit', '1 -1.000001'],
      ['correction', '1 -0.50'],
    ]),
  )

  await fold()
  assert.deepEqual(await readAll(who), before, 'counting changes nothing')
  const { left } = await db.one<{ left: number }>`select count(*)::integer as left from usage_pending`
  assert.equal(left, 0)
  const { noted } = await db.one<{ noted: number }>`select usage_rebuild(${who.id}) as noted`
  assert.ok(noted > 10)
  assert.deepEqual(await readAll(who), before, 'counting again changes nothing')
  await fold()
  assert.deepEqual(await readAll(who), before)

  // Amounts do not depend on the records of what was paid for.
  await db.run`update sms_messages set price = 0.01 where account_id = ${who.id} and contact = ${contact}`
  await db.run`delete from sms_messages where account_id = ${who.id} and contact <> ${contact}`
  await db.one`select usage_rebuild(${who.id})`
  const without = await readAll(who)
  await assertAddsUp(who, without)
  assert.equal(without[0]?.total.amount, before[0]?.total.amount)
  await fold()
  assert.deepEqual(await readAll(who), without)
})

test('the messages of one batch count for the country of each', async () => {
  const who = await tenant({ balance: '50' })
  const { number, channel } = await giveNumber(world, who)
  const transfer = uuid()
  const message = (to: string, fragments = 1) => ({
    ...{ account: who.id, id: uuid(), channel: channel.slice(3), number, contact: to, text: 'x' },
    ...{ fragments, price: fragments * 40_000, transfer, sendAt: null, decision: uuid() },
    ...{ encoding: 'gsm7' as const, long: 'udh8' as const },
  })
  const messages = [
    message('+33612345678'),
    message('+447400123456'),
    message('+33612345679'),
    message('+33612345678', 3),
    message('+12025550123', 3),
  ]
  const batch = { id: uuid(), account: who.id, messages, isLeased: false }
  assert.deepEqual(await acceptBatches(db, [batch], null, true), ['queued'])
  const before = await readAll(who)
  assert.deepEqual(seriesOf(before[1] ?? assert.fail()), { FR: '3 5 0.20', US: '1 3 0.12', GB: '1 1 0.04' })
  await assertAddsUp(who, before)
  await fold()
  assert.deepEqual(await readAll(who), before)
})

test('a transfer counts once, however late it commits and whenever the worker dies', async () => {
  const who = await tenant({ balance: '10' })
  const { number } = await giveNumber(world, who)
  const charge = async (commit: () => Promise<void>) =>
    db.begin(async (tx) => {
      await tx.run`
        insert into transfers (account_id, id, debit, credit, amount, kind, reference)
        values (${who.id}, ${uuid()}, 'balance', 'numbers', 1, 'number_month', ${number})`
      await commit()
    })
  const cost = async () => (await read(who)).total.amount
  let letGo = () => {}
  const late = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const begun = charge(() => late)
  await charge(async () => {})
  await fold()
  assert.equal(await cost(), '1.00')
  await assert.rejects(
    db.begin(async (tx) => {
      await charge(async () => {})
      await foldUsage(tx)
      throw new Error('killed')
    }),
  )
  assert.equal(await cost(), '2.00')
  letGo()
  await begun
  assert.equal(await cost(), '3.00')
  await Promise.all([fold(), fold(), fold()])
  assert.equal(await cost(), '3.00')
})

test('days are those of UTC, and weeks and months begin with their first day', async () => {
  const who = await tenant({ balance: '10' })
  for (const at of ['2031-03-30T23:59:59.999999Z', '2031-03-31T00:00:00Z', '2031-04-06T12:00:00Z'])
    await db.run`
      insert into transfers (account_id, id, debit, credit, amount, kind, created_at)
      values (${who.id}, ${uuid()}, 'balance', 'numbers', 0.5, 'number_month', ${at})`
  const points = async (query: string) =>
    (await read(who, query)).series.flatMap((one) => one.points.map(([time, n]) => `${time.slice(0, 10)} ${n}`))
  const whole = 'since=2031-03-01T00:00:00Z&until=2031-05-01T00:00:00Z'
  for (const count of [async () => {}, fold]) {
    await count()
    assert.deepEqual(await points(whole), ['2031-03-30 1', '2031-03-31 1', '2031-04-06 1'])
    assert.deepEqual(await points(`${whole}&step=week`), ['2031-03-24 1', '2031-03-31 2'])
    assert.deepEqual(await points(`${whole}&step=month`), ['2031-03-01 2', '2031-04-01 1'])
    assert.deepEqual(await points('since=2031-03-31T18:00:00Z&until=2031-04-06T00:00:00Z'), ['2031-03-31 1'])
  }
})

test('a report is refused for a wrong period, and shows amounts to keys with the scope money only', async () => {
  const who = await tenant({ balance: '10' })
  const refused = async (query: string) => {
    const { status, body } = await call(who, 'GET', `/open/usage?${query}`)
    return [status, body.field]
  }
  assert.deepEqual(await refused('since=2031-01-02T00:00:00Z&until=2031-01-02T00:00:00Z'), [400, '/query/since'])
  assert.deepEqual(await refused('since=2029-01-02T00:00:00Z&until=2031-01-02T00:00:00Z'), [400, '/query/since'])
  assert.deepEqual(await refused('by=colour'), [400, '/query/by'])
  await makeCall(who, uuid())
  const { key } = (await call(who, 'POST', '/open/keys', { label: 'reader', scopes: ['read_only'] })).body
  const report = await read({ ...who, key })
  assert.deepEqual([report.total, report.adjustments], [{ n: 1, units: 60 }, undefined])
  assert.deepEqual(
    report.series.map(({ points }) => points.map((point) => point.slice(1))),
    [[[1, 60]]],
  )
  assert.equal((await call({ ...who, key }, 'GET', '/open/ledger')).body.error_code, 'scope_missing')
})

test('end', async () => {
  await world.stop()
  smsc.close()
})
