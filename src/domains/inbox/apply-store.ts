import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { ConversationRow } from './conversation-row.ts'
import type { NewItem } from './item-sources.ts'

/**
 * Locks the conversations with counterparts, in the order of their ids. Each is found by its counterpart first: to avoid
 * a sort, the planner would walk all ids of the account. Measured with 500,000 conversations: 1.7 s. A counterpart and an
 * id are ranges of one value in their own order, so that a plan made for an empty table, or for an account that the
 * planner does not know, uses the index of each. Otherwise it walked all conversations of the account for each one:
 * 100 ms with 5,000.
 */
export const lockByCounterpart = (tx: Tx, account: string, counterparts: readonly string[]) => tx.many<ConversationRow>`
  select v.account_id, v.id, v.counterpart, v.number, v.group_id, v.contact_id, v.name, v.status, v.assignee_id, v.priority,
    v.tags, v.snoozed_until, v.snoozed_till_reply, v.last_at, v.last_item, v.last_kind, v.last_direction, v.last_text,
    v.last_channel, v.last_inbound, v.waiting_since, v.first_reply_at, v.closed_at, v.items_before, v.version, v.created_at
  from (
    select o.id, n.counterpart from (select distinct counterpart from unnest(${counterparts}::text[]) g (counterpart)) n
    cross join lateral (
      select id from conversations
      where account_id = ${account} and counterpart >= n.counterpart and counterpart <= n.counterpart
      order by counterpart limit 1) o
    order by o.id offset 0) f
  cross join lateral (
    select * from conversations
    where account_id = ${account} and id >= f.id and id <= f.id and counterpart = f.counterpart
    order by id limit 1 for update) v`

/** Returns those of the counterparts that have a conversation. */
export const counterpartsAmong = async (sql: Sql, account: string, counterparts: readonly string[]) =>
  (
    await sql.many<{ counterpart: string }>`
      select n.counterpart from unnest(${counterparts}::text[]) n (counterpart)
      cross join lateral (
        select from conversations
        where account_id = ${account} and counterpart >= n.counterpart and counterpart <= n.counterpart
        order by counterpart limit 1) o`
  ).map(({ counterpart }) => counterpart)

export const lockById = (tx: Tx, account: string, ids: readonly string[]) => tx.many<ConversationRow>`
  select * from conversations where account_id = ${account} and id = any (${ids}::uuid[]) order by id for update`

/** Name of a conversation whose network hides the number and has no name: the id within the counterpart. */
export const hiddenName = (counterpart: string): string =>
  counterpart.startsWith('remote:') ? counterpart.split(':').slice(2).join(':') : counterpart

/** Continues the conversation of a hidden number under the number, unless that has one. @returns it, if it was renamed */
export const renameCounterpart = (tx: Tx, account: string, former: string, counterpart: string) => tx.maybe<
  Pick<ConversationRow, 'id' | 'name'>
>`
  update conversations c set counterpart = ${counterpart},
    name = case when name = ${hiddenName(former)} then ${counterpart} else name end
  where account_id = ${account} and counterpart = ${former}
    and not exists (select from conversations o where o.account_id = ${account} and o.counterpart = ${counterpart})
  returning id, name`

export const setContact = (
  tx: Tx,
  account: string,
  { id, contact, name }: { readonly id: string; readonly contact: string; readonly name: string },
) => tx.run`
  update conversations set contact_id = ${contact}, name = ${name} where account_id = ${account} and id = ${id}`

