import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'

const { call, db, tenant } = await makeWorld()

test('an e-mail address is unique within an account, ignoring letter case, and free in other accounts', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const create = (uuid: string, email: string, more = {}) =>
    call('operator', 'POST', `/operator/accounts/${uuid}/users`, { first_name: 'A', last_name: 'B', email, ...more })
  const change = (uuid: string, body: object) => call('operator', 'PATCH', `/operator/users/${uuid}`, body)
  const first = (await create(ada.uuid, 'ada@example.com')).body.user
  const again = await create(ada.uuid, 'Ada@Example.com')
  assert.deepEqual([again.status, again.body.error_code], [409, 'email_exists'])
  assert.equal((await create(bob.uuid, 'ada@example.com')).status, 201)
  const other = (await create(ada.uuid, 'other@example.com')).body.user
  assert.equal((await change(other.uuid, { email: 'ADA@example.com' })).status, 409)
  assert.equal((await change(first.uuid, { email: 'ADA@example.com' })).status, 200)

  assert.equal((await change(first.uuid, { status: 'DELETED' })).status, 200)
  assert.equal((await create(ada.uuid, 'ada@example.com')).status, 201)
  assert.equal((await change(first.uuid, { status: 'ACTIVE' })).status, 409)
})

test('one of several concurrent requests gets the e-mail address', async () => {
  const { uuid } = await tenant()
  const body = { first_name: 'A', last_name: 'B', email: 'raced@example.com' }
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => call('operator', 'POST', `/operator/accounts/${uuid}/users`, body)),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array.from({ length: 7 }, () => 409)])
})

test('users with a duplicate e-mail address of an earlier version can still be changed', async () => {
  const { id, uuid } = await tenant()
  const body = { first_name: 'A', last_name: 'B', email: 'twin@example.com' }
  const { user } = (await call('operator', 'POST', `/operator/accounts/${uuid}/users`, body)).body
  await db.run`
    insert into users (account_id, id, first_name, last_name, email, status)
    values (${id}, gen_random_uuid(), 'C', 'D', 'twin@example.com', 'ACTIVE')`
  const changed = await call('operator', 'PATCH', `/operator/users/${user.uuid}`, { first_name: 'E' })
  assert.equal(changed.status, 200)
})
