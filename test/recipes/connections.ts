import { uuid } from '../../src/platform/lib/id.ts'
import type { Recipes } from './recipe.ts'
import { unique } from './scene.ts'

const settings = { host: '127.0.0.1', port: 9, system_id: 'recipe', password: 'recipe' }

const network = {
  kind: 'xmpp',
  settings: { mode: 'client', host: '127.0.0.1', port: 9, domain: 'example.net', password: 'recipe' },
  enabled: false,
}

export const connectionRecipes: Recipes = {
  createConnection: {
    ok: ({ mark }) => ({ body: { kind: 'smpp', name: unique(mark), settings, enabled: false } }),
    notFound: ({ mark }) => ({ body: { ...network, name: unique(mark), account_uuids: [`ACC${uuid()}`] } }),
  },
  listConnections: { ok: () => ({}), invalid: () => ({ query: { kind: 'letters' } }) },
  getConnection: { ok: async (scene) => ({ params: { connection_uuid: await scene.connection() } }) },
  changeConnection: {
    ok: async (scene) => ({
      params: { connection_uuid: await scene.connection() },
      body: { name: unique(scene.mark) },
    }),
    conflict: async (scene) => {
      const name = unique(scene.mark)
      await scene.world.call('operator', 'POST', '/operator/connections', {
        kind: 'smpp',
        name,
        settings,
        enabled: false,
      })
      return { params: { connection_uuid: await scene.connection() }, body: { name } }
    },
  },
  deleteConnection: {
    ok: async (scene) => ({ params: { connection_uuid: await scene.connection() } }),
    conflict: async (scene) => {
      const connection = await scene.connection()
      await scene.world.db.run`
        insert into number_orders (account_id, id, connection_id, group_id, sku, item, hold_id, amount, job_id)
        values (${scene.tenant.id}, ${uuid()}, ${connection.slice(3)}, 'any', 'any', '{}', ${uuid()}, 1, ${uuid()})`
      return { params: { connection_uuid: connection } }
    },
  },
  listUnparsedReceipts: { ok: async (scene) => ({ params: { connection_uuid: await scene.connection() } }) },
  testConnection: { ok: async (scene) => ({ params: { connection_uuid: await scene.connection() } }) },
}