/** Inserts conversations. @returns the ids of those whose counterpart had none */
export const insertConversations = (tx: Tx, rows: readonly ConversationRow[]) => tx.many<{ id: string }>`
  insert into conversations (account_id, id, counterpart, number, group_id, contact_id, name, status, assignee_id, last_at,
    last_item, last_kind, last_direction, last_text, last_channel, last_inbound, waiting_since, first_reply_at,
    closed_at, items_before, created_at)
  select * from unnest(
    ${rows.map((r) => r.account_id)}::uuid[], ${rows.map((r) => r.id)}::uuid[],
    ${rows.map((r) => r.counterpart)}::text[], ${rows.map((r) => r.number)}::text[], ${rows.map((r) => r.group_id)}::uuid[],
    ${rows.map((r) => r.contact_id)}::uuid[], ${rows.map((r) => r.name)}::text[],
    ${rows.map((r) => r.status)}::text[], ${rows.map((r) => r.assignee_id)}::uuid[],
    ${rows.map((r) => r.last_at)}::timestamptz[], ${rows.map((r) => r.last_item)}::uuid[],
    ${rows.map((r) => r.last_kind)}::text[], ${rows.map((r) => r.last_direction)}::text[],
    ${rows.map((r) => r.last_text)}::text[], ${rows.map((r) => r.last_channel)}::uuid[],
    ${rows.map((r) => r.last_inbound)}::uuid[], ${rows.map((r) => r.waiting_since)}::timestamptz[],
    ${rows.map((r) => r.first_reply_at)}::timestamptz[], ${rows.map((r) => r.closed_at)}::timestamptz[],
    ${rows.map((r) => r.items_before)}::uuid[], ${rows.map((r) => r.created_at)}::timestamptz[])
  on conflict (account_id, counterpart) do nothing
  returning id`

export type ItemPlace = { readonly conversation: string; readonly item: NewItem }

/** Inserts items. @returns the ids of those that were not there */
export const insertItems = (tx: Tx, account: string, places: readonly ItemPlace[]) => tx.many<{ id: string }>`
  insert into conversation_items (account_id, conversation_id, id, kind, direction, user_id, channel_id, at)
  select ${account}, * from unnest(
    ${places.map((p) => p.conversation)}::uuid[], ${places.map((p) => p.item.id)}::uuid[],
    ${places.map((p) => p.item.kind)}::text[], ${places.map((p) => p.item.direction)}::text[],
    ${places.map((p) => p.item.user)}::uuid[], ${places.map((p) => p.item.channel)}::uuid[],
    ${places.map((p) => p.item.at)}::timestamptz[])
  on conflict do nothing
  returning id`

/**
 * Marks answered calls as read for those who answered them, unless something before the call is unread: the mark of a
 * reader has no gaps.
 */
export const readAnswered = (tx: Tx, account: string, places: readonly ItemPlace[]) => tx.run`
  insert into conversation_reads as r (account_id, user_id, conversation_id, read_until)
  select ${account}, c.user_id, c.conversation_id, max(c.id::text)::uuid
  from unnest(${places.map((p) => p.item.user)}::uuid[], ${places.map((p) => p.conversation)}::uuid[],
    ${places.map((p) => p.item.id)}::uuid[]) c (user_id, conversation_id, id)
  join users u on u.account_id = ${account} and u.id = c.user_id
  join inbox_positions p on p.account_id = ${account}
  where not exists (
    select from conversation_items i
    where i.account_id = ${account} and i.conversation_id = c.conversation_id and i.direction = 'inbound' and i.id < c.id
      and i.user_id is distinct from c.user_id and i.id > coalesce((
        select read_until from conversation_reads
        where account_id = ${account} and user_id = c.user_id and conversation_id = c.conversation_id),
        greatest(p.unread_after, (lpad(to_hex((extract(epoch from u.created_at) * 1000)::bigint), 12, '0')
          || '70008000000000000000')::uuid)))
  group by c.user_id, c.conversation_id
  on conflict (account_id, user_id, conversation_id) do update set read_until = excluded.read_until
    where r.read_until < excluded.read_until`

/** The newest reply of a person in each of these conversations. */
export const lastReplies = (sql: Sql, account: string, conversations: readonly string[]) => sql.many<{
  conversation_id: string
  id: string
}>`
  select c.id as conversation_id, r.id from unnest(${conversations}::uuid[]) c (id)
  cross join lateral (
    select id from conversation_items
    where account_id = ${account} and conversation_id = c.id and direction = 'outbound' and user_id is not null
    order by id desc limit 1) r`

