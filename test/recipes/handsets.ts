import assert from 'node:assert/strict'
import { uuid } from '../../src/platform/lib/id.ts'
import type { Recipe, Recipes } from './recipe.ts'
import type { Scene } from './scene.ts'

const handset = '+447700901234'
const params = { number: handset }
const nobody = '+447700909999'
const guest = '+447700901235'

const numberOf = async ({ world }: Scene, channel: string): Promise<string> =>
  (
    await world.db.one<{ number: string }>`
    select phone_number as number from msgapp_channels where id = ${channel.slice(3)}`
  ).number

/** A channel of the tenant, and a message that the handset wrote to it. */
const written = async (scene: Scene) => {
  const channel = await scene.chat()
  const to = await numberOf(scene, channel)
  const said = await scene.world.parts.simulator.chatAction(handset, 'msgapp', { to, text: scene.mark })
  assert.ok(said?.id)
  return { channel, to, id: said.id }
}

/** The record of that message, whether it has arrived yet or not. */
const message = async (scene: Scene): Promise<string> => {
  const { channel, id } = await written(scene)
  const { id: found } = await scene.world.db.one<{ id: string }>`
    insert into msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, text, network_id, at, created_at, updated_at)
    values (${scene.tenant.id}, ${uuid()}, ${channel.slice(3)}, ${`${handset.slice(1)}@c.us`}, 'inbound', 'user', 'x', ${id},
      now(), now(), now())
    on conflict (channel_id, network_id) where network_id is not null do update set updated_at = now()
    returning id`
  return `MSG${found}`
}

/** A group that the handset created with a channel of the tenant in it. */
const group = async (scene: Scene): Promise<string> => {
  const channel = await scene.chat()
  const number = await numberOf(scene, channel)
  const made = await scene.world.parts.simulator.chatAction(handset, 'group', {
    name: scene.mark,
    participants: [number],
  })
  assert.ok(made?.id)
  const { id } = await scene.world.db.one<{ id: string }>`
    insert into msgapp_groups (account_id, id, channel_id, network_id, name, created_at, updated_at)
    values (${scene.tenant.id}, ${uuid()}, ${channel.slice(3)}, ${made.id}, ${scene.mark}, now(), now())
    on conflict (channel_id, network_id) where network_id is not null do update set updated_at = now()
    returning id`
  return `WAG${id}`
}

const toNumber = (more: object = {}): Recipe => ({
  ok: async (scene) => ({ params, body: { to: await numberOf(scene, await scene.chat()), ...more } }),
  notFound: () => ({ params, body: { to: nobody, ...more } }),
})

const onMessage = (more: object): Recipe => ({
  ok: async (scene) => ({ params, body: { message_uuid: await message(scene), ...more } }),
  notFound: () => ({ params, body: { message_uuid: `MSG${uuid()}`, ...more } }),
})

/** Path on the phone of a channel. */
const byPhone = (more: object = {}): Recipe => ({
  ok: async (scene) => ({ params: { channel_uuid: await scene.chat() }, body: { to: handset, ...more } }),
  notFound: () => ({ params: { channel_uuid: `WPN${uuid()}` }, body: { to: handset, ...more } }),
})

/** Operations of handsets on the messaging app, and of phones of channels. */
export const handsetRecipes: Recipes = {
  writeFromHandset: toNumber({ text: 'Hello' }),
  callFromHandsetInApp: toNumber(),
  readFromHandset: {
    ok: async (scene) => ({ params, body: { from: await numberOf(scene, await scene.chat()) } }),
    notFound: () => ({ params, body: { from: nobody } }),
  },
  editFromHandset: onMessage({ text: 'Hello again' }),
  reactFromHandset: onMessage({ emoji: '👍' }),
  leaveFromHandset: {
    ok: async (scene) => ({ params, body: { group_uuid: await group(scene) } }),
    notFound: () => ({ params, body: { group_uuid: `WAG${uuid()}` } }),
  },
  joinFromHandset: {
    ok: async (scene) => ({ params: { number: guest }, body: { group_uuid: await group(scene) } }),
    notFound: () => ({ params, body: { group_uuid: `WAG${uuid()}` } }),
  },
  callFromHandset: {
    ok: async (scene) => ({ params, body: { to: (await scene.number()).number, seconds: 1 } }),
    notFound: () => ({ params, body: { to: nobody } }),
  },
  pressOnHandset: {
    ok: async (scene) => {
      const { number } = await scene.number()
      const call_id = await scene.world.parts.simulator.dial(handset, number, {})
      return { params: { ...params, call_id }, body: { digits: '12#' } }
    },
    notFound: () => ({ params: { ...params, call_id: uuid() }, body: { digits: '1' } }),
  },
  hangUpFromHandset: {
    ok: async (scene) => {
      const { number } = await scene.number()
      return { params: { ...params, call_id: await scene.world.parts.simulator.dial(handset, number, {}) } }
    },
    notFound: () => ({ params: { ...params, call_id: uuid() } }),
    invalid: () => ({ params: { ...params, call_id: 'x'.repeat(41) } }),
  },
  writeFromPhone: byPhone({ text: 'Hello' }),
  callFromPhone: byPhone(),
  pairChannel: { ok: async (scene) => ({ params: { channel_uuid: await scene.pairingChat() } }) },
}
