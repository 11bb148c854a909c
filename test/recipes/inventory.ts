import type { Recipes } from './recipe.ts'
import { group, ownNumber, type Scene } from './scene.ts'

/** A number in the inventory of no scene. */
const stray = '+441632999999'
const price = { country: 'GB', type: 'mobile', prefix: '74' }

const owned = async (scene: Scene) => ({ virtual_number_uuid: (await scene.number()).uuid })
const suspended = async (scene: Scene) => ({ virtual_number_uuid: await scene.suspended() })

export const inventoryRecipes: Recipes = {
  importInventory: {
    ok: () => ({ body: ownNumber() }),
    invalid: () => ({ body: 'number,country,type\n44,GB,local\n' }),
  },
  listImports: { ok: async (scene) => scene.imported().then(() => ({})) },
  listInventory: {
    ok: () => ({ query: { state: 'free', group_id: group.id, prefix: '441632', results_per_page: 3 } }),
    notFound: () => ({ query: { group_id: 'GB-local-1632-nowhere' } }),
  },
  withdrawInventory: {
    ok: () => ({ body: { numbers: [stray] } }),
    notFound: () => ({ body: { group_id: 'GB-local-1632-nowhere' } }),
    unprocessable: () => ({ body: { numbers: ['nobody'] } }),
  },
  restoreInventory: {
    ok: () => ({ body: { numbers: [stray] } }),
    notFound: () => ({ body: { group_id: 'GB-local-1632-nowhere' } }),
    unprocessable: () => ({ body: { numbers: ['nobody'] } }),
  },
  listSoldNumbers: {
    ok: async (scene) => {
      await scene.number()
      return { query: { account_uuid: scene.tenant.uuid, results_per_page: 3 } }
    },
  },
  suspendNumber: {
    ok: async (scene) => ({ params: await owned(scene), body: { reason: scene.mark } }),
    conflict: async (scene) => suspended(scene).then((params) => ({ params, body: { reason: scene.mark } })),
  },
  reinstateNumber: {
    ok: async (scene) => ({ params: await suspended(scene) }),
    conflict: async (scene) => ({ params: await owned(scene) }),
  },
  listNumberPrices: { ok: () => ({}) },
  setNumberPrices: { ok: () => ({ body: { prices: [{ ...price, monthly_price: '2' }] } }) },
  importNumberPrices: {
    ok: () => ({ body: 'country,type,prefix,monthly_price\nGB,mobile,74,2\n' }),
    unprocessable: () => ({ body: 'country,type,monthly_price\nGB,letter,2\n' }),
  },
  getImport: { ok: async (scene) => ({ params: { import_uuid: await scene.imported() } }) },
}
