import { quoteIdentifier } from '../../platform/db/identifier.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { ConversationRow, ItemKind } from './conversation-row.ts'
import { countCap, frequentWord, searchedTexts } from './limits.ts'

export const find = (sql: Sql, account: string, id: string) => sql.maybe<ConversationRow>`
  select * from conversations where account_id = ${account} and id = ${id}`

export const lock = (tx: Tx, account: string, id: string) => tx.maybe<ConversationRow>`
  select * from conversations where account_id = ${account} and id = ${id} for update`

/** Stores the fields that a person changes. */
export const change = (tx: Tx, row: ConversationRow) => tx.one<ConversationRow>`
  update conversations set status = ${row.status}, assignee_id = ${row.assignee_id}, priority = ${row.priority},
    tags = ${row.tags}::uuid[], snoozed_until = ${row.snoozed_until}, snoozed_till_reply = ${row.snoozed_till_reply},
    waiting_since = ${row.waiting_since}, closed_at = ${row.closed_at}, version = version + 1
  where account_id = ${row.account_id} and id = ${row.id}
  returning *`

export type NewChange = {
  readonly id: string
  readonly conversation: string
  readonly user: string | null
  readonly change: { readonly field: string; readonly from: string | null; readonly to: string | null }
}

/** Inserts the items of changes. */
export const addChanges = (tx: Tx, account: string, rows: readonly NewChange[]) => tx.run`
  insert into conversation_items (account_id, conversation_id, id, kind, user_id, at, change)
  select ${account}, g.conversation_id, g.id, 'change', g.user_id, (select app_now()), g.change::jsonb from unnest(
    ${rows.map((r) => r.conversation)}::uuid[], ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.user)}::uuid[],
    ${rows.map((r) => JSON.stringify(r.change))}::text[]) g (conversation_id, id, user_id, change)`

export type ItemRow = {
  id: string
  kind: ItemKind
  direction: 'inbound' | 'outbound' | null
  user_id: string | null
  channel_id: string | null
  at: Date
  change: { field: string; from: string | null; to: string | null } | null
}

/** Items of a conversation older than one, newest first. @param kinds null: all */
export const itemsBefore = (
  sql: Sql,
  { account_id, id }: Pick<ConversationRow, 'account_id' | 'id'>,
  before: string,
  kinds: readonly string[] | null,
  limit: number,
) => sql.many<ItemRow>`
  select id, kind, direction, user_id, channel_id, at, change from conversation_items
  where account_id = ${account_id} and conversation_id = ${id} and id < ${before}
    and (${kinds}::text[] is null or kind = any (${kinds}::text[]))
  order by id desc limit ${limit}`

/** Items of a conversation newer than one, oldest first. @param kinds null: all */
export const itemsAfter = (
  sql: Sql,
  { account_id, id }: Pick<ConversationRow, 'account_id' | 'id'>,
  after: string,
  kinds: readonly string[] | null,
  limit: number,
) => sql.many<ItemRow>`
  select id, kind, direction, user_id, channel_id, at, change from conversation_items
  where account_id = ${account_id} and conversation_id = ${id} and id > ${after}
    and (${kinds}::text[] is null or kind = any (${kinds}::text[]))
  order by id limit ${limit}`

export const findItem = (sql: Sql, account: string, conversation: string, id: string) => sql.maybe<{ id: string }>`
  select id from conversation_items where account_id = ${account} and conversation_id = ${conversation} and id = ${id}`

/** Stores the read mark of a reader. It does not go back, unless it is set to unread. */
export const setRead = (
  tx: Tx,
  { account, user }: { account: string; user: string },
  conversation: string,
  until: string,
  mayGoBack: boolean,
) => tx.run`
  insert into conversation_reads as r (account_id, user_id, conversation_id, read_until)
  values (${account}, ${user}, ${conversation}, ${until})
  on conflict (account_id, user_id, conversation_id) do update set read_until = excluded.read_until
    where ${mayGoBack} or r.read_until < excluded.read_until`

/** Notes of items, by their ids. */
export const notes = (sql: Sql, account: string, ids: readonly string[]) => sql.many<{
  id: string
  conversation_id: string
  user_id: string | null
  text: string
  mentions: string[]
  created_at: Date
  edited_at: Date | null
  removed_at: Date | null
}>`
  select n.* from unnest(${ids}::uuid[]) i (id)
  cross join lateral (select * from conversation_notes where account_id = ${account} and id = i.id limit 1) n`

