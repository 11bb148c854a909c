import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRecipeWorld, makeScene } from '../../../test/recipes/scene.ts'
import { callerIdOf } from './ops.ts'

const world = await makeRecipeWorld()
const scene = await makeScene(world, 'kinds')
const { tenant } = scene

const list = async (): Promise<{ [key: string]: unknown }[]> =>
  (await world.call(tenant, 'GET', '/open/voip/caller-ids')).body.caller_ids

test('a bought number is a caller ID until it is released', async () => {
  const { uuid, number } = await scene.number()
  assert.partialDeepStrictEqual(await list(), [
    { type: 'VN', phone_number: number, channel_uuid: uuid, verified: true, account_uuid: tenant.uuid },
  ])
  await world.call(tenant, 'DELETE', `/open/voip/virtual-numbers/${uuid}`)
  assert.deepEqual(await list(), [])
})

test('a number of the messaging app is listed until its channel is deleted, and the sandbox does not verify it', async () => {
  const pairing = await scene.pairingChat()
  assert.partialDeepStrictEqual(await list(), [{ type: 'WW', channel_uuid: pairing, verified: false }])
  const number = scene.chatNumber()
  const connected = await scene.chat(number)
  assert.partialDeepStrictEqual(await list(), [
    { channel_uuid: pairing },
    { type: 'WW', channel_uuid: connected, phone_number: number, friendly_name: 'kinds', verified: false },
  ])
  for (const channel of [pairing, connected]) await world.call(tenant, 'DELETE', `/open/msgapp/channel/${channel}`)
  assert.deepEqual(await list(), [])
  assert.equal((await world.call(tenant, 'POST', '/open/msgapp/channel/create', { phone_number: number })).status, 201)
  assert.partialDeepStrictEqual(await list(), [{ phone_number: number }])
})

test('the list is paged', async () => {
  await scene.number()
  const { body } = await world.call(tenant, 'GET', '/open/voip/caller-ids?results_per_page=1&page_number=1')
  assert.deepEqual([body.count, body.page, body.total, body.caller_ids.length], [1, 1, 2, 1])
})

test('a call shows the number that it names, by its digits or the id of a caller ID, and otherwise the oldest', async () => {
  const [own, other] = [await makeScene(world, 'choice'), await makeScene(world, 'other')]
  const [first, second, foreign] = [await own.number(), await own.number(), await other.number()]
  const idOf = async ({ tenant: who }: typeof own, number: string): Promise<string> => {
    const { caller_ids } = (await world.call(who, 'GET', '/open/voip/caller-ids')).body
    return caller_ids.find(({ phone_number }: { phone_number: string }) => phone_number === number).uuid
  }
  const chosen = async (requested: string | null, country = 'GB') =>
    (await callerIdOf(world.db, own.tenant.id, requested, country, { simulated: true, isSandbox: true }))?.number
  assert.equal(await chosen(null), first.number)
  for (const { number } of [first, second]) {
    assert.equal(await chosen(number), number)
    assert.equal(await chosen(await idOf(own, number)), number)
    assert.equal(await chosen(await idOf(own, number), 'US'), number, 'in another country, too')
  }
  for (const none of [foreign.number, await idOf(other, foreign.number), 'VCI', 'front desk'])
    assert.equal(await chosen(none), undefined, none)
})
