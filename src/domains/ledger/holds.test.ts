import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { Problem } from '../../platform/http/problem.ts'
import { publishLowBalances } from './jobs.ts'
import { assertBalance, capture, charge, deposit, extend, hold, refund, release, staleHolds } from './ops.ts'

const { call, db, tenant } = await makeWorld()

const call1 = { kind: 'call', reference: 'CDR1', limitedKeys: null } as const
const dollar = 1_000_000
const isTooMuch = (error: unknown) => error instanceof Problem && error.status === 402

const ledger = async ({ uuid }: Tenant, query = '') =>
  (await call('operator', 'GET', `/operator/accounts/${uuid}/ledger${query}`)).body

test('held money cannot be spent; a capture pays the used amount and releases the rest, once', async () => {
  const ada = await tenant({ balance: '10' })
  const id = await db.begin((tx) => hold(tx, ada.id, 6 * dollar, 'calls', call1))
  await assert.rejects(
    db.begin((tx) => charge(tx, ada.id, 5 * dollar, 'sms', { kind: 'sms', limitedKeys: null })),
    isTooMuch,
  )
  assert.equal(await db.begin((tx) => extend(tx, ada.id, id, dollar)), true)
  const before = await ledger(ada)
  assert.deepEqual([before.balance, before.held], ['3.00', '7.00'])
  assert.equal((await call(ada, 'GET', '/open/info')).body.balance.amount, '3.00')

  const ends = await Promise.all([2, 3].map((n) => db.begin((tx) => capture(tx, ada.id, id, n * dollar))))
  assert.deepEqual(ends.sort(), [false, true])
  const after = await ledger(ada)
  const paid = ends[0] === ends[1] ? 0 : after.transfers.find((one: { kind: string }) => one.kind === 'call').amount
  assert.equal(Number(after.balance) + Number(paid), 10)
  assert.equal(after.held, '0.00')
  assert.deepEqual(
    after.transfers.map((one: { kind: string; debit: string; credit: string; reference?: string }) => [
      one.kind,
      one.debit,
      one.credit,
      one.reference,
    ]),
    [
      ['release', 'held', 'balance', 'CDR1'],
      ['call', 'held', 'calls', 'CDR1'],
      ['hold', 'balance', 'held', 'CDR1'],
      ['hold', 'balance', 'held', 'CDR1'],
      ['credit', 'cash', 'balance', undefined],
    ],
  )
  assert.equal(await db.begin((tx) => extend(tx, ada.id, id, dollar)), false)
  assert.equal(await db.begin((tx) => release(tx, ada.id, id)), false)
})

test('an extension that the balance does not cover leaves the hold unchanged, also if the error is caught', async () => {
  const ada = await tenant({ balance: '2' })
  const id = await db.begin((tx) => hold(tx, ada.id, dollar, 'calls', call1))
  await db.begin(async (tx) => {
    await assert.rejects(extend(tx, ada.id, id, 2 * dollar), isTooMuch)
  })
  assert.deepEqual([(await ledger(ada)).balance, (await ledger(ada)).held], ['1.00', '1.00'])
  await assert.rejects(
    db.begin((tx) => capture(tx, ada.id, id, 2 * dollar)),
    /has 1\.000000, not 2\.00/,
  )
  assert.equal(await db.begin((tx) => release(tx, ada.id, id)), true)
  assert.deepEqual([(await ledger(ada)).balance, (await ledger(ada)).held], ['2.00', '0.00'])
})

test('a hold and a charge of zero succeed and make no transfer', async () => {
  const ada = await tenant({ balance: '0' })
  const id = await db.begin((tx) => hold(tx, ada.id, 0, 'calls', call1))
  assert.equal(await db.begin((tx) => extend(tx, ada.id, id, 0)), true)
  assert.equal(await db.begin((tx) => capture(tx, ada.id, id, 0)), true)
  assert.deepEqual((await ledger(ada)).transfers, [])
})

test('the smallest amount is held, paid and refunded like any other, and a refund of zero makes no transfer', async () => {
  const ada = await tenant({ balance: '1' })
  const kinds = async () =>
    (
      await db.many<{ kind: string; amount: string }>`
        select kind, amount from transfers where account_id = ${ada.id} and kind <> 'credit' order by created_at, id`
    ).map(({ kind, amount }) => `${kind} ${amount}`)
  const one = await db.begin((tx) => hold(tx, ada.id, 1, 'calls', call1))
  assert.deepEqual(await kinds(), ['hold 0.000001'])
  assert.equal(await db.begin((tx) => release(tx, ada.id, one)), true)
  assert.deepEqual((await kinds()).slice(1), ['release 0.000001'])
  const two = await db.begin((tx) => hold(tx, ada.id, 2, 'calls', call1))
  assert.equal(await db.begin((tx) => capture(tx, ada.id, two, 1)), true)
  assert.deepEqual((await kinds()).slice(3).toSorted(), ['call 0.000001', 'release 0.000001'])
  const before = (await kinds()).length
  await db.begin((tx) => refund(tx, ada.id, 0, 'calls', { ...call1, adjusts: null }))
  assert.equal((await kinds()).length, before)
})

test('a balance covers an equal amount and nothing more', async () => {
  const ada = await tenant({ balance: '2' })
  await assertBalance(db, ada.id, 2 * dollar)
  await assert.rejects(assertBalance(db, ada.id, 2 * dollar + 1), isTooMuch)
  await db.begin((tx) => charge(tx, ada.id, 2 * dollar, 'sms', { kind: 'sms', limitedKeys: null }))
  await assert.rejects(
    db.begin((tx) => charge(tx, ada.id, 1, 'sms', { kind: 'sms', limitedKeys: null })),
    isTooMuch,
  )
  assert.equal((await ledger(ada)).balance, '0.00')
})

