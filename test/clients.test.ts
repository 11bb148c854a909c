import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unlimited } from '../src/domains/accounts/unlimited.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'

// Clients of comparable services must work when only the base URL changes.

const world = await makeRecipeWorld()
const scene = await makeScene(world, 'clients')
const { tenant } = scene

test('the account information always has both quotas', async () => {
  const { usage } = (await world.call(tenant, 'GET', '/open/info')).body
  assert.deepEqual([usage.max_api_request_count, usage.max_number_check_count], [unlimited, unlimited])
})

test('a path with a trailing slash is the same path', async () => {
  assert.equal((await world.call(tenant, 'GET', '/open/users/')).status, 200)
  const hook = { hook_url: 'http://127.0.0.1:1024/slash' }
  const { status, body } = await world.call(tenant, 'POST', '/open/webhooks/subscribe/contact.created/', hook)
  assert.deepEqual([status, body.data.event_name], [201, 'contact.created'])
})

test('one Idempotency-Key applies to a path with and without its trailing slash', async () => {
  const send = (url: string) =>
    world.app.inject({
      method: 'POST',
      url,
      headers: { 'x-user-api-key': tenant.key, 'idempotency-key': 'slash' },
      payload: { first_name: 'Slash', contact_details: [{ type: 'E', value: 'slash@example.com' }] },
    })
  const [one, other] = [await send('/open/contacts'), await send('/open/contacts/')]
  assert.deepEqual([other.statusCode, other.body], [one.statusCode, one.body])
  assert.equal(other.headers['idempotent-replayed'], 'true')
})

test('all reserved numbers are bought by a request without a body', async () => {
  const who = await makeScene(world, 'bodiless')
  const { number } = await who.reservation()
  const { status, body } = await world.call(who.tenant, 'POST', '/open/numbers/purchase')
  assert.deepEqual([status, body.purchased], [201, [number]])
})

test('a group has the fields that menus show, and answers under group and data', async () => {
  const number = scene.chatNumber()
  await scene.chat(number)
  const made = await world.call(tenant, 'POST', '/open/msgapp/group/create', {
    from_number: number,
    group: { name: 'Menu', participants: ['+442079460951'] },
  })
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const { data } = (await world.call(tenant, 'GET', `/open/msgapp/groups/${number}`)).body
  assert.partialDeepStrictEqual(data, [
    { wa_group_name: 'Menu', is_muted: false, participant: { phone_number: number } },
  ])
  const one = (await world.call(tenant, 'GET', `/open/msgapp/group/${made.body.group.uuid}`)).body
  assert.deepEqual(one.group, one.data)
})

test('conversations are filtered by phone number', async () => {
  const number = scene.chatNumber()
  const channel = await scene.chat(number)
  for (const to_number of ['+447400123456', '+447400123457'])
    await world.call(tenant, 'POST', '/open/msgapp/send-message', { from_number: number, to_number, text: 'Hello' })
  const path = `/open/msgapp/conversations/${channel}?phone_number=%2B447400123457`
  const { body } = await world.call(tenant, 'GET', path)
  assert.partialDeepStrictEqual(body, {
    ...{ count: 1, total: 1 },
    sessions: [{ remote_phone_number: '+447400123457', last_message: { channel_phone_number: number } }],
  })
})
