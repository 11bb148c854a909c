import { randomBytes } from 'node:crypto'
import { uuid } from '../../src/platform/lib/id.ts'
import type { Recipe, Recipes } from './recipe.ts'
import type { Scene } from './scene.ts'

const named: Recipe = { ok: async (scene: Scene) => ({ params: { channel_uuid: await scene.chat() } }) }

/** A dead-letter message. @param id the network's */
const aside = async (scene: Scene, id: string): Promise<string> => {
  const [channel, own] = [await scene.chat(), uuid()]
  const from = { number: '+447700900123', remote: '447700900123@c.us', pushname: null }
  const message = { id, from, group: null, at: Date.now(), text: 'x', media: null, pin: null, own: false }
  await scene.world.db.run`
    insert into msgapp_dead_letters (account_id, id, channel_id, what, content, digest, reason, created_at)
    values (${scene.tenant.id}, ${own}, ${channel.slice(3)}, 'inbound', ${JSON.stringify([message])}, ${randomBytes(32)}, 'x', now())`
  return `ASD${own}`
}

export const channelRecipes: Recipes = {
  listMsgappNumbers: { ok: () => ({ query: { status: 'all' } }) },
  createMsgappChannel: {
    ok: (scene) => ({ body: { phone_number: scene.chatNumber(), friendly_name: scene.mark } }),
    forbidden: async (scene) => {
      const phone_number = scene.chatNumber()
      await scene.chat(phone_number)
      return { body: { phone_number } }
    },
    notFound: (scene) => ({ body: { phone_number: scene.chatNumber(), connection: 'no such connection' } }),
  },
  getMsgappChannel: named,
  getMsgappChannelStatus: named,
  getMsgappChannelQrCode: {
    ok: async (scene) => ({ params: { channel_uuid: await scene.pairingChat() } }),
    conflict: async (scene) => ({ params: { channel_uuid: await scene.chat() } }),
  },
  connectMsgappChannel: named,
  disconnectMsgappChannel: named,
  deleteMsgappChannel: named,
  listSetAside: { ok: () => ({}), invalid: () => ({ query: { cursor: 'no cursor' } }) },
  retrySetAside: {
    ok: async (scene) => ({ params: { uuid: await aside(scene, uuid()) } }),
    conflict: async (scene) => ({ params: { uuid: await aside(scene, '\0') } }),
  },
}
