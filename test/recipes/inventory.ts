import assert from 'node:assert/strict'
import type { Recipes } from './recipe.ts'
import type { Scene } from './scene.ts'

const url = '/operator/inventory/import'
let made = 0
/** A file of one number that no other one has. */
const file = () => `number,country,type,monthly_price\n+4416328${String(++made).padStart(5, '0')},GB,local,1.50\n`

const imported = async ({ world }: Scene): Promise<string> => {
  const headers = { 'x-operator-key': world.operatorKey, 'content-type': 'text/csv' }
  const answer = await world.app.inject({ method: 'POST', url, headers, payload: file() })
  assert.equal(answer.statusCode, 201, answer.body)
  return answer.json().import_uuid
}

export const inventoryRecipes: Recipes = {
  importInventory: {
    ok: () => ({ body: file() }),
    invalid: () => ({ body: 'number,country,type\n44,GB,local\n' }),
  },
  listImports: { ok: async (scene) => imported(scene).then(() => ({})) },
  getImport: { ok: async (scene) => ({ params: { import_uuid: await imported(scene) } }) },
}
