import { uuid } from '../../src/platform/lib/id.ts'
import { chatChannel, chatGroup, chatMessage, handset } from './chat.ts'
import type { Recipes } from './recipe.ts'
import { unique } from './scene.ts'

const number = async (scene: Parameters<typeof chatMessage>[0]) => ({ number: (await chatMessage(scene)).number })

export const messageRecipes: Recipes = {
  sendMessage: {
    ok: async (scene) => {
      const { group, number } = await chatGroup(scene)
      const pin = { latitude: 51.5, longitude: -0.1, name: scene.mark }
      return { body: { from_number: number, to_group_uuid: group, text: unique(scene.mark), pin } }
    },
    notFound: () => ({ body: { from_number: handset, to_number: handset, text: 'x' } }),
    notSupported: async (scene) => ({
      body: { from_number: (await chatChannel(scene, 'carrier-pigeon')).number, to_number: handset, text: 'x' },
    }),
    conflict: async (scene) => {
      const { group, number } = await chatGroup(scene, false)
      return { body: { from_number: number, to_group_uuid: group, text: 'x' } }
    },
  },
  getMessage: { ok: async (scene) => ({ params: (await chatMessage(scene)).params }) },
  getMessageTimeline: { ok: async (scene) => ({ params: (await chatMessage(scene)).params }) },
  deleteMessage: { ok: async (scene) => ({ params: (await chatMessage(scene)).params }) },
  readConversation: {
    ok: async (scene) => ({ params: { session_key: (await chatMessage(scene)).params.session_key } }),
    notFound: () => ({ params: { session_key: `WW-WPN${uuid()}-1@c.us` } }),
  },
  listMessages: {
    ok: async (scene) => ({ params: await number(scene), query: { results_per_page: 2 } }),
    notFound: () => ({ params: { number: handset } }),
  },
  getConversation: {
    ok: async (scene) => ({ params: { ...(await number(scene)), remote: handset } }),
    notFound: () => ({ params: { number: handset, remote: handset } }),
    unprocessable: async (scene) => ({ params: { ...(await number(scene)), remote: 'nobody' } }),
  },
  listGroupMessages: {
    ok: async (scene) => ({ params: { group_uuid: (await chatGroup(scene)).group } }),
    notFound: () => ({ params: { group_uuid: `WAG${uuid()}` } }),
  },
  listConversations: { ok: async (scene) => ({ params: { channel_uuid: (await chatMessage(scene)).channel } }) },
}
