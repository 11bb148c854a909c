import type { Recipes } from './recipe.ts'
import { type Scene, unique } from './scene.ts'

const contact = async (scene: Scene) => ({ contact_uuid: await scene.contact() })
const nobody = { contact_details: [{ type: 'PH', value: 'nobody' }] }

export const contactRecipes: Recipes = {
  createContact: {
    ok: ({ mark }) => ({
      body: { first_name: mark, last_name: mark, contact_details: [{ type: 'PH', value: '+447700900123' }] },
    }),
    unprocessable: ({ mark }) => ({ body: { first_name: mark, ...nobody } }),
  },
  updateContact: {
    ok: async (scene) => ({ params: await contact(scene), body: { last_name: scene.mark } }),
    unprocessable: async (scene) => ({ params: await contact(scene), body: nobody }),
  },
  listContacts: { ok: () => ({ query: { results_per_page: 3 } }) },
  searchContacts: {
    ok: async (scene) => contact(scene).then(() => ({ query: { q: scene.mark, results_per_page: 3 } })),
  },
  importContacts: {
    ok: ({ mark }) => ({ body: `first_name,email\n${mark},${unique('import').replace(' ', '.')}@example.com\n` }),
    invalid: () => ({ body: 'first_name,phone\nAda,nobody\n' }),
  },
  exportContacts: { ok: () => ({}), invalid: () => ({ query: { format: 'xlsx' } }) },
  getContact: { ok: async (scene) => ({ params: await contact(scene) }) },
  deleteContact: { ok: async (scene) => ({ params: await contact(scene) }) },
}
