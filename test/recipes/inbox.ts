import { uuid } from '../../src/platform/lib/id.ts'
import type { Recipes } from './recipe.ts'
import type { Scene } from './scene.ts'

let numbers = 0

/** A number that has no conversation yet. */
const freshNumber = () => `+44770099${String(++numbers).padStart(4, '0')}`

/** Begins a conversation with a number, whose contact has the mark of the scene. */
export const conversation = async ({ world, tenant, mark }: Scene, number = freshNumber()) => {
  const contact_details = [{ type: 'PH', value: number }]
  const made = await world.call(tenant, 'POST', '/open/contacts', { first_name: mark, contact_details })
  const { body } = await world.call(tenant, 'POST', '/open/conversations', { number })
  return { conversation_uuid: String(body.conversation.uuid), contact_uuid: String(made.body.contact.uuid) }
}

const params = async (scene: Scene) => ({ conversation_uuid: (await conversation(scene)).conversation_uuid })

const member = async ({ world, tenant }: Scene): Promise<string> => {
  const id = uuid()
  await world.db.run`
    insert into users (account_id, id, first_name, last_name, email, status)
    values (${tenant.id}, ${id}, 'Sam', 'Suspended', ${`${id}@example.com`}, 'SUSPENDED')`
  return `USR${id}`
}

export const inboxRecipes: Recipes = {
  listInboxConversations: {
    ok: async (scene) => conversation(scene).then(() => ({ query: { results_per_page: 3 } })),
    notFound: () => ({ query: { contact_uuid: `CON${uuid()}` } }),
  },
  countConversations: {
    ok: () => ({ query: { views: 'open,mine' } }),
    invalid: () => ({ query: { views: 'everything' } }),
    notFound: () => ({ query: { views: `VIW${uuid()}` } }),
  },
  beginConversation: {
    ok: () => ({ body: { number: freshNumber() } }),
    notFound: () => ({ body: { group_uuid: `WAG${uuid()}` } }),
  },
  getInboxConversation: { ok: async (scene) => ({ params: await params(scene) }) },
  changeConversation: {
    ok: async (scene) => ({ params: await params(scene), body: { priority: 1 } }),
    conflict: async (scene) => ({ params: await params(scene), body: { priority: 1, version: 99 } }),
    unprocessable: async (scene) => ({
      params: await params(scene),
      body: { assignee_uuid: await member(scene) },
    }),
  },
  listConversationItems: { ok: async (scene) => ({ params: await params(scene) }) },
  markConversationRead: { ok: async (scene) => ({ params: await params(scene), body: { unread: true } }) },
  listContactConversations: {
    ok: async (scene) => ({ params: { contact_uuid: (await conversation(scene)).contact_uuid } }),
  },
}