test('a page with all rows has no next_cursor', async () => {
  const ada = await tenant()
  for (let n = 0; n < 2; n++) await db.begin((tx) => hold(tx, ada.id, dollar, 'calls', call1))
  const page = async (list: string, size: number) =>
    (await call('operator', 'GET', `/operator/accounts/${ada.uuid}/${list}?results_per_page=${size}`)).body
  assert.equal((await page('holds', 2)).next_cursor, undefined)
  assert.equal(typeof (await page('holds', 1)).next_cursor, 'string')
  assert.equal((await page('ledger', 3)).next_cursor, undefined)
  assert.equal(typeof (await page('ledger', 2)).next_cursor, 'string')
})

test('a hold of another account is treated as missing', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const id = await db.begin((tx) => hold(tx, ada.id, dollar, 'calls', call1))
  assert.equal(await db.begin((tx) => extend(tx, bob.id, id, dollar)), false)
  assert.equal(await db.begin((tx) => capture(tx, bob.id, id, dollar)), false)
  assert.equal((await ledger(bob)).balance, '100.00')
})

test('open holds are listed page by page, and abandoned ones are found by their age', async () => {
  const ada = await tenant()
  const began = new Date()
  for (const n of [1, 2, 3]) {
    await db.begin((tx) =>
      hold(tx, ada.id, n * dollar, 'calls', { kind: 'call', reference: `CDR${n}`, limitedKeys: null }),
    )
  }
  const path = `/operator/accounts/${ada.uuid}/holds?results_per_page=2`
  const first = (await call('operator', 'GET', path)).body
  const second = (await call('operator', 'GET', `${path}&cursor=${first.next_cursor}`)).body
  const shown = [...first.holds, ...second.holds].map(({ reference, amount }) => [reference, amount])
  assert.deepEqual([first.held, first.count, second.count, second.next_cursor], ['6.00', 2, 1, undefined])
  assert.deepEqual(shown, [
    ['CDR1', '1.00'],
    ['CDR2', '2.00'],
    ['CDR3', '3.00'],
  ])
  const stale = async (before: Date) =>
    (await staleHolds(db, 'calls', before)).filter(({ account }) => account === ada.id)
  assert.deepEqual(await stale(began), [])
  const left = await stale(new Date(Date.now() + 60_000))
  assert.deepEqual(
    left.map(({ reference, amount }) => [reference, amount]),
    [
      ['CDR1', dollar],
      ['CDR2', 2 * dollar],
      ['CDR3', 3 * dollar],
    ],
  )
})

test('the ledger is filtered by kind and time', async () => {
  const ada = await tenant()
  await db.begin((tx) => charge(tx, ada.id, dollar, 'sms', { kind: 'sms', reference: 'SMO1', limitedKeys: null }))
  const kinds = async (query: string) =>
    (await ledger(ada, query)).transfers.map(({ kind }: { kind: string }) => kind) as string[]
  assert.deepEqual(await kinds('?kind=sms'), ['sms'])
  assert.deepEqual(await kinds('?kind=call'), [])
  assert.deepEqual(await kinds('?since=2020-01-01T00:00:00Z&until=2099-01-01T00:00:00Z'), ['sms', 'credit'])
  assert.deepEqual(await kinds('?since=2099-01-01T00:00:00.5Z'), [])
  assert.deepEqual(await kinds('?until=2020-01-01T00:00:00%2B02:00'), [])
  const refused = await call('operator', 'GET', `/operator/accounts/${ada.uuid}/ledger?since=yesterday`)
  assert.deepEqual([refused.status, /since/.test(refused.body.error_message)], [400, true])
})

test('balance.low is published once each time the balance falls below its limit', async () => {
  const ada = await tenant({ balance: '0' })
  const look = () => db.begin((tx) => publishLowBalances(tx, new Date()))
  const events = () => db.many<{ payload: { balance: string; low_balance: string } }>`
    select payload from events where account_id = ${ada.id} and name = 'balance.low' order by id`
  const spend = (amount: number) =>
    db.begin((tx) => charge(tx, ada.id, amount, 'sms', { kind: 'sms', limitedKeys: null }))
  const add = (amount: number) => db.begin((tx) => deposit(tx, ada.id, amount, { kind: 'credit' }))
  await look()
  assert.deepEqual(await events(), [], 'a new account was never above')
  await add(10 * dollar)
  await look()
  await spend(5 * dollar)
  await look()
  assert.deepEqual(await events(), [], 'the limit itself is not below it')
  await spend(1)
  await look()
  await spend(dollar)
  await look()
  const [event, ...more] = await events()
  assert.deepEqual([event?.payload.balance, event?.payload.low_balance, more.length], ['4.999999', '5.00', 0])
  await add(10 * dollar)
  await look()
  const path = `/operator/accounts/${ada.uuid}`
  assert.equal((await call('operator', 'PATCH', path, { low_balance: '12.50' })).body.account.low_balance, '12.50')
  await look()
  await spend(2 * dollar)
  await look()
  assert.equal((await events()).length, 2)
  assert.equal((await call('operator', 'PATCH', path, { low_balance: null })).body.account.low_balance, undefined)
  await add(100 * dollar)
  await look()
  await spend(110 * dollar)
  await look()
  assert.equal((await events()).length, 2)
  assert.equal((await call('operator', 'PATCH', path, { low_balance: '0' })).status, 400)
})
