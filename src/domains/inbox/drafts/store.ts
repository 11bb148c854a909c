import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { ItemKind } from '../conversation-row.ts'

export type DraftRow = {
  kind: 'message' | 'note'
  text: string
  channel_id: string | null
  /** The channel is one of SMS. */
  is_sms: boolean
  reply_to: string | null
  item_kind: ItemKind | null
  item_direction: 'inbound' | 'outbound' | null
  updated_at: Date
}

/** @param user the writer, or the keys of the account */
export type DraftKey = { account: string; user: string; conversation: string; kind: 'message' | 'note' }

export const find = (sql: Sql, { account, user, conversation, kind }: DraftKey) => sql.maybe<DraftRow>`
  select d.kind, d.text, d.channel_id, d.reply_to, d.updated_at, i.kind as item_kind, i.direction as item_direction,
    exists (select from sms_channels s where s.account_id = d.account_id and s.id = d.channel_id) as is_sms
  from conversation_drafts d
  left join conversation_items i
    on i.account_id = d.account_id and i.conversation_id = d.conversation_id and i.id = d.reply_to
  where d.account_id = ${account} and d.user_id = ${user} and d.conversation_id = ${conversation} and d.kind = ${kind}`

type NewDraft = Pick<DraftRow, 'text' | 'channel_id' | 'reply_to'>

export const save = (tx: Tx, { account, user, conversation, kind }: DraftKey, d: NewDraft) => tx.run`
  insert into conversation_drafts (account_id, user_id, conversation_id, kind, text, channel_id, reply_to, updated_at)
  values (${account}, ${user}, ${conversation}, ${kind}, ${d.text}, ${d.channel_id}, ${d.reply_to}, (select app_now()))
  on conflict (account_id, user_id, conversation_id, kind) do update
    set text = excluded.text, channel_id = excluded.channel_id, reply_to = excluded.reply_to,
      updated_at = excluded.updated_at`

export const remove = (tx: Tx, { account, user, conversation, kind }: DraftKey) => tx.run`
  delete from conversation_drafts
  where account_id = ${account} and user_id = ${user} and conversation_id = ${conversation} and kind = ${kind}`
