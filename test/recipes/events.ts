import { uuid } from '../../src/platform/lib/id.ts'
import type { Recipes } from './recipe.ts'
import type { Scene } from './scene.ts'

const event_name = 'sms.message.received'

/** The newest event of the scene's tenant, which has one. */
const event = async (scene: Scene): Promise<string> => {
  await scene.contact()
  const { body } = await scene.world.call(scene.tenant, 'GET', '/open/events?results_per_page=1')
  return body.events[0].uuid
}

export const eventRecipes: Recipes = {
  listEvents: {
    ok: async (scene) => {
      await scene.contact()
      return { query: { name: 'contact.created', results_per_page: 2 } }
    },
  },
  getEvent: { ok: async (scene) => ({ params: { event_uuid: await event(scene) } }) },
  search: { ok: async (scene) => ({ query: { q: (await scene.message()).to } }) },
  triggerEvent: {
    ok: async (scene) => ({ params: { event_name }, body: { channel_uuid: (await scene.number()).channel } }),
    invalid: () => ({ params: { event_name: 'sms.message.recieved' } }),
    notFound: () => ({ params: { event_name }, body: { channel_uuid: `SMS${uuid()}` } }),
    // No browser has called yet.
    conflict: async (scene) => ({
      params: { event_name: 'call.outbound.completed' },
      body: { channel_uuid: (await scene.number()).uuid },
    }),
  },
}
