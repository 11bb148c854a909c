import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startWebhookReceiver } from '../../../../test/hooks.ts'
import { until } from '../../../../test/platform.ts'
import { makeRecipeWorld, makeScene } from '../../../../test/recipes/scene.ts'
import { startDeliveryEngine } from '../../webhooks/delivery/delivery-engine.ts'

// Group cases over the sandbox network that the conformance suite does not cover.

const world = await makeRecipeWorld()
const hooks = await startWebhookReceiver()
const engine = startDeliveryEngine(world.parts)
after(async () => {
  await engine.stop(100)
  await hooks.end()
})
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

test('one Idempotency-Key creates one group, even when its response was lost', async () => {
  const [one, twin] = await Promise.all([create('key-1', 'Once'), create('key-1', 'Once')])
  assert.equal(one.statusCode, 200, one.body)
  assert.equal(one.body, twin.body)
  // Simulates a process that ended between the group and its response.
  await world.db.run`delete from idempotency where account_id = ${scene.tenant.id}`
  const again = await create('key-1', 'Once')
  assert.equal(again.json().group.uuid, one.json().group.uuid)
  assert.deepEqual(await groups(), ['Once'])
})

test('a group request that waits for its network delays no other request with a key', async () => {
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
  assert.deepEqual(order, [], 'the quick one is answered before any slow one')
  await faults('DELETE')
  for (const answer of await Promise.all(slow)) {
    const { error_code } = answer.json()
    if (answer.statusCode !== 200) assert.deepEqual([answer.statusCode, error_code], [409, 'channel_busy'], answer.body)
  }
})

test('members that the API or a handset adds and removes reach the channel’s webhooks once', async () => {
  const own = await makeScene(world, 'members')
  const [from_number, handset, connection] = [own.chatNumber(), '+447700900511', '+447700900512']
  const channel_uuid = await own.chat(from_number)
  const must = async (method: string, url: string, body: object) => {
    const { status, body: answer } = await world.call(own.tenant, method, url, body)
    assert.ok(status < 300, `${url}: ${status} ${JSON.stringify(answer)}`)
    return answer
  }
  const { url: hook_url, bodies } = hooks.open()
  for (const what of ['join', 'leave', 'remove'])
    await must('POST', `/open/webhooks/subscribe/msgapp.group.${what}`, { hook_url, channel_uuid })
  const events = () =>
    bodies.map(({ event, participants }) => `${event.replace('msgapp.group.', '')} ${participants.toSorted().join()}`)
  const next = (event: string) => until(async () => events().at(-1) === event && events())
  const body = { from_number, group: { name: 'Members', participants: [handset] } }
  const { group } = await must('POST', '/open/msgapp/group/create', body)
  await next(`join ${[from_number, handset].toSorted().join()}`)
  const api = (what: string) => must('POST', `/open/msgapp/group/${group.uuid}/${what}`, { participants: [connection] })
  const real = (what: string, more: object = {}) =>
    must('POST', `/sandbox/handsets/${connection}/${what}`, { group_uuid: group.uuid, ...more })
  await api('add-participant')
  await next(`join ${connection}`)
  await api('remove-participant')
  await next(`remove ${connection}`)
  await real('join-group')
  await next(`join ${connection}`)
  await real('leave-group')
  await next(`leave ${connection}`)
  await real('join-group')
  await next(`join ${connection}`)
  await real('leave-group', { removed: true })
  assert.equal((await next(`remove ${connection}`)).length, 7)
  assert.deepEqual([bodies[0]?.group_uuid, bodies[0]?.channel_uuid], [group.uuid, channel_uuid])
  const again = await world.call(own.tenant, 'POST', `/sandbox/handsets/${handset}/join-group`, {
    group_uuid: group.uuid,
  })
  assert.equal(again.status, 404, 'it is in the group already')
})
