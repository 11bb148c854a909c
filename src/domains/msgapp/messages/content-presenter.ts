import type { Static } from 'typebox'
import type { Sql } from '../../../platform/db/sql.ts'
import { print } from '../../../platform/lib/id.ts'
import type { ChatLocation } from '../../../ports/chat-message.ts'
import { maxQuotedLength } from '../limits.ts'
import type { Content } from './content-schema.ts'

/** The column `content`; `storableContent` writes it. */
export type StoredContent = Static<typeof Content>

/** The columns of a message that its content is presented from. */
type ContentRow = {
  account_id: string
  channel_id: string
  peer: string
  pin: ChatLocation | null
  content: StoredContent | null
}

/** A message that another one of its conversation quotes. */
type QuotedRow = {
  channel_id: string
  network_id: string
  id: string
  sent_by: 'user' | 'api' | 'agent'
  text: string | null
}

/** Finds quoted messages by the row that quotes; null if it was deleted, or is not known here. */
export type FindQuoted = (row: ContentRow) => QuotedRow | null

/**
 * Looks up the messages that others quote. Only messages of the same conversation are found: a sender may name any id.
 */
export const loadQuoted = async (sql: Sql, rows: readonly ContentRow[]): Promise<FindQuoted> => {
  const quoting = rows.flatMap(({ account_id, channel_id, peer, content }) =>
    content?.quoted ? [{ account_id, channel_id, peer, quoted: content.quoted.wa_msg_id }] : [],
  )
  if (quoting.length === 0) return () => null
  const found = await sql.many<QuotedRow & { peer: string }>`
    select m.channel_id, m.peer, m.network_id, m.id, m.sent_by, m.text
    from unnest(${quoting.map((q) => q.account_id)}::uuid[], ${quoting.map((q) => q.channel_id)}::uuid[],
      ${quoting.map((q) => q.peer)}::text[], ${quoting.map((q) => q.quoted)}::text[])
      g (account_id, channel_id, peer, network_id)
    cross join lateral (
      select o.account_id, o.channel_id, o.peer, o.network_id, o.id, o.sent_by,
        left(o.text, ${maxQuotedLength}::integer) as text
      from msgapp_messages o
      where o.channel_id = g.channel_id and o.network_id = g.network_id and o.removed is null and o.blocked is not true
      offset 0) m
    where m.account_id = g.account_id and m.peer = g.peer`
  const known = new Map(found.map((row) => [`${row.channel_id} ${row.peer} ${row.network_id}`, row]))
  return ({ channel_id, peer, content }) => known.get(`${channel_id} ${peer} ${content?.quoted?.wa_msg_id}`) ?? null
}

/** Returns `message.content`. Locations have it too, as `pin` alone was before. */
export const presentContent = (row: ContentRow, quoted: FindQuoted): StoredContent | null => {
  const content: StoredContent | null = row.content ?? (row.pin ? { kind: 'location', ...row.pin } : null)
  if (!content?.quoted) return content
  const known = quoted(row)
  const message = known
    ? { message_uuid: print('MSG', known.id), sent_by: known.sent_by, ...(known.text ? { text: known.text } : {}) }
    : {}
  return { ...content, quoted: { ...content.quoted, ...message } }
}
