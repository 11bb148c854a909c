import { uuid } from '../../src/platform/lib/id.ts'
import { madeApplication } from './applications.ts'
import type { Recipes } from './recipe.ts'
import { group, type Scene } from './scene.ts'

const country = { country: 'GB' }
const nowhere = 'GB-local-1632-nowhere'
/** A number that is on sale nowhere. */
const number = '+441632999999'
const owned = async (scene: Scene) => ({ virtual_number_uuid: (await scene.number()).uuid })

export const numberRecipes: Recipes = {
  listNumberCountries: { ok: () => ({}) },
  listNumberRegions: { ok: () => ({ query: country }), invalid: () => ({ query: { country: 'ZZ' } }) },
  listNumberCities: { ok: () => ({ query: { ...country, region: group.region } }) },
  listNumberTypes: { ok: () => ({}) },
  listNumberRequirements: { ok: () => ({ query: country }), invalid: () => ({ query: { country: 'ZZ' } }) },
  listNumberGroups: {
    ok: () => ({ query: { ...country, city_name_or_prefix: group.name } }),
    invalid: () => ({ query: { country: 'US' } }),
    notFound: () => ({ query: { ...country, group_id: nowhere } }),
  },
  listAvailableNumbers: {
    ok: () => ({ query: { group_id: group.id, results_per_page: 3 } }),
    invalid: () => ({ query: { group_id: 'GB-local-1632-blind' } }),
    notFound: () => ({ query: { group_id: nowhere } }),
  },
  reserveNumber: {
    ok: () => ({ body: { group_id: group.id } }),
    notFound: () => ({ body: { group_id: nowhere } }),
    conflict: () => ({ body: { group_id: group.id, number } }),
  },
  listReservations: { ok: async (scene) => scene.reservation().then(() => ({})) },
  cancelReservation: {
    ok: async (scene) => ({ params: { reservation_uuid: (await scene.reservation()).uuid } }),
    invalid: () => ({ params: { reservation_uuid: 'x'.repeat(65) } }),
    notFound: () => ({ params: { reservation_uuid: uuid() } }),
    conflict: async (scene) => {
      const { uuid: reservation_uuid } = await scene.reservation()
      await scene.world.call(scene.tenant, 'DELETE', `/open/numbers/reservations/${reservation_uuid}`)
      return { params: { reservation_uuid } }
    },
  },
  purchaseNumber: {
    ok: (scene) => ({ body: { group_id: group.id, friendly_name: scene.mark } }),
    notFound: () => ({ body: { group_id: nowhere } }),
    conflict: () => ({ body: { number } }),
  },
  listVirtualNumbers: {
    ok: async (scene) => scene.number().then(() => ({ query: { results_per_page: 5 } })),
    invalid: () => ({ query: { country: 'QQ' } }),
  },
  getVirtualNumber: { ok: async (scene) => ({ params: await owned(scene) }) },
  getNumberTimeline: { ok: async (scene) => ({ params: await owned(scene) }) },
  changeVirtualNumber: {
    ok: async (scene) => ({
      params: await owned(scene),
      body: {
        friendly_name: scene.mark,
        inbound_user_uuid: await scene.user(),
        voice: { kind: 'user', user_uuid: await scene.user(), ...(await madeApplication(scene)).params },
      },
    }),
  },
  deleteVirtualNumber: { ok: async (scene) => ({ params: await owned(scene) }) },
}
