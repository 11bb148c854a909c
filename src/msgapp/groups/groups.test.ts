import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeScene, makeScenery } from '../../../test/recipes/scene.ts'

// Groups over the sandbox network, as the conformance suite does not ask for them.

const world = await makeScenery()
const scene = await makeScene(world, 'groups')
const number = scene.chatNumber()
await scene.chat(number)

const create = (key: string, name: string) =>
  world.app.inject({
    method: 'POST',
    url: '/open/msgapp/group/create',
    headers: { 'x-user-api-key': scene.tenant.key, 'idempotency-key': key },
    payload: { from_number: number, group: { name, participants: ['+442079460951'] } },
  })
const groups = async () =>
  (await world.call(scene.tenant, 'GET', `/open/msgapp/groups/${number}`)).body.data.map(
    ({ name }: { name: string }) => name,
  )

test('one Idempotency-Key makes one group, also when its answer was lost', async () => {
  const [one, twin] = await Promise.all([create('key-1', 'Once'), create('key-1', 'Once')])
  assert.equal(one.statusCode, 200, one.body)
  assert.equal(one.body, twin.body)
  // As if the process had ended between the group and the answer.
  await world.db.run`delete from idempotency where account_id = ${scene.tenant.id}`
  const again = await create('key-1', 'Once')
  assert.equal(again.json().group.uuid, one.json().group.uuid)
  assert.deepEqual(await groups(), ['Once'])
})

test('a group request that waits for its network holds up no other request with a key', async () => {
  const { controlPort, token } = world.carrier
  const faults = (method: string, body?: object) =>
    fetch(`http://127.0.0.1:${controlPort}/chat/faults`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body ? JSON.stringify(body) : null,
    })
  await faults('POST', { kind: 'slow', ms: 1_000 })
  const order: string[] = []
  const slow = Array.from({ length: 12 }, (_, i) => create(`slow-${i}`, `Slow ${i}`).finally(() => order.push('slow')))
  const quick = await world.app.inject({
    method: 'POST',
    url: '/open/contacts',
    headers: { 'x-user-api-key': scene.tenant.key, 'idempotency-key': 'quick' },
    payload: { first_name: 'Ada', contact_details: [{ type: 'E', value: 'ada@example.com' }] },
  })
  assert.equal(quick.statusCode, 201)
  assert.deepEqual(order, [], 'the quick one is answered before any of the slow ones')
  await faults('DELETE')
  for (const { statusCode, body } of await Promise.all(slow)) assert.ok([200, 409].includes(statusCode), body)
})
