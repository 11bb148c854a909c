import type { Recipe, Recipes } from './recipe.ts'
import type { Scene } from './scene.ts'

const named: Recipe = { ok: async (scene: Scene) => ({ params: { channel_uuid: await scene.chat() } }) }

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
}
