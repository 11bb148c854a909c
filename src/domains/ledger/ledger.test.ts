import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeWorld } from '../../../test/world.ts'
import { Problem } from '../../platform/http/problem.ts'
import { decimal, micros } from '../../platform/lib/money.ts'
import { charge, deposit, refund } from './ops.ts'

const { call, db, tenant } = await makeWorld()

const balanceOf = async (account: string): Promise<number> =>
  micros((await db.one<{ balance: string }>`select balance from balances where account_id = ${account}`).balance) ??
  Number.NaN

const kinds = { deposit: 'credit', charge: 'sms', refund: 'sms_refund' } as const

/** Computes the balance from the transfers. */
const summed = async (account: string): Promise<number> =>
  micros(
    (
      await db.one<{ sum: string }>`
        select coalesce(sum(case when credit = 'balance' then amount else -amount end), 0)::text as sum
        from transfers where account_id = ${account} and 'balance' in (debit, credit)`
    ).sum,
  ) ?? Number.NaN

test('credit is added exactly, as a decimal string or a number, and shown in the ledger', async () => {
  const { uuid } = await tenant({ balance: '0' })
  const path = `/operator/accounts/${uuid}/credit`
  assert.equal((await call('operator', 'POST', path, { amount: '0.1', note: 'first' })).body.balance, '0.10')
  assert.equal((await call('operator', 'POST', path, { amount: 0.2 })).body.balance, '0.30')
  for (const amount of ['0', '-1', '1e3', 'x', '0.0000001', '1000000001', 1e20]) {
    assert.equal((await call('operator', 'POST', path, { amount })).status, 400, String(amount))
  }
  const ledger = (await call('operator', 'GET', `/operator/accounts/${uuid}/ledger?results_per_page=1`)).body
  assert.equal(ledger.balance, '0.30')
  assert.deepEqual([ledger.count, ledger.transfers[0].amount, ledger.transfers[0].debit], [1, '0.20', 'cash'])
  const rest = (await call('operator', 'GET', `/operator/accounts/${uuid}/ledger?cursor=${ledger.next_cursor}`)).body
  assert.equal(rest.transfers[0].note, 'first')
  assert.equal(rest.next_cursor, undefined)
})

test('a charge beyond the balance is refused and changes nothing', async () => {
  const { id } = await tenant({ balance: '1' })
  await assert.rejects(
    db.begin((tx) => charge(tx, id, 1_000_001, 'sms', { kind: 'sms', limitedKeys: null })),
    (error: unknown) => error instanceof Problem && error.status === 402,
  )
  assert.equal(await balanceOf(id), 1_000_000)
  assert.equal(await summed(id), 1_000_000)
})

test('random concurrent operations keep the balance equal to the sum of the transfers, and never below zero', async () => {
  const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
  console.log(`seed ${seed}`)
  const operation = fc.record({
    what: fc.constantFrom('deposit', 'charge', 'refund'),
    amount: fc.integer({ min: 1, max: 3_000_000 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 30, maxLength: 60 }), async (operations) => {
      const { id } = await tenant({ balance: '5' })
      let model = 5_000_000
      await Promise.all(
        operations.map(async ({ what, amount }) => {
          const kind = { kind: kinds[what] }
          if (what === 'charge') {
            const paid = await db
              .begin((tx) => charge(tx, id, amount, 'sms', { ...kind, limitedKeys: null }))
              .catch(() => null)
            if (paid) model -= amount
            return
          }
          if (what === 'deposit') await db.begin((tx) => deposit(tx, id, amount, kind))
          else await db.begin((tx) => refund(tx, id, amount, 'sms', { ...kind, adjusts: null }))
          model += amount
        }),
      )
      const balance = await balanceOf(id)
      assert.equal(balance, model)
      assert.equal(await summed(id), balance)
      assert.ok(balance >= 0, decimal(balance))
    }),
    { numRuns: process.env.TRUNKLINE_TEST_LONG ? 300 : 15, seed },
  )
})
