import type { Tx } from '../../../platform/db/sql.ts'
import { ok, route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse, print, uuid } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { maySee } from '../access.ts'
import { type Actor, actorOf } from '../actor.ts'
import { putWords } from '../apply-store.ts'
import { publishConversations } from '../conversation-events.ts'
import { type ItemRow, lock as lockRow } from '../conversation-store.ts'
import { lockConversation } from '../find-conversation.ts'
import { makeItemPresenter } from '../item-presenter.ts'
import { refusals } from '../refusals.ts'
import { hashesOf } from '../words.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

/** Returns the bare ids of mentioned users. @throws Problem 404 for one who is not an active user */
const mentionedUsers = async (tx: Tx, account: string, printed: readonly string[]): Promise<string[]> => {
  const users = printed.map((one) => ({ printed: one, id: parse('USR', one) }))
  const ids = [...new Set(users.flatMap(({ id }) => id ?? []))]
  const active = ids.length > 0 ? await store.activeUsers(tx, account, ids) : new Set()
  for (const one of users)
    if (one.id === null || !active.has(one.id)) throw refusals.unknownMember(one.printed).at('mentions')
  return ids
}

const indexWords = (tx: Tx, account: string, note: Pick<store.NoteRow, 'id' | 'conversation_id' | 'text'>) =>
  putWords(tx, account, [
    { id: note.id, conversation: note.conversation_id, kind: 'note', words: hashesOf(account, note.text) },
  ])

const itemOf = ({ id, user_id, created_at }: Pick<store.NoteRow, 'id' | 'user_id' | 'created_at'>): ItemRow => ({
  ...{ id, kind: 'note', direction: null, user_id, channel_id: null, at: created_at, change: null },
})

/** Routes of notes: texts within conversations that only colleagues read. */
export const noteRoutes = (services: Services) => {
  const presentItems = makeItemPresenter(services)

  const present = async (tx: Tx, account: string, note: Parameters<typeof itemOf>[0]) => {
    const [item] = await presentItems(tx, account, [itemOf(note)])
    if (!item) throw new Error('the note is not shown')
    return item
  }

  /** Locks a note with its conversation, in their lock order. @throws Problem 404, or 403 for a note of another user */
  const lockNote = async (tx: Tx, actor: Actor, printed: string): Promise<store.NoteRow> => {
    const unknown = refusals.unknownNote(printed)
    const id = parse('NTE', printed)
    const conversation = id && (await store.conversationOf(tx, actor.account, id))
    if (!id || !conversation) throw unknown
    const row = await lockRow(tx, actor.account, conversation)
    if (!row || !maySee(actor, row)) throw unknown
    const note = (await store.lock(tx, actor.account, id)) ?? refuse(unknown)
    if (note.user_id !== actor.userId) actor.require('team_settings')
    return note
  }

  /** Publishes a note with the users who are to be notified of it. */
  const publish = async (tx: Tx, actor: Actor, note: store.NoteRow) => {
    const row = await store.touch(tx, actor.account, note.conversation_id)
    const item = await present(tx, actor.account, note)
    const by = actor.userId
    await publishConversations(tx, actor.account, [{ name: 'conversation.note.created', row, by, more: { item } }])
    return item
  }

  return [
    route(c.createNote, async ({ params, body, tx, ...call }) => {
      const actor = await actorOf(tx, call)
      const { account, userId: user } = actor
      const { id: conversation } = await lockConversation(tx, actor, params.conversation_uuid)
      const mentions = await mentionedUsers(tx, account, body.mentions ?? [])
      const id = uuid()
      await store.create(tx, account, { id, conversation, user, text: body.text, mentions })
      const note = (await store.lock(tx, account, id)) ?? refuse(refusals.unknownNote(print('NTE', id)))
      await indexWords(tx, account, note)
      return ok({ item: await publish(tx, actor, note) })
    }),

    route(c.changeNote, async ({ params, body, tx, ...call }) => {
      const actor = await actorOf(tx, call)
      const { account } = actor
      const before = await lockNote(tx, actor, params.note_uuid)
      const mentions = body.mentions ? await mentionedUsers(tx, account, body.mentions) : before.mentions
      const note = { ...before, text: body.text ?? before.text, mentions }
      await store.change(tx, account, note)
      await indexWords(tx, account, note)
      const row = await store.touch(tx, account, note.conversation_id)
      const item = await present(tx, account, note)
      const by = actor.userId
      const isNew = mentions.some((user) => !before.mentions.includes(user))
      const name = isNew ? 'conversation.note.created' : 'conversation.updated'
      await publishConversations(tx, account, [{ name, row, by, more: isNew ? { item } : {} }])
      return ok({ item })
    }),

    route(c.deleteNote, async ({ params, tx, ...call }) => {
      const actor = await actorOf(tx, call)
      const note = await lockNote(tx, actor, params.note_uuid)
      await store.remove(tx, actor.account, note.id)
      const row = await store.touch(tx, actor.account, note.conversation_id)
      await publishConversations(tx, actor.account, [{ name: 'conversation.updated', row, by: actor.userId }])
      return ok({})
    }),
  ]
}
