import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Recipes } from './recipe.ts'
import { type Scene, unique } from './scene.ts'

const must = async ({ world, tenant }: Scene, method: 'GET' | 'POST' | 'PUT', url: string, body?: object) => {
  const answer = await world.call(tenant, method, url, body)
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** A conversation with a number that is in no other one. */
const conversation = async (scene: Scene): Promise<string> => {
  const body = { number: scene.chatNumber() }
  return (await must(scene, 'POST', '/open/conversations', body)).conversation.uuid
}
const inConversation = async (scene: Scene) => ({ params: { conversation_uuid: await conversation(scene) } })

const word = (scene: Scene): string => unique(scene.mark).replaceAll(' ', '-').toLowerCase()

const tag = async (scene: Scene, name = unique(scene.mark)): Promise<string> =>
  (await must(scene, 'POST', '/open/tags', { name })).tag.uuid
const oneTag = async (scene: Scene) => ({ params: { tag_uuid: await tag(scene) } })

const reply = async (scene: Scene, shortcut = word(scene)): Promise<string> =>
  (await must(scene, 'POST', '/open/replies', { shortcut, title: scene.mark, text: scene.mark })).reply.uuid
const oneReply = async (scene: Scene) => ({ params: { reply_uuid: await reply(scene) } })

const view = async (scene: Scene): Promise<string> =>
  (await must(scene, 'POST', '/open/views', { name: scene.mark, page: 'inbox', query: { status: 'open' } })).view.uuid
const oneView = async (scene: Scene) => ({ params: { view_uuid: await view(scene) } })

const note = async (scene: Scene): Promise<string> =>
  (await must(scene, 'POST', `/open/conversations/${await conversation(scene)}/notes`, { text: scene.mark })).item.uuid
const oneNote = async (scene: Scene) => ({ params: { note_uuid: await note(scene) } })

const bulkChange = async (scene: Scene) => {
  const body = { uuids: [await conversation(scene)], change: { priority: 1 } }
  return { params: { job_uuid: (await must(scene, 'POST', '/open/conversations/bulk', body)).job_uuid } }
}

/** A user who has not accepted an invitation. */
const invited = async (scene: Scene): Promise<string> => {
  const email = `${word(scene)}@example.com`
  return (await must(scene, 'POST', '/open/members', { first_name: scene.mark, last_name: scene.mark, email })).member
    .uuid
}

const misspelt = '{{frist_name}}'

export const inboxActRecipes: Recipes = {
  sendConversationMessage: {
    ok: async (scene) => ({
      ...(await inConversation(scene)),
      body: { channel_uuid: (await scene.number()).channel, text: unique(scene.mark) },
    }),
    conflict: async (scene) => {
      const before = await inConversation(scene)
      const { channel } = await scene.number()
      const body = { channel_uuid: channel, text: scene.mark }
      await must(scene, 'POST', `/open/conversations/${before.params.conversation_uuid}/messages`, body)
      return { ...before, body: { ...body, seen: 'ITM00000000-0000-7000-8000-000000000000' } }
    },
    notSupported: async (scene) => ({
      ...(await inConversation(scene)),
      body: { channel_uuid: (await scene.number()).channel, template: { name: 'parcel', language: 'en_GB' } },
    }),
    unprocessable: async (scene) => ({
      ...(await inConversation(scene)),
      body: { channel_uuid: (await scene.number()).channel },
    }),
  },

  createNote: { ok: async (scene) => ({ ...(await inConversation(scene)), body: { text: scene.mark } }) },
  changeNote: { ok: async (scene) => ({ ...(await oneNote(scene)), body: { text: scene.mark } }) },
  deleteNote: { ok: oneNote },

  listTags: { ok: async (scene) => tag(scene).then(() => ({})) },
  createTag: { ok: (scene) => ({ body: { name: unique(scene.mark), color: 'blue' } }) },
  changeTag: {
    ok: async (scene) => ({ ...(await oneTag(scene)), body: { name: unique(scene.mark) } }),
    conflict: async (scene) => {
      const name = unique(scene.mark)
      await tag(scene, name)
      return { ...(await oneTag(scene)), body: { name: name.toUpperCase() } }
    },
  },
  deleteTag: { ok: oneTag },
  addConversationTag: {
    ok: async (scene) => ({ params: { ...(await inConversation(scene)).params, ...(await oneTag(scene)).params } }),
    conflict: async (scene) => {
      const { conversation_uuid } = (await inConversation(scene)).params
      for (let i = 0; i < 20; i++)
        await must(scene, 'PUT', `/open/conversations/${conversation_uuid}/tags/${await tag(scene)}`)
      return { params: { conversation_uuid, tag_uuid: await tag(scene) } }
    },
  },
  removeConversationTag: {
    ok: async (scene) => ({ params: { ...(await inConversation(scene)).params, ...(await oneTag(scene)).params } }),
  },

  listReplies: {
    ok: async (scene) => reply(scene).then(async () => ({ query: { conversation_uuid: await conversation(scene) } })),
  },
  createReply: {
    ok: (scene) => ({ body: { shortcut: word(scene), title: scene.mark, text: `{{first_name|you}} ${scene.mark}` } }),
    unprocessable: (scene) => ({ body: { shortcut: word(scene), title: scene.mark, text: misspelt } }),
  },
  changeReply: {
    ok: async (scene) => ({ ...(await oneReply(scene)), body: { title: scene.mark } }),
    conflict: async (scene) => {
      const shortcut = word(scene)
      await reply(scene, shortcut)
      return { ...(await oneReply(scene)), body: { shortcut } }
    },
    unprocessable: async (scene) => ({ ...(await oneReply(scene)), body: { text: misspelt } }),
  },
  deleteReply: { ok: oneReply },

  listViews: { ok: async (scene) => view(scene).then(() => ({})) },
  createView: {
    ok: (scene) => ({ body: { name: scene.mark, page: 'inbox', query: { status: 'open', unread: 'true' } } }),
    unprocessable: (scene) => ({ body: { name: scene.mark, page: 'inbox', query: { status: 'odd' } } }),
  },
  changeView: {
    ok: async (scene) => ({ ...(await oneView(scene)), body: { name: scene.mark } }),
    unprocessable: async (scene) => ({ ...(await oneView(scene)), body: { query: { colour: 'odd' } } }),
  },
  deleteView: { ok: oneView },
  orderViews: {
    ok: async (scene) => ({ body: { uuids: [await view(scene)] } }),
    notFound: () => ({ body: { uuids: [`VIW${randomUUID()}`] } }),
  },

  getDraft: {
    ok: async (scene) => {
      const before = await inConversation(scene)
      await must(scene, 'PUT', `/open/conversations/${before.params.conversation_uuid}/draft`, { text: scene.mark })
      return before
    },
  },
  saveDraft: { ok: async (scene) => ({ ...(await inConversation(scene)), body: { text: scene.mark } }) },
  deleteDraft: { ok: inConversation },

  changeConversations: {
    ok: async (scene) => ({ body: { uuids: [await conversation(scene)], change: { status: 'closed' } } }),
    notFound: () => ({ body: { uuids: [`CNV${randomUUID()}`], change: { status: 'closed' } } }),
    unprocessable: async (scene) => ({
      body: { uuids: [await conversation(scene)], change: { assignee_uuid: await invited(scene) } },
    }),
  },
  showBulkChange: { ok: bulkChange },
  undoBulkChange: { ok: bulkChange },

  setAvailability: {
    ok: async (scene) => ({ body: { state: 'away', user_uuid: await scene.user() } }),
    unprocessable: () => ({ body: { state: 'away' } }),
  },
  showTeam: { ok: () => ({}) },

  uploadMedia: { ok: ({ mark }) => ({ body: `%PDF-1.7 ${mark}` }), invalid: () => ({ body: '' }) },
}
