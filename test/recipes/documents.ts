import { randomUUID } from 'node:crypto'
import type { Recipes } from './recipe.ts'
import { group, requirement, type Scene } from './scene.ts'

const query = ({ mark }: Scene) => ({ name: mark, kind: 'address' })
const params = async (scene: Scene) => ({ params: { document_uuid: await scene.document() } })
const numbered = async (scene: Scene) => ({ params: { virtual_number_uuid: (await scene.number()).uuid } })
const registrationBody = (document_uuid: string) => ({ requirements: [{ requirement_id: requirement, document_uuid }] })

const approved = async (scene: Scene) => {
  const made = await numbered(scene)
  await scene.world.call('operator', 'POST', `/operator/registrations/${made.params.virtual_number_uuid}/approve`)
  return made
}

export const documentRecipes: Recipes = {
  uploadDocument: {
    ok: (scene) => ({ query: query(scene), body: `%PDF-1.7 ${scene.mark}` }),
    invalid: (scene) => ({ query: query(scene), body: 'no file of that type' }),
  },
  listDocuments: { ok: async (scene) => scene.document().then(() => ({ query: { results_per_page: 5 } })) },
  getDocument: { ok: params },
  getDocumentContent: { ok: params },
  deleteDocument: {
    ok: params,
    conflict: async (scene) => ({ params: { document_uuid: (await scene.registration()).document } }),
  },
  checkNumberRequirements: {
    ok: () => ({ body: { group_id: group.id } }),
    notFound: () => ({ body: { group_id: group.id, ...registrationBody(`DOC${randomUUID()}`) } }),
  },
  getNumberRequirements: { ok: numbered },
  giveNumberRequirements: {
    ok: async (scene) => ({ ...(await numbered(scene)), body: registrationBody(await scene.document()) }),
    conflict: async (scene) => ({ ...(await approved(scene)), body: { requirements: [] } }),
  },
  listRegistrations: { ok: async (scene) => numbered(scene).then(() => ({ query: { results_per_page: 5 } })) },
  showRegistration: { ok: numbered },
  readRegistrationDocument: {
    ok: async (scene) => {
      const { number, document } = await scene.registration()
      return { params: { virtual_number_uuid: number, document_uuid: document } }
    },
  },
  approveRegistration: { ok: numbered, conflict: approved },
  refuseRegistration: {
    ok: async (scene) => ({ ...(await numbered(scene)), body: { reason: scene.mark } }),
    conflict: async (scene) => ({ ...(await approved(scene)), body: { reason: scene.mark } }),
  },
}
