import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'

const { app, call, db, operatorKey, tenant } = await makeWorld()

const debit = ({ uuid }: Tenant, body: object) => call('operator', 'POST', `/operator/accounts/${uuid}/debit`, body)
const correct = ({ uuid }: Tenant, body: object) =>
  call('operator', 'POST', `/operator/accounts/${uuid}/corrections`, body)

type Row = {
  uuid: string
  kind: string
  debit: string
  credit: string
  amount: string
  reference?: string
  note?: string
  made_by?: { kind: string; uuid: string; label?: string }
}

const ledger = async ({ uuid }: Tenant, query = ''): Promise<{ balance: string; transfers: Row[] }> =>
  (await call('operator', 'GET', `/operator/accounts/${uuid}/ledger${query}`)).body

const currentKey = async () =>
  (await call('operator', 'GET', '/operator/keys')).body.keys.find(({ current }: { current: boolean }) => current).uuid

test('a debit is one transfer with its reason and its key, and one line of the audit trail', async () => {
  const ada = await tenant({ balance: '10' })
  const { status, body } = await debit(ada, { amount: '2.50', reason: 'a payment came back' })
  assert.deepEqual([status, body.balance], [201, '7.50'])
  const { balance, transfers } = await ledger(ada, '?kind=debit')
  assert.equal(balance, '7.50')
  const [row] = transfers
  assert.deepEqual(
    [row?.uuid, row?.debit, row?.credit, row?.amount, row?.note],
    [body.transfer_uuid, 'balance', 'cash', '2.50', 'a payment came back'],
  )
  assert.deepEqual(row?.made_by, { kind: 'operator', uuid: await currentKey(), label: 'test' })
  const { acts } = (await call('operator', 'GET', `/operator/audit?target=${body.transfer_uuid}`)).body
  assert.deepEqual(
    acts.map(({ action, changes }: { action: string; changes: unknown }) => [action, changes]),
    [
      [
        'debitAccount',
        [
          { field: 'balance', before: '10.00', after: '7.50' },
          { field: 'reason', before: null, after: 'a payment came back' },
        ],
      ],
    ],
  )
})

test('a debit beyond the balance is refused and changes nothing, unless allow_negative is true', async () => {
  const ada = await tenant({ balance: '10' })
  const refused = await debit(ada, { amount: '10.000001', reason: 'x' })
  assert.deepEqual([refused.status, refused.body.error_code], [402, 'insufficient_balance'])
  assert.match(refused.body.error_message, /allow_negative/)
  assert.equal((await ledger(ada)).transfers.length, 1)
  assert.equal((await debit(ada, { amount: '10', reason: 'all of it' })).body.balance, '0.00')
  assert.equal((await debit(ada, { amount: '3', reason: 'x', allow_negative: true })).body.balance, '-3.00')
  assert.equal((await call(ada, 'GET', '/open/info')).body.balance.amount, '-3.00')
  const credit = await call('operator', 'POST', `/operator/accounts/${ada.uuid}/credit`, { amount: '1' })
  assert.deepEqual([credit.status, credit.body.balance], [201, '-2.00'], 'a credit may leave a debt')
})

test('concurrent debits are made only as far as the balance covers them', async () => {
  const ada = await tenant({ balance: '5' })
  const answers = await Promise.all(Array.from({ length: 8 }, () => debit(ada, { amount: '1', reason: 'x' })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 201, 201, 201, 402, 402, 402])
  assert.equal((await ledger(ada)).balance, '0.00')
})

test('a debit needs a reason and an amount above zero', async () => {
  const ada = await tenant()
  for (const body of [{ amount: '1' }, { amount: '1', reason: '  ' }, { amount: '1', reason: '' }])
    assert.match((await debit(ada, body)).body.error_message, /reason/)
  for (const amount of ['0', '-1', 'x', '0.0000001', '1000000001'])
    assert.equal((await debit(ada, { amount, reason: 'x' })).status, 400, amount)
  assert.equal((await debit({ ...ada, uuid: `ACC${randomUUID()}` }, { amount: '1', reason: 'x' })).status, 404)
})

test('a debit repeated with its Idempotency-Key takes effect once', async () => {
  const ada = await tenant({ balance: '10' })
  const headers = { 'x-operator-key': operatorKey, 'idempotency-key': randomUUID() }
  const url = `/operator/accounts/${ada.uuid}/debit`
  const payload = { amount: '1', reason: 'once' }
  const [first, second] = [
    await app.inject({ method: 'POST', url, headers, payload }),
    await app.inject({ method: 'POST', url, headers, payload }),
  ]
  assert.deepEqual([first?.statusCode, second?.body], [201, first?.body])
  assert.equal((await ledger(ada)).balance, '9.00')
})

test('a correction goes up or down and names a transfer of the same account', async () => {
  const [ada, bob] = [await tenant({ balance: '10' }), await tenant({ balance: '10' })]
  const [wrong] = (await ledger(ada)).transfers
  const down = await correct(ada, { amount: '-4', reason: 'credited twice', transfer_uuid: wrong?.uuid })
  assert.equal(down.body.balance, '6.00')
  assert.equal((await correct(ada, { amount: 0.5, reason: 'rounding' })).body.balance, '6.50')
  const [up, first] = (await ledger(ada, '?kind=correction')).transfers
  assert.deepEqual([first?.debit, first?.credit, first?.reference], ['balance', 'corrections', wrong?.uuid])
  assert.deepEqual([up?.debit, up?.credit, up?.reference], ['corrections', 'balance', undefined])
  assert.equal((await correct(bob, { amount: '1', reason: 'x', transfer_uuid: wrong?.uuid })).status, 404)
  assert.equal((await correct(ada, { amount: '0', reason: 'x' })).status, 400)
  assert.equal((await correct(ada, { amount: '-7', reason: 'x' })).status, 402)
})

test('a credit names its key; a transfer of the platform itself names none', async () => {
  const ada = await tenant({ balance: '0' })
  await call('operator', 'POST', `/operator/accounts/${ada.uuid}/credit`, { amount: '1' })
  const [row] = (await ledger(ada)).transfers
  assert.equal(row?.made_by?.label, 'test')
  const [own] = (await ledger(await tenant())).transfers
  assert.equal(own?.made_by, undefined, 'the platform itself made it')
})

test('an unknown kind of transfer is refused with the list of kinds', async () => {
  const ada = await tenant()
  const { status, body } = await call('operator', 'GET', `/operator/accounts/${ada.uuid}/ledger?kind=smss`)
  assert.equal(status, 400)
  assert.match(body.error_message, /kind.*credit.*number_month/)
})

test('the books of an account with debits and corrections sum to zero', async () => {
  const ada = await tenant({ balance: '10' })
  await debit(ada, { amount: '12', reason: 'x', allow_negative: true })
  await correct(ada, { amount: '3', reason: 'x' })
  const { balance } = await db.one<{ balance: string }>`
    select sum(case when credit = 'balance' then amount else -amount end)::text as balance
    from transfers where account_id = ${ada.id}`
  assert.equal(Number(balance), Number((await ledger(ada)).balance))
})
