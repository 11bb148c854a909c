import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { record } from '../../domains/events/ops.ts'
import { canonicalPath } from './idempotency.ts'

const { app, db, operatorKey, tenant } = await makeWorld()

const ask = (url: string, key: string, amount: string) =>
  app.inject({
    method: 'POST',
    url,
    headers: { 'x-operator-key': operatorKey, 'idempotency-key': key },
    payload: { amount },
  })

const credit = (account: Tenant, key: string, amount: string) =>
  ask(`/operator/accounts/${account.uuid}/credit`, key, amount)

const balanceOf = async ({ id }: Tenant): Promise<number> =>
  Number((await db.one<{ balance: string }>`select balance from balances where account_id = ${id}`).balance)

test('a repeated key with the same body has one effect and gets the same response, byte for byte', async () => {
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

test('64 concurrent requests with one key have one effect, and all get its response', async () => {
  const account = await tenant({ balance: '0' })
  const answers = await Promise.all(Array.from({ length: 64 }, () => credit(account, 'crowd', '7')))
  assert.deepEqual([...new Set(answers.map(({ statusCode }) => statusCode))], [201])
  assert.equal(new Set(answers.map(({ body }) => body)).size, 1)
  assert.equal(answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined).length, 1)
  assert.equal(await balanceOf(account), 7)
})

test('a repeated key with another body is refused with 409 and has no effect', async () => {
  const account = await tenant({ balance: '0' })
  await credit(account, 'two', '5')
  const other = await credit(account, 'two', '6')
  assert.equal(other.statusCode, 409)
  assert.equal(other.json().error_code, 'idempotency_key_reused')
  assert.equal(await balanceOf(account), 5)
})

test('a refusal is not stored: the same key may succeed later', async () => {
  const account = await tenant({ balance: '0' })
  assert.equal((await credit(account, 'three', '-1')).statusCode, 400)
  assert.equal((await credit(account, 'three', '1')).statusCode, 201)
})

test('keys are separate by path and expire after 24 hours', async () => {
  const [one, two] = [await tenant({ balance: '0' }), await tenant({ balance: '0' })]
  assert.equal((await credit(one, 'four', '1')).statusCode, 201)
  assert.equal((await credit(two, 'four', '2')).statusCode, 201)
  await db.run`update clock set offset_seconds = 86401`
  const later = await credit(one, 'four', '3')
  await db.run`update clock set offset_seconds = 0`
  assert.equal(later.statusCode, 201)
  assert.equal(await balanceOf(one), 4)
})

test('a repeated key with another query is refused with 409 and has no effect', async () => {
  const account = await tenant({ balance: '0' })
  const path = `/operator/accounts/${account.uuid}/credit`
  assert.equal((await ask(path, 'query', '5')).statusCode, 201)
  const other = await ask(`${path}?for=another`, 'query', '5')
  assert.deepEqual([other.statusCode, other.json().error_code], [409, 'idempotency_key_reused'])
  assert.equal((await ask(`${path}?b=2&a=1`, 'order', '5')).statusCode, 201)
  const same = await ask(`${path}?a=1&b=%32`, 'order', '5')
  assert.deepEqual([same.statusCode, same.headers['idempotent-replayed']], [201, 'true'])
  assert.equal((await ask(`${path}?a=1&b=3`, 'order', '5')).statusCode, 409)
  assert.equal(await balanceOf(account), 10)
})

test('spellings of one path with different escapes count as one request', async () => {
  const account = await tenant({ balance: '0' })
  const { uuid } = account
  const spellings = [
    `/operator/accounts/${uuid}/credit`,
    `/operator/accounts/${uuid.replace('ACC', '%41CC')}/credit`,
    `/operator/accounts/${uuid.replaceAll('-', '%2D')}/credit`,
    `/operator/accounts/${uuid.replaceAll('-', '%2d')}/credit`,
    `/oper%61tor/accounts/${uuid}/cr%65dit`,
  ]
  for (const [i, path] of spellings.entries()) {
    const answer = await ask(path, 'spelt', '5')
    assert.deepEqual(
      [answer.statusCode, answer.headers['idempotent-replayed']],
      [201, i === 0 ? undefined : 'true'],
      path,
    )
  }
  assert.equal(await balanceOf(account), 5)

  assert.equal(canonicalPath('/a/:number/b', { number: '+447700900123' }), '/a/%2B447700900123/b')
})

test('a request under the alias of the messaging app repeats the one under its own name', async () => {
  const named = await makeWorld({ TRUNKLINE_MSGAPP_NAME: 'chatapp' })
  const { key, id: account } = await named.tenant()
  const checked = { account, name: 'msgapp.check.completed', channel: null, conversation: null, payload: {} } as const
  await named.db.begin((tx) => record(tx, [checked]))
  const headers = { 'x-user-api-key': key, 'idempotency-key': 'alias' }
  const trigger = (event: string) => named.app.inject({ method: 'POST', url: `/sandbox/events/${event}`, headers })
  const first = await trigger('msgapp.check.completed')
  assert.deepEqual([first.statusCode, first.headers['idempotent-replayed']], [202, undefined])
  for (const spelling of ['chatapp.check.completed', 'chatapp.check%2Ecompleted', '%6Dsgapp.check.completed']) {
    const again = await trigger(spelling)
    assert.deepEqual([again.statusCode, again.headers['idempotent-replayed']], [202, 'true'], spelling)
  }
})

test('a stored response with contents is repeated to no caller who may see less', async () => {
  const account = await tenant()
  const keyOf = async (scopes: readonly string[] | null) => {
    const body = { label: 'reader', ...(scopes ? { scopes } : {}) }
    const creation = { method: 'POST', url: `/operator/accounts/${account.uuid}/keys`, payload: body } as const
    return (await app.inject({ ...creation, headers: { 'x-operator-key': operatorKey } })).json().key
  }
  const contactBody = { first_name: 'Ada', contact_details: [{ type: 'E', value: 'ada@example.com' }] }
  const contact = async (key: string) => {
    const headers = { 'x-user-api-key': key, 'idempotency-key': 'contents' }
    const answer = await app.inject({ method: 'POST', url: '/open/contacts', headers, payload: contactBody })
    return [answer.statusCode, answer.headers['idempotent-replayed'] ?? answer.json().error_code]
  }
  const [part, otherPart] = [await keyOf(['inbox']), await keyOf(['inbox'])]
  assert.deepEqual(await contact(account.key), [201, undefined])
  assert.deepEqual(await contact(await keyOf(null)), [201, 'true'], 'both may see all')
  assert.deepEqual(await contact(await keyOf(['inbox', 'inbox.all'])), [201, 'true'])
  assert.deepEqual(await contact(part), [409, 'idempotency_key_reused'])
  await db.run`delete from idempotency where account_id = ${account.id}`
  assert.deepEqual(await contact(part), [201, undefined])
  assert.deepEqual(await contact(part), [201, 'true'])
  assert.deepEqual(await contact(otherPart), [409, 'idempotency_key_reused'])
})
