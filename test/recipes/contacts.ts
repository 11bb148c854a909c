import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Recipes } from './recipe.ts'
import { type Scene, unique } from './scene.ts'

const contact = async (scene: Scene) => ({ contact_uuid: await scene.contact() })
const nobody = { contact_details: [{ type: 'PH', value: 'nobody' }] }

/** A picture of one pixel. */
const picture = Buffer.from(
  '47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b',
  'hex',
)

let pictures: Promise<string> | undefined
/** Serves the picture, and does not keep the process alive. */
const pictureUrl = (): Promise<string> => {
  pictures ??= (async () => {
    const server = createServer((_, response) => response.end(picture)).listen(0, '127.0.0.1')
    server.unref()
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo // it listens on TCP
    return `http://127.0.0.1:${port}/ada.gif`
  })()
  return pictures
}

const withPicture = async (scene: Scene): Promise<string> => {
  const contact_uuid = await scene.contact()
  await scene.world.call(scene.tenant, 'PUT', `/open/contacts/${contact_uuid}`, { profile_pic_url: await pictureUrl() })
  return contact_uuid
}

const blocked = async (scene: Scene): Promise<string> => {
  const contact_uuid = await scene.contact()
  await scene.world.call(scene.tenant, 'PUT', `/open/contacts/${contact_uuid}/block`)
  return contact_uuid
}

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
  previewContactImport: {
    ok: ({ mark }) => ({ body: `first_name,email\n${mark},ada@example.com\n` }),
    invalid: () => ({}),
  },
  exportContacts: { ok: () => ({}), invalid: () => ({ query: { format: 'xlsx' } }) },
  getContact: { ok: async (scene) => ({ params: await contact(scene) }) },
  blockContact: { ok: async (scene) => ({ params: await contact(scene) }) },
  unblockContact: { ok: async (scene) => ({ params: { contact_uuid: await blocked(scene) } }) },
  getContactPicture: { ok: async (scene) => ({ params: { contact_uuid: await withPicture(scene) } }) },
  listDuplicateContacts: { ok: () => ({ query: { by: 'number', results_per_page: 3 } }) },
  mergeContacts: {
    ok: async (scene) => ({
      params: await contact(scene),
      body: { from: [await scene.contact()], fields: { last_name: scene.mark } },
    }),
    unprocessable: async (scene) => ({
      params: await contact(scene),
      body: { from: [await scene.contact()], fields: nobody },
    }),
  },
  deleteContact: { ok: async (scene) => ({ params: await contact(scene) }) },
}
