import type { Recipes } from './recipe.ts'
import { type Scene, unique } from './scene.ts'

const url = 'http://127.0.0.1:1024/call'

/** Makes an application. @returns its id as the parameter of a request */
export const madeApplication = async ({ world, tenant, mark }: Scene) => {
  const { body } = await world.call(tenant, 'POST', '/open/voip/applications', { name: unique(mark), url })
  return { params: { application_uuid: body.application.uuid } }
}

export const applicationRecipes: Recipes = {
  listApplications: { ok: async (scene) => madeApplication(scene).then(() => ({})) },
  createApplication: { ok: ({ mark }) => ({ body: { name: unique(mark), url } }) },
  getApplication: { ok: madeApplication },
  changeApplication: {
    ok: async (scene) => ({ ...(await madeApplication(scene)), body: { name: unique(scene.mark) } }),
  },
  deleteApplication: {
    ok: madeApplication,
    conflict: async (scene) => {
      const { params } = await madeApplication(scene)
      const { uuid } = await scene.number()
      const voice = { kind: 'application', application_uuid: params.application_uuid }
      await scene.world.call(scene.tenant, 'PUT', `/open/voip/virtual-numbers/${uuid}`, { voice })
      return { params }
    },
  },
  rotateApplicationSecret: { ok: madeApplication },
}
