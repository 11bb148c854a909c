import type { Sql } from '../../../platform/db/sql.ts'
import { ok, route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { parse, print, uuid } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { type Actor, actorOf } from '../actor.ts'
import { findChannel } from '../conversation-channel.ts'
import { requireConversation } from '../find-conversation.ts'
import { maxOwnReplies, maxSharedReplies } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import * as store from './store.ts'
import { fill, unknownVariable, type Values, variables } from './variables.ts'

const presentReply = (row: store.ReplyRow) => ({
  uuid: print('RPL', row.id),
  shortcut: row.shortcut,
  title: row.title,
  text: row.text,
  shared: row.user_id === null,
  ...(row.updated_by ? { updated_by: print('USR', row.updated_by) } : {}),
  updated_at: iso(row.updated_at),
})

const checkVariables = (text: string): void => {
  const unknown = unknownVariable(text)
  if (unknown !== null) throw refusals.unknownVariable(unknown, variables.map((name) => `{{${name}}}`).join(', '))
}

/** A shortcut is typed: letter case must not matter. */
const shortcutOf = (text: string): string => text.normalize('NFKC').toLowerCase()

const valuesFor = async (
  sql: Sql,
  actor: Actor,
  { conversation, channel }: { conversation: string; channel: string | undefined },
): Promise<Values> => {
  const { id, last_channel } = await requireConversation(sql, actor, conversation)
  const chosen = channel === undefined ? last_channel : (await findChannel(sql, actor.account, channel)).id
  const person = await store.personOf(sql, actor.account, id)
  const name = person && person.name !== person.counterpart ? person.name : ''
  return {
    first_name: person?.first_name ?? name.split(/\s+/)[0] ?? '',
    last_name: person?.last_name ?? '',
    name,
    number: (chosen && (await store.numberOf(sql, actor.account, chosen))) || '',
    agent: await store.agentName(sql, actor.account, actor.userId),
  }
}

export const replyRoutes = ({ db }: Pick<Services, 'db'>) => [
  route(c.listReplies, async ({ query, ...call }) => {
    const { account } = call
    const actor = await actorOf(db, call)
    const { conversation_uuid: conversation, channel_uuid: channel } = query
    if (channel !== undefined) await findChannel(db, account.id, channel)
    const values = conversation === undefined ? null : await valuesFor(db, actor, { conversation, channel })
    const rows = await store.list(db, account.id, actor.user)
    return ok({
      replies: rows.map((row) => ({ ...presentReply(row), ...(values ? { filled: fill(row.text, values) } : {}) })),
    })
  }),

  route(c.createReply, async ({ body, tx, ...call }) => {
    const { account } = call
    const actor = await actorOf(tx, call)
    const isShared = body.shared ?? false
    if (isShared) actor.require('team_settings')
    checkVariables(body.text)
    const user_id = isShared ? null : actor.user
    await store.lockAccount(tx, account.id)
    const limit = isShared ? maxSharedReplies : maxOwnReplies
    if ((await store.count(tx, account.id, user_id)) >= limit) throw refusals.tooManyReplies(limit)
    const { title, text } = body
    const reply = { id: uuid(), user_id, shortcut: shortcutOf(body.shortcut), title, text, updated_by: actor.userId }
    if (await store.isTaken(tx, account.id, reply)) throw refusals.shortcutExists(reply.shortcut)
    return ok({ reply: presentReply(await store.create(tx, account.id, reply)) })
  }),

  route(c.changeReply, async ({ params, body, tx, ...call }) => {
    const { account } = call
    const actor = await actorOf(tx, call)
    const id = parse('RPL', params.reply_uuid)
    await store.lockAccount(tx, account.id)
    const known =
      (id && (await store.lock(tx, account.id, actor.user, id))) || refuse(refusals.unknownReply(params.reply_uuid))
    const isShared = body.shared ?? known.user_id === null
    if (isShared || known.user_id === null) actor.require('team_settings')
    if (body.text !== undefined) checkVariables(body.text)
    const changed = {
      id: known.id,
      user_id: isShared ? null : actor.user,
      shortcut: body.shortcut === undefined ? known.shortcut : shortcutOf(body.shortcut),
      title: body.title ?? known.title,
      text: body.text ?? known.text,
      updated_by: actor.userId,
    }
    if (await store.isTaken(tx, account.id, changed)) throw refusals.shortcutExists(changed.shortcut)
    return ok({ reply: presentReply(await store.change(tx, account.id, changed)) })
  }),

  route(c.deleteReply, async ({ params, tx, ...call }) => {
    const { account } = call
    const actor = await actorOf(tx, call)
    const id = parse('RPL', params.reply_uuid)
    const known =
      (id && (await store.lock(tx, account.id, actor.user, id))) || refuse(refusals.unknownReply(params.reply_uuid))
    if (known.user_id === null) actor.require('team_settings')
    await store.remove(tx, account.id, known.id)
    return ok({})
  }),
]
