import type { Tx } from '../../../platform/db/sql.ts'
import { ok, route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { parse, print, uuid } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { accessOf } from '../access.ts'
import { changeConversations } from '../change-conversation.ts'
import { lockConversation } from '../find-conversation.ts'
import { maxConversationTags, maxTags } from '../limits.ts'
import { presentConversations } from '../presenter.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { type UntagPayload, untagKind } from './jobs.ts'
import * as store from './store.ts'

const presentTag = ({ id, name, color, created_at }: store.TagRow) => ({
  uuid: print('TAG', id),
  name,
  color,
  created_at: iso(created_at),
})

/** Two names with the same key would be confused. */
const keyOf = (name: string): string => name.normalize('NFKC').toLowerCase()

const idOf = (printed: string): string => parse('TAG', printed) ?? refuse(refusals.unknownTag(printed))

/** Call of a route that tags a conversation. */
type TaggingCall = Parameters<typeof accessOf>[1] & {
  readonly params: { readonly conversation_uuid: string; readonly tag_uuid: string }
  readonly tx: Tx
}

/** Gives a conversation a tag, or takes it. @param edit returns the new tags */
const changeTags = async (call: TaggingCall, edit: (tags: readonly string[], tag: string) => string[]) => {
  const { params, tx } = call
  const access = await accessOf(tx, call)
  const before = await lockConversation(tx, access, params.conversation_uuid)
  const tag = idOf(params.tag_uuid)
  const [known] = await store.lockShared(tx, access.account, [tag])
  if (!known) throw refusals.unknownTag(params.tag_uuid)
  const tags = edit(before.tags, tag)
  if (tags.length > Math.max(maxConversationTags, before.tags.length)) throw refusals.tooManyOnOne(maxConversationTags)
  const [row = before] = await changeConversations(tx, [before], { tags }, access.userId)
  const [conversation] = await presentConversations(tx, access, [row], true)
  if (!conversation) throw new Error('the conversation is missing')
  return ok({ conversation })
}

export const tagRoutes = ({ db }: Pick<Services, 'db'>) => [
  route(c.listTags, async ({ account }) => ok({ tags: (await store.list(db, account.id)).map(presentTag) })),

  route(c.createTag, async ({ account, body, tx }) => {
    const name = body.name.trim()
    await store.lockAccount(tx, account.id)
    if ((await store.count(tx, account.id)) >= maxTags) throw refusals.tooManyTags(maxTags)
    const tag = await store.create(tx, account.id, { id: uuid(), name, key: keyOf(name), color: body.color ?? 'grey' })
    return ok({ tag: presentTag(tag ?? refuse(refusals.tagExists(name))) })
  }),

  route(c.changeTag, async ({ account, params, body, tx }) => {
    const id = idOf(params.tag_uuid)
    await store.lockAccount(tx, account.id)
    const known = (await store.find(tx, account.id, id)) ?? refuse(refusals.unknownTag(params.tag_uuid))
    const name = body.name?.trim() ?? known.name
    if (await store.isNameTaken(tx, account.id, keyOf(name), id)) throw refusals.tagExists(name)
    const changed = { id, name, key: keyOf(name), color: body.color ?? known.color }
    return ok({ tag: presentTag(await store.change(tx, account.id, changed)) })
  }),

  route(c.deleteTag, async ({ account, params, tx }) => {
    const id = idOf(params.tag_uuid)
    if (!(await store.remove(tx, account.id, id))) throw refusals.unknownTag(params.tag_uuid)
    await enqueue(tx, untagKind, { tag: id } satisfies UntagPayload, { account: account.id })
    return ok({})
  }),

  route(c.addConversationTag, (call) =>
    changeTags(call, (tags, tag) => (tags.includes(tag) ? [...tags] : [...tags, tag])),
  ),

  route(c.removeConversationTag, (call) => changeTags(call, (tags, tag) => tags.filter((one) => one !== tag))),
]
