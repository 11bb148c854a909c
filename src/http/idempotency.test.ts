import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../test/world.ts'

const { app, db, operatorKey, tenant } = await makeWorld()

const credit = (account: Tenant, key: string, amount: string) =>
  app.inject({
    method: 'POST',
    url: `/operator/accounts/${account.uuid}/credit`,
    headers: { 'x-operator-key': operatorKey, 'idempotency-key': key },
    payload: { amount },
  })

const balanceOf = async ({ id }: Tenant): Promise<number> =>
  Number((await db.one<{ balance: string }>`select balance from balances where account_id = ${id}`).balance)

test('the same key with the same body has one effect and gets the same answer, byte for byte', async () => {
  const account = await tenant({ balance: '0' })
  const first = await credit(account, 'one', '5')
  const again = await credit(account, 'one', '5')
  assert.equal(first.statusCode, 201)
  assert.equal(again.statusCode, 201)
  assert.equal(again.body, first.body)
  assert.equal(first.headers['idempotent-replayed'], undefined)
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.equal(await balanceOf(account), 5)
})

test('64 twins at once have one effect, and all get its answer', async () => {
  const account = await tenant({ balance: '0' })
  const answers = await Promise.all(Array.from({ length: 64 }, () => credit(account, 'crowd', '7')))
  assert.deepEqual([...new Set(answers.map(({ statusCode }) => statusCode))], [201])
  assert.equal(new Set(answers.map(({ body }) => body)).size, 1)
  assert.equal(answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined).length, 1)
  assert.equal(await balanceOf(account), 7)
})

test('the same key with another body is a 409 and has no effect', async () => {
  const account = await tenant({ balance: '0' })
  await credit(account, 'two', '5')
  const other = await credit(account, 'two', '6')
  assert.equal(other.statusCode, 409)
  assert.equal(other.json().error_code, 'idempotency_key_reused')
  assert.equal(await balanceOf(account), 5)
})

test('a refusal is not kept: the same key may succeed later', async () => {
  const account = await tenant({ balance: '0' })
  assert.equal((await credit(account, 'three', '-1')).statusCode, 400)
  assert.equal((await credit(account, 'three', '1')).statusCode, 201)
})

test('keys are apart by path, and die after 24 hours', async () => {
  const [one, two] = [await tenant({ balance: '0' }), await tenant({ balance: '0' })]
  assert.equal((await credit(one, 'four', '1')).statusCode, 201)
  assert.equal((await credit(two, 'four', '2')).statusCode, 201)
  await db.run`update clock set offset_seconds = 86401`
  const later = await credit(one, 'four', '3')
  await db.run`update clock set offset_seconds = 0`
  assert.equal(later.statusCode, 201)
  assert.equal(await balanceOf(one), 4)
})
