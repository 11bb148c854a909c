import { uuid } from '../../src/platform/lib/id.ts'
import type { Recipes } from './recipe.ts'

const event_name = 'sms.message.received'

export const eventRecipes: Recipes = {
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
