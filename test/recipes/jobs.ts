import { uuid } from '../../src/platform/lib/id.ts'
import type { Recipes } from './recipe.ts'
import type { Scene } from './scene.ts'

/** A dead job. @param settled its failure took effect */
const dead = async ({ world: { db }, tenant, mark }: Scene, settled = false): Promise<string> => {
  const id = uuid()
  await db.run`
    insert into dead_jobs (id, account_id, kind, payload, run_at, fence, attempts, created_at, last_error, is_settled)
    values (${id}, ${tenant.id}, 'example', ${{ mark }}, now(), 1, 1, now(), ${mark}, ${settled})`
  return `DJB${id}`
}

export const jobRecipes: Recipes = {
  listDeadJobs: {
    ok: () => ({}),
    invalid: () => ({ query: { cursor: 'no cursor' } }),
    notFound: () => ({ query: { account_uuid: 'ACC1' } }),
  },
  requeueDeadJob: {
    ok: async (scene) => ({ params: { job_uuid: await dead(scene) } }),
    conflict: async (scene) => ({ params: { job_uuid: await dead(scene, true) } }),
  },
  requeueDeadJobs: { ok: () => ({ body: { kind: 'example' } }) },
  deleteDeadJob: { ok: async (scene) => ({ params: { job_uuid: await dead(scene) } }) },
  deleteDeadJobs: { ok: () => ({ query: { kind: 'example' } }) },
}
