import type { Recipes } from './recipe.ts'
import { type Scene, unique } from './scene.ts'

const url = 'http://127.0.0.1:1024/call'

const made = async ({ world, tenant, mark }: Scene) => {
  const { body } = await world.call(tenant, 'POST', '/open/voip/applications', { name: unique(mark), url })
  return { params: { application_uuid: body.application.uuid } }
}

export const applicationRecipes: Recipes = {
  createApplication: { ok: ({ mark }) => ({ body: { name: unique(mark), url } }) },
  getApplication: { ok: made },
  changeApplication: { ok: async (scene) => ({ ...(await made(scene)), body: { name: unique(scene.mark) } }) },
  deleteApplication: {
    ok: made,
    conflict: async (scene) => {
      const { params } = await made(scene)
      const { uuid } = await scene.number()
      const voice = { kind: 'application', application_uuid: params.application_uuid }
      await scene.world.call(scene.tenant, 'PUT', `/open/voip/virtual-numbers/${uuid}`, { voice })
      return { params }
    },
  },
  rotateApplicationSecret: { ok: made },
}
