import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { capture, hold } from './ops.ts'

const { call, db, tenant } = await makeWorld()

const correct = ({ uuid }: Tenant, transfer_uuid: string, amount: string, others: object = {}) =>
  call('operator', 'POST', `/operator/accounts/${uuid}/corrections`, { amount, reason: 'x', transfer_uuid, ...others })
const debit = async ({ uuid }: Tenant, amount: string): Promise<string> =>
  (await call('operator', 'POST', `/operator/accounts/${uuid}/debit`, { amount, reason: 'x' })).body.transfer_uuid
const balanceOf = async (who: Tenant) => (await call(who, 'GET', '/open/info')).body.balance.amount
const transferOf = async ({ uuid }: Tenant, kind: string): Promise<string> =>
  (await call('operator', 'GET', `/operator/accounts/${uuid}/ledger?kind=${kind}`)).body.transfers[0].uuid

const isRefused = ({ status, body }: Awaited<ReturnType<typeof call>>, left: string) => {
  assert.deepEqual([status, body.error_code, body.field], [409, 'correction_exceeds_transfer', '/amount'])
  assert.ok(body.error_message.includes(`USD ${left} is left`), body.error_message)
}

test('concurrent corrections of a debit give it back once', async () => {
  const ada = await tenant({ balance: '10' })
  const transfer = await debit(ada, '5.00')
  const answers = await Promise.all(Array.from({ length: 20 }, () => correct(ada, transfer, '5.00')))
  const refused = answers.filter(({ status }) => status !== 201)
  assert.equal(refused.length, 19)
  for (const answer of refused) isRefused(answer, '0.00')
  assert.equal(await balanceOf(ada), '10.00')
})

test('corrections in parts add up to at most the transfer, up and down', async () => {
  const ada = await tenant({ balance: '0' })
  await call('operator', 'POST', `/operator/accounts/${ada.uuid}/credit`, { amount: '10' })
  const credit = await transferOf(ada, 'credit')
  const transfer = await debit(ada, '5.00')
  assert.equal((await correct(ada, transfer, '4')).status, 201)
  isRefused(await correct(ada, transfer, '1.000001'), '1.00')
  assert.equal((await correct(ada, transfer, '1')).status, 201)
  isRefused(await correct(ada, transfer, '0.000001'), '0.00')
  isRefused(await correct(ada, credit, '-10.01', { allow_negative: true }), '10.00')
  assert.equal((await correct(ada, credit, '-10')).body.balance, '0.00')
  isRefused(await correct(ada, credit, '-1', { allow_negative: true }), '0.00')
  assert.equal(await balanceOf(ada), '0.00')
})

test('a correction beyond its transfer by an earlier version can be reversed in parts, and not beyond', async () => {
  const ada = await tenant({ balance: '200' })
  const transfer = await debit(ada, '5.00')
  await db.run`update transfers set adjusted = 100 where account_id = ${ada.id} and id = ${transfer.slice(3)}`
  assert.equal((await correct(ada, transfer, '1')).status, 409)
  assert.equal((await correct(ada, transfer, '-150')).status, 409)
  for (const part of ['-5', '-90']) assert.equal((await correct(ada, transfer, part)).status, 201, part)
  isRefused(await correct(ada, transfer, '1'), '0.00')
  assert.equal((await correct(ada, transfer, '-10')).status, 201)
})

test('the correction of a correction counts for the first transfer, and makes its correction possible again', async () => {
  const ada = await tenant({ balance: '10' })
  const transfer = await debit(ada, '5.00')
  const first = (await correct(ada, transfer, '5')).body.transfer_uuid
  isRefused(await correct(ada, first, '5'), '0.00')
  const undone = await correct(ada, first, '-5')
  assert.equal(undone.body.balance, '5.00')
  assert.equal((await correct(ada, undone.body.transfer_uuid, '5')).body.balance, '10.00')
  isRefused(await correct(ada, transfer, '5'), '0.00')
  isRefused(await correct(ada, undone.body.transfer_uuid, '5'), '0.00')
  assert.equal(await balanceOf(ada), '10.00')
})

test('money that a hold moves is corrected by the transfer of the sale only', async () => {
  const ada = await tenant({ balance: '10' })
  const sale = { kind: 'call', reference: 'CDR1', limitedKeys: null } as const
  const held = await db.begin((tx) => hold(tx, ada.id, 3_000_000, 'calls', sale))
  await db.begin((tx) => capture(tx, ada.id, held, 2_000_000))
  for (const kind of ['hold', 'release']) {
    const { status, body } = await correct(ada, await transferOf(ada, kind), '1')
    assert.deepEqual([status, body.error_code, body.field], [409, 'transfer_not_final', '/transfer_uuid'])
  }
  assert.equal((await correct(ada, await transferOf(ada, 'call'), '2')).body.balance, '10.00')
  isRefused(await correct(ada, await transferOf(ada, 'call'), '1'), '0.00')
})