/** Stores what new items change. */
export const updateConversations = (tx: Tx, rows: readonly ConversationRow[]) => tx.run`
  update conversations c set status = g.status, assignee_id = g.assignee_id, snoozed_until = g.snoozed_until,
    snoozed_till_reply = g.snoozed_till_reply, last_at = g.last_at, last_item = g.last_item, last_kind = g.last_kind,
    last_direction = g.last_direction, last_text = g.last_text, last_channel = g.last_channel,
    last_inbound = g.last_inbound, waiting_since = g.waiting_since, first_reply_at = g.first_reply_at,
    closed_at = g.closed_at, items_before = g.items_before, version = g.version, number = g.number
  from unnest(
    ${rows.map((r) => r.account_id)}::uuid[], ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.status)}::text[],
    ${rows.map((r) => r.assignee_id)}::uuid[], ${rows.map((r) => r.snoozed_until)}::timestamptz[],
    ${rows.map((r) => r.snoozed_till_reply)}::boolean[], ${rows.map((r) => r.last_at)}::timestamptz[],
    ${rows.map((r) => r.last_item)}::uuid[], ${rows.map((r) => r.last_kind)}::text[],
    ${rows.map((r) => r.last_direction)}::text[], ${rows.map((r) => r.last_text)}::text[],
    ${rows.map((r) => r.last_channel)}::uuid[], ${rows.map((r) => r.last_inbound)}::uuid[],
    ${rows.map((r) => r.waiting_since)}::timestamptz[], ${rows.map((r) => r.first_reply_at)}::timestamptz[],
    ${rows.map((r) => r.closed_at)}::timestamptz[], ${rows.map((r) => r.items_before)}::uuid[],
    ${rows.map((r) => r.version)}::bigint[], ${rows.map((r) => r.number)}::text[]
  ) g (account_id, id, status, assignee_id, snoozed_until, snoozed_till_reply, last_at, last_item, last_kind,
    last_direction, last_text, last_channel, last_inbound, waiting_since, first_reply_at, closed_at, items_before,
    version, number)
  where c.account_id = g.account_id and c.id = g.id`

export type WordRow = {
  readonly id: string
  readonly conversation: string
  readonly kind: 'name' | 'text' | 'note'
  readonly words: readonly number[]
}

/** Stores the words of texts and names; those of a name or an edited note are replaced. */
export const putWords = (tx: Tx, account: string, rows: readonly WordRow[]) => tx.run`
  insert into conversation_words (account_id, id, conversation_id, kind, words)
  select ${account}, g.id, g.conversation_id, g.kind, g.words::integer[] from unnest(
    ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.conversation)}::uuid[], ${rows.map((r) => r.kind)}::text[],
    ${rows.map((r) => `{${r.words.join()}}`)}::text[]) g (id, conversation_id, kind, words)
  order by g.id
  on conflict (account_id, id) do update set words = excluded.words
    where conversation_words.words is distinct from excluded.words`

/** Users of an account who take conversations: active, and not away. */
export const availableUsers = async (sql: Sql, account: string, ids: readonly string[]): Promise<Set<string>> =>
  new Set(
    (
      await sql.many<{ id: string }>`
        select id from users where account_id = ${account} and id = any (${ids}::uuid[])
          and status = 'ACTIVE' and availability = 'available'`
    ).map(({ id }) => id),
  )

export const now = async (sql: Sql): Promise<Date> => (await sql.one<{ now: Date }>`select app_now() as now`).now

/** Stores the item before which items are yet to be taken in. */
export const setItemsBefore = (tx: Tx, account: string, counterpart: string, before: string | null) => tx.run`
  update conversations set items_before = ${before} where account_id = ${account} and counterpart = ${counterpart}`
