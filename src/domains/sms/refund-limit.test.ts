import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Tenant } from '../../../test/world.ts'
import { giveNumber, makeSmsWorld } from './sms-testing.ts'

const world = await makeSmsWorld()
const { call, db, parts, tenant, send } = world
after(world.stop)

/** Sends a message of 0.04 for later. @returns it with its transfer */
const schedule = async (who: Tenant) => {
  const { number } = await giveNumber(world, who)
  const send_at = new Date(parts.clock.now() + 600_000).toISOString()
  const { body } = await send(who, number, 'later', { send_at })
  const path = `/operator/accounts/${who.uuid}/ledger`
  const [paid] = (await call('operator', 'GET', `${path}?kind=sms`)).body.transfers
  return {
    cancel: () => call(who, 'DELETE', `/open/sms/message/${body.message_uuid}`),
    correct: (amount: string, transfer = paid.uuid) =>
      call('operator', 'POST', `/operator/accounts/${who.uuid}/corrections`, {
        amount,
        reason: 'x',
        transfer_uuid: transfer,
      }),
    refunds: async () => (await call('operator', 'GET', `${path}?kind=sms_refund`)).body.transfers,
  }
}
const balanceOf = async (who: Tenant) => (await call(who, 'GET', '/open/info')).body.balance.amount

test('a correction of a refunded message is refused, and so is the correction of its refund', async () => {
  const ada = await tenant({ balance: '1' })
  const { cancel, correct, refunds } = await schedule(ada)
  assert.equal((await cancel()).status, 200)
  const [refund] = await refunds()
  for (const answer of [await correct('0.04'), await correct('0.04', refund.uuid)])
    assert.deepEqual([answer.status, answer.body.error_code], [409, 'correction_exceeds_transfer'])
  assert.equal(await balanceOf(ada), '1.00')
})

test('a refund gives back what corrections of the message left', async () => {
  for (const [corrected, refunded] of [
    ['0.03', ['0.01']],
    ['0.04', []],
  ] as const) {
    const ada = await tenant({ balance: '1' })
    const { cancel, correct, refunds } = await schedule(ada)
    assert.equal((await correct(corrected)).status, 201)
    assert.equal((await cancel()).status, 200)
    assert.equal(await balanceOf(ada), '1.00')
    assert.deepEqual(
      (await refunds()).map(({ amount }: { amount: string }) => amount),
      refunded,
    )
  }
})

test('a concurrent correction and cancellation give a message back once', async () => {
  const ada = await tenant({ balance: '1' })
  const { cancel, correct } = await schedule(ada)
  await Promise.all([cancel(), ...Array.from({ length: 4 }, () => correct('0.04'))])
  assert.equal(await balanceOf(ada), '1.00')
  const { sum } = await db.one<{ sum: string }>`
    select sum(case when credit = 'balance' then amount else -amount end)::text as sum
    from transfers where account_id = ${ada.id}`
  assert.equal(Number(sum), 1)
})
