import { ok, route } from '../../../platform/http/endpoint.ts'
import { iso } from '../../../platform/lib/clock.ts'
import type { Services } from '../../../services.ts'
import { type Access, accessOf } from '../access.ts'
import { findChannel } from '../conversation-channel.ts'
import type { ConversationRow } from '../conversation-row.ts'
import { requireConversation, requireQuoted } from '../find-conversation.ts'
import { printChannel, printItem } from '../presenter.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

const presentDraft = (row: store.DraftRow) => ({
  kind: row.kind,
  text: row.text,
  ...(row.channel_id === null ? {} : { channel_uuid: printChannel(row.is_sms ? 'sms' : 'msgapp', row.channel_id) }),
  ...(row.reply_to === null || row.item_kind === null
    ? {}
    : { reply_to: printItem(row.item_kind, row.item_direction, row.reply_to) }),
  updated_at: iso(row.updated_at),
})

const keyOf = (
  { account, user }: Access,
  { id: conversation }: Pick<ConversationRow, 'id'>,
  kind: store.DraftKey['kind'] = 'message',
): store.DraftKey => ({ account, user, conversation, kind })

/** Routes of drafts: each belongs to one user, and no other user reads it. */
export const draftRoutes = ({ db }: Pick<Services, 'db'>) => [
  route(c.getDraft, async ({ params, query, ...call }) => {
    const access = await accessOf(db, call)
    const key = keyOf(access, await requireConversation(db, access, params.conversation_uuid), query.kind)
    const found = await store.find(db, key)
    return ok(found ? { draft: presentDraft(found) } : {})
  }),

  route(c.saveDraft, async ({ params, body, tx, ...call }) => {
    const access = await accessOf(tx, call)
    const conversation = await requireConversation(tx, access, params.conversation_uuid)
    const key = keyOf(access, conversation, body.kind)
    const { text, channel_uuid, reply_to } = body
    const channel = channel_uuid === undefined ? null : await findChannel(tx, key.account, channel_uuid)
    const quoted = reply_to === undefined ? null : await requireQuoted(tx, key.account, conversation, reply_to)
    if (text === '') {
      await store.remove(tx, key)
      return ok({})
    }
    await store.save(tx, key, { text, channel_id: channel?.id ?? null, reply_to: quoted })
    const saved = await store.find(tx, key)
    return ok(saved ? { draft: presentDraft(saved) } : {})
  }),

  route(c.deleteDraft, async ({ params, query, tx, ...call }) => {
    const access = await accessOf(tx, call)
    const conversation = await requireConversation(tx, access, params.conversation_uuid)
    await store.remove(tx, keyOf(access, conversation, query.kind))
    return ok({})
  }),
]
