import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { makeRecipeWorld, makeScene } from '../../../test/recipes/scene.ts'

// Sync of contacts to the address books of channels, over the sandbox network.

const world = await makeRecipeWorld()
const scene = await makeScene(world, 'sync')
const ask = (method: 'GET' | 'POST' | 'PUT', url: string, body?: object) => world.call(scene.tenant, method, url, body)

const contact = async (uuid: string) => (await ask('GET', `/open/contacts/${uuid}`)).body.contact
const settled = (uuid: string) =>
  until(async () => {
    const now = await contact(uuid)
    return now.sync?.state === 'queued' ? null : now
  })

test('a contact of a channel is added to its address book, and again when it changes or moves', async () => {
  const [first, second] = [await scene.chat(), await scene.chat()]
  const details = [{ type: 'PH', value: '+442079460958' }]
  const created = await ask('POST', '/open/contacts', {
    first_name: 'Ada',
    contact_details: details,
    channel_uuid: first,
  })
  assert.equal(created.status, 201)
  const { uuid } = created.body.contact
  assert.equal(created.body.contact.sync.state, 'queued')
  const synced = await settled(uuid)
  assert.equal(synced.sync.state, 'synced')
  assert.ok(synced.sync.synced_at)

  const renamed = await ask('PUT', `/open/contacts/${uuid}`, { last_name: 'King' })
  assert.equal(renamed.body.contact.sync.state, 'queued')
  assert.equal((await settled(uuid)).sync.state, 'synced')

  const moved = await ask('PUT', `/open/contacts/${uuid}`, { channel_uuid: second })
  assert.equal(moved.body.contact.channel_uuid, second)
  assert.equal(moved.body.contact.sync.state, 'queued')
  assert.equal((await settled(uuid)).sync.state, 'synced')

  const gone = await ask('PUT', `/open/contacts/${uuid}`, { channel_uuid: null })
  assert.ok(!('sync' in gone.body.contact))
})

test('a contact without a phone number is not added to an address book, and its state says so', async () => {
  const channel_uuid = await scene.chat()
  const details = [{ type: 'E', value: 'ada@example.com' }]
  const { body } = await ask('POST', '/open/contacts', { first_name: 'Ada', contact_details: details, channel_uuid })
  assert.deepEqual(body.contact.sync, { state: 'failed', error: 'The contact has no phone number' })
})

test('a number that a check finds on the messaging app becomes WAPH and keeps its id', async () => {
  const number = scene.chatNumber()
  await scene.chat(number)
  const [registered, gone] = ['+442079460977', '+442079460006']
  const details = [registered, gone].map((value) => ({ type: 'PH', value }))
  const { body } = await ask('POST', '/open/contacts', { first_name: 'Ada', contact_details: details })
  for (const one of [registered, gone])
    assert.equal((await ask('GET', `/open/msgapp/check-number/${number}/${one}`)).status, 200)
  const after = await contact(body.contact.uuid)
  assert.deepEqual(
    after.details.map(({ id, type, value }: Record<string, unknown>) => [id, type, value]),
    body.contact.details.map(({ id, value }: Record<string, unknown>) => [
      id,
      value === registered ? 'WAPH' : 'PH',
      value,
    ]),
  )
})

test('a contact outlives its channel and reports that it is in no address book', async () => {
  const channel_uuid = await scene.chat()
  const details = [{ type: 'PH', value: '+442079460959' }]
  const created = await ask('POST', '/open/contacts', { first_name: 'Ada', contact_details: details, channel_uuid })
  const { uuid } = created.body.contact
  await settled(uuid)
  await world.call(scene.tenant, 'DELETE', `/open/msgapp/channel/${channel_uuid}`)
  const renamed = await ask('PUT', `/open/contacts/${uuid}`, { last_name: 'King' })
  assert.equal(renamed.status, 200, JSON.stringify(renamed.body))
  const { last_name, sync } = renamed.body.contact
  assert.deepEqual([last_name, sync.state, sync.error], ['King', 'failed', 'The channel was deleted'])
})