/** Numbers of conversations by kind and subject, from the counters. */
export const counters = (sql: Sql, account: string, kinds: readonly string[], subjects: readonly string[]) =>
  sql.many<{ kind: string; subject: string; n: number }>`
    select k.kind, s.subject, (
      select coalesce(sum(n), 0)::integer from conversation_counts
      where account_id = ${account} and kind = k.kind and subject = s.subject) as n
    from unnest(${kinds}::text[]) k (kind), unnest(${subjects}::uuid[]) s (subject)`

/** Number of conversations with a tag. */
export const tagged = async (sql: Sql, account: string, tag: string): Promise<number> =>
  (
    await sql.one<{ n: number }>`
      select coalesce(sum(n), 0)::integer as n from conversation_counts
      where account_id = ${account} and kind = 'tagged' and subject = ${tag}`
  ).n

/** Conversations with a tag of few: the index of tags is read whole. */
export const withTag = async (sql: Sql, account: string, tag: string): Promise<string[]> =>
  (
    await sql.many<{ id: string }>`
      select id from conversations where tags @> array[${tag}::uuid] and account_id = ${account}`
  ).map(({ id }) => id)

/** Conversations with a note that mentions a user, the newest notes first; at most 1,000 notes are read. */
export const withMention = async (sql: Sql, account: string, user: string): Promise<string[]> =>
  (
    await sql.many<{ conversation_id: string }>`
      select distinct conversation_id from (
        select conversation_id from conversation_notes
        where account_id = ${account} and mentions @> array[${user}::uuid] and mentions <> '{}'
          and removed_at is null
        order by id desc limit 1000) newest`
  ).map((row) => row.conversation_id)

/**
 * Conversations with the newest texts, notes and names that have all hashes. A word that is frequent among the newest rows
 * is met by walking them: its entries in the index would all be read and sorted. Measured: 2 s for half of a million texts.
 */
export const withWords = async (sql: Sql, account: string, hashes: readonly number[]): Promise<string[]> => {
  const walk = (examined: number) => sql.many<{ conversation_id: string }>`
    select conversation_id from (
      select conversation_id, words from conversation_words
      where account_id = ${account} order by account_id desc, id desc limit ${examined}::integer) newest
    where words @> ${hashes}::integer[] limit ${searchedTexts}::integer`
  const sample = await walk(frequentWord.sample)
  const rows =
    sample.length >= frequentWord.found
      ? await walk(frequentWord.walked)
      : await sql.many<{ conversation_id: string }>`
          select conversation_id from (
            select conversation_id, id from conversation_words
            where words @> ${hashes}::integer[] and account_id = ${account} offset 0) found
          order by id desc limit ${searchedTexts}::integer`
  return [...new Set(rows.map(({ conversation_id }) => conversation_id))]
}

/** Counts open conversations with unread items, up to a limit, among the latest ones. */
export const countUnread = async (
  sql: Sql,
  { account, user }: { account: string; user: string },
  after: string,
  examined: number,
): Promise<number> =>
  (
    await sql.one<{ n: number }>`
      select count(*)::integer as n from (
        select from (
          select id, last_inbound from conversations
          where account_id = ${account} and status = 'open' order by last_at desc, id desc limit ${examined}) c
        where last_inbound is not null and last_inbound > coalesce((
          select read_until from conversation_reads
          where account_id = ${account} and user_id = ${user} and conversation_id = c.id), ${after})
        limit ${countCap.view + 1}) unread`
  ).n

/** The newest conversations with a contact. */
export const ofContact = (sql: Sql, account: string, contact: string, limit: number) => sql.many<ConversationRow>`
  select * from conversations where account_id = ${account} and contact_id = ${contact}
  order by last_at desc, id desc limit ${limit}`

/** True if the account has the thing that a filter names. */
export const exists = async (
  sql: Sql,
  account: string,
  table: 'users' | 'inbox_tags' | 'contacts' | 'sms_channels' | 'msgapp_channels' | 'virtual_numbers' | 'msgapp_groups',
  id: string,
): Promise<boolean> =>
  (await sql.raw(`select from ${quoteIdentifier(table)} where account_id = $1 and id = $2`, [account, id])).length > 0

export type ViewRow = { id: string; query: { [name: string]: unknown } }

/** A saved view of the inbox that a reader has: shared, or the reader's own. Those of other pages have other filters. */
export const view = (sql: Sql, { account, user }: { account: string; user: string }, id: string) => sql.maybe<ViewRow>`
  select id, query from saved_views
  where account_id = ${account} and id = ${id} and page = 'inbox' and (user_id is null or user_id = ${user})`
