import type { Sql, Tx } from '../../../../platform/db/sql.ts'

// SQL of inbound events.

/** An inbound message as stored. */
export type InboundRow = {
  account: string
  id: string
  channel: string
  peer: string
  networkId: string
  /** Sent from another device of the number, so outbound. */
  isOwn: boolean
  number: string | null
  /** The form of the number that the network gave, if it has several. */
  dialled: string | null
  remote: string | null
  pushname: string | null
  group: string | null
  author: string | null
  text: string | null
  /** JSON. */
  pin: string | null
  /** JSON. */
  content: string | null
  media: string | null
  at: number
  /** A person wrote it who is a blocked contact: it joins no conversation, and makes no event. */
  isBlocked: boolean
}

/**
 * Inserts new messages. The echo of a message that this API is just sending, under our own id, is skipped. Rows are
 * inserted in one order: two processes that receive the same messages wait for each other's instead of deadlocking.
 * The first of two concurrent duplicates counts.
 * @returns the ids of the new ones
 */
export const insertNew = (tx: Tx, rows: readonly InboundRow[]) => tx.many<{ id: string }>`
  insert into msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, author, text, media_id, pin, content, network_id,
    at, ack, blocked, created_at, updated_at)
  select account_id, id, channel_id, peer, case when is_own then 'outbound' else 'inbound' end,
    case when is_own then 'agent' else 'user' end, author, text, media_id, pin::jsonb, content::jsonb, network_id, at,
    case when is_own then 1 else 2 end, case when is_blocked then true end, (select app_now()), (select app_now())
  from unnest(
    ${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.channel)}::uuid[],
    ${rows.map((r) => r.peer)}::text[], ${rows.map((r) => r.isOwn)}::boolean[], ${rows.map((r) => r.author)}::text[],
    ${rows.map((r) => r.text)}::text[], ${rows.map((r) => r.media)}::uuid[], ${rows.map((r) => r.pin)}::text[],
    ${rows.map((r) => r.networkId)}::text[], ${rows.map((r) => new Date(r.at))}::timestamptz[],
    ${rows.map((r) => r.isBlocked)}::boolean[], ${rows.map((r) => r.content)}::text[]
  ) as g (account_id, id, channel_id, peer, is_own, author, text, media_id, pin, network_id, at, is_blocked, content)
  where not (is_own and exists (
    select from msgapp_messages m
    where m.account_id = g.account_id and m.channel_id = g.channel_id
      and m.id = case when g.network_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then g.network_id::uuid end))
  order by channel_id, network_id, id
  on conflict (channel_id, network_id) where network_id is not null do nothing
  returning id`

/** Applies receipts that arrived before their messages. */
export const applyEarlyReceipts = (tx: Tx, rows: readonly Pick<InboundRow, 'account' | 'id'>[]) => tx.many<{
  id: string
  ack: number
}>`
  with early as (
    delete from msgapp_early_receipts e
    using unnest(${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.id)}::uuid[]) as g (account_id, id)
    join msgapp_messages m using (account_id, id)
    where e.channel_id = m.channel_id and e.network_id = m.network_id
    returning m.account_id, m.id, case when e.peer in ('', m.peer) then e.level end as level,
      case when e.peer in ('', m.peer) then e.read_at end as read_at
  ), counted as (
    select account_id, id, max(level) as level, min(read_at) as read_at from early group by account_id, id
  )
  update msgapp_messages m set ack = greatest(m.ack, e.level), read_at = e.read_at
  from counted e where m.account_id = e.account_id and m.id = e.id and e.level is not null
  returning m.id, m.ack`

/**
 * Adds messages to their conversations, and returns since when each of those was quiet. Written in their lock
 * order (docs/locks.md).
 */
export const addToChats = (tx: Tx, rows: readonly InboundRow[]) => tx.many<{
  channel_id: string
  peer: string
  quiet: boolean
  previous_at: Date | null
}>`
  with given as materialized (
    select *, (select app_now()) as now from unnest(
      ${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.channel)}::uuid[], ${rows.map((r) => r.peer)}::text[],
      ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.number)}::text[], ${rows.map((r) => r.remote)}::text[],
      ${rows.map((r) => r.pushname)}::text[], ${rows.map((r) => r.group)}::uuid[], ${rows.map((r) => r.isOwn)}::boolean[],
      ${rows.map((r) => r.dialled)}::text[]
    ) with ordinality as g (account_id, channel_id, peer, id, number, remote_id, pushname, group_id, is_own, dialled, n)
  )
  insert into msgapp_chats (account_id, channel_id, peer, number, remote_id, pushname, group_id, last_at, last_message_id,
    last_inbound_at, unread, dialled)
  select account_id, channel_id, peer, max(number), max(remote_id), (array_agg(pushname order by n desc)
      filter (where pushname is not null and not is_own))[1], max(group_id::text)::uuid, max(now),
    (array_agg(id order by n desc))[1], max(now) filter (where not is_own), count(*) filter (where not is_own),
    (array_agg(dialled order by n desc) filter (where dialled is not null))[1]
  from given group by account_id, channel_id, peer order by account_id, channel_id, peer
  on conflict (account_id, channel_id, peer) do update set previous_at = msgapp_chats.last_at,
    number = coalesce(msgapp_chats.number, excluded.number), remote_id = coalesce(excluded.remote_id, msgapp_chats.remote_id),
    pushname = coalesce(excluded.pushname, msgapp_chats.pushname),
    dialled = coalesce(excluded.dialled, msgapp_chats.dialled),
    last_at = greatest(msgapp_chats.last_at, excluded.last_at), last_message_id = excluded.last_message_id,
    last_inbound_at = coalesce(excluded.last_inbound_at, msgapp_chats.last_inbound_at),
    unread = case when excluded.last_inbound_at is null then 0 else msgapp_chats.unread + excluded.unread end
  returning channel_id, peer, previous_at, previous_at is null or previous_at <= last_at - interval '1 hour' as quiet`

/** Takes a shared lock while resolving senders without a number; `moveToNumber` waits for it. */
export const lockStrangersShared = (tx: Tx, channels: readonly string[]) => tx.run`
  select pg_advisory_xact_lock_shared(hashtextextended('msgapp strangers ' || c, 0))
  from (select c from unnest(${channels}::text[]) c order by c) as ordered`

/**
 * Finds conversations by the network's id of the other party. If several have one id, after a change of number, the
 * last one used counts.
 */
export const chatsByRemote = (
  tx: Sql,
  rows: readonly { account: string; channel: string; remote: string }[],
) => tx.many<{
  channel_id: string
  remote_id: string
  peer: string
  number: string | null
}>`
  select channel_id, remote_id, peer, number from msgapp_chats_by_remote(
    ${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.channel)}::uuid[], ${rows.map((r) => r.remote)}::text[])`

/** Finds groups by their network ids, and creates missing ones, in the lock order of groups (docs/locks.md). */
export const findOrCreateGroups = (
  tx: Tx,
  rows: readonly { account: string; channel: string; id: string; networkId: string; name: string | null }[],
) => tx.many<{ channel_id: string; network_id: string; id: string }>`
  with given as materialized (
    select distinct on (channel_id, network_id collate "C") * from unnest(
      ${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.channel)}::uuid[],
      ${rows.map((r) => r.networkId)}::text[], ${rows.map((r) => r.name)}::text[]
    ) as g (account_id, id, channel_id, network_id, name)
    order by channel_id, network_id collate "C", id desc
  )
  insert into msgapp_groups (account_id, id, channel_id, network_id, name, created_at, updated_at)
  select account_id, id, channel_id, network_id, coalesce(name, ''), (select app_now()), (select app_now()) from given
  on conflict (channel_id, network_id) where network_id is not null do update
    set name = coalesce(nullif(excluded.name, ''), msgapp_groups.name)
  returning channel_id, network_id, id`

type ChangedMessage = { account_id: string; id: string }

/** @returns null if the message is unknown, or has a later edit */
export const storeEdit = (tx: Tx, channel: string, e: { id: string; text: string; at: number }) => tx.maybe<
  ChangedMessage & { previous: string | null; is_blocked: boolean }
>`
  with before as materialized (
    select account_id, id, text, blocked is true as is_blocked from msgapp_messages
    where channel_id = ${channel} and network_id = ${e.id} and removed is null
      and (edited_at is null or edited_at < ${new Date(e.at)}) and text is distinct from ${e.text}
    for update
  )
  update msgapp_messages m set text = ${e.text}, edited_at = ${new Date(e.at)}, updated_at = (select app_now())
  from before where m.account_id = before.account_id and m.id = before.id
  returning m.account_id, m.id, before.text as previous, before.is_blocked`

/** @prop peer conversation that must contain the message; null if the network vouches for it */
export type Reaction = { id: string; by: string; emoji: string | null; at: number; peer: string | null }

/** @returns null if the message is unknown, or has the same or a later reaction of that person */
export const storeReaction = (tx: Tx, channel: string, r: Reaction) => tx.maybe<
  ChangedMessage & { is_in_group: boolean }
>`
  update msgapp_messages m
  set reactions = coalesce(reactions, '{}') || jsonb_build_object(${r.by}::text,
      jsonb_build_object('emoji', ${r.emoji}::text, 'at', ${r.at}::double precision)), updated_at = (select app_now())
  where channel_id = ${channel} and network_id = ${r.id} and removed is null
    and (${r.peer}::text is null or peer = ${r.peer}) and coalesce((reactions -> ${r.by}::text ->> 'at')::double precision, 0) < ${r.at}
    and (reactions -> ${r.by}::text ->> 'emoji') is distinct from ${r.emoji}::text
  returning account_id, id, exists (
    select from msgapp_chats c
    where c.account_id = m.account_id and c.channel_id = m.channel_id and c.peer = m.peer and c.group_id is not null
  ) as is_in_group`

export type CallRow = {
  account: string
  id: string
  channel: string
  networkId: string
  number: string | null
  remote: string
  group: string | null
  isVideo: boolean
  at: number
  isEnded: boolean
}

/** @returns whether the call is new */
export const storeCall = async (tx: Tx, c: CallRow): Promise<boolean> => {
  const fresh = await tx.run`
    insert into msgapp_calls (account_id, id, channel_id, network_id, number, remote_id, group_network_id, is_video, at, ended_at,
      created_at)
    values (${c.account}, ${c.id}, ${c.channel}, ${c.networkId}, ${c.number}, ${c.remote}, ${c.group}, ${c.isVideo},
      ${new Date(c.at)}, ${c.isEnded ? new Date(c.at) : null}, app_now())
    on conflict (channel_id, network_id) do nothing`
  if (fresh === 0 && c.isEnded)
    await tx.run`
      update msgapp_calls set ended_at = ${new Date(c.at)}
      where channel_id = ${c.channel} and network_id = ${c.networkId} and ended_at is null`
  return fresh === 1
}

/** Returns the id of a stored call. */
export const findCall = async (
  tx: Tx,
  { account, channel }: { account: string; channel: string },
  networkId: string,
): Promise<string | null> =>
  (
    await tx.maybe<{ id: string }>`
      select id from msgapp_calls where account_id = ${account} and channel_id = ${channel} and network_id = ${networkId}`
  )?.id ?? null

/**
 * Handles a number that became known. The conversation under the network's id continues under the number, merged with
 * an existing one. Locks both conversations, and then messages in the order of receipts. It must run alone in its
 * transaction, because writers of messages hold other conversations. Senders without a number are resolved before or
 * after it (`lockStrangersShared`).
 */
export const moveToNumber = async (
  tx: Tx,
  { account, channel }: { account: string; channel: string },
  { remote, number, peer }: { remote: string; number: string; peer: string },
): Promise<void> => {
  await tx.run`select pg_advisory_xact_lock(hashtextextended('msgapp strangers ' || ${channel}::text, 0))`
  const chats = await tx.many<{ peer: string }>`
    select peer from msgapp_chats
    where account_id = ${account} and channel_id = ${channel} and (peer = ${peer} or (peer = ${remote} and number is null))
    order by peer for update`
  const [isOld, isKnown] = [remote, peer].map((one) => chats.some((chat) => chat.peer === one))
  if (isKnown)
    await tx.run`
      update msgapp_chats set remote_id = ${remote}
      where account_id = ${account} and channel_id = ${channel} and peer = ${peer} and remote_id is distinct from ${remote}`
  if (isOld && remote !== peer)
    await moveConversation(tx, account, channel, remote, { peer, number, isKnown: isKnown === true })
}

/** Handles a changed number: the conversation continues under the new one, merged with an existing one. An id that is the
 *  former number itself is no address any more. */
export const moveToNewNumber = async (
  tx: Tx,
  { account, channel }: { account: string; channel: string },
  { before, number, peer }: { before: string; number: string; peer: string },
): Promise<void> => {
  const chats = await tx.many<{ peer: string }>`
    select peer from msgapp_chats
    where account_id = ${account} and channel_id = ${channel} and peer in (${peer}, ${before}) and group_id is null
    order by peer for update`
  const [isOld, isKnown] = [before, peer].map((one) => chats.some((chat) => chat.peer === one))
  if (!isOld || before === peer) return
  await tx.run`
    update msgapp_chats set dialled = null, remote_id = case
      when remote_id ~ '^\\d+$' and canonical_number('+' || remote_id) = '+' || split_part(peer, '@', 1) then null
      else remote_id end
    where account_id = ${account} and channel_id = ${channel} and peer = ${before}`
  await moveConversation(tx, account, channel, before, { peer, number, isKnown: isKnown === true })
}

/**
 * Moves a locked conversation to another peer, merged with an existing one, which is locked too. The former peer
 * still leads to it.
 */
const moveConversation = async (
  tx: Tx,
  account: string,
  channel: string,
  before: string,
  { peer, number, isKnown }: { peer: string; number: string; isKnown: boolean },
): Promise<void> => {
  await tx.run`
    delete from msgapp_former_peers where account_id = ${account} and channel_id = ${channel} and peer = ${peer}`
  await tx.run`
    update msgapp_former_peers set current_peer = ${peer}
    where account_id = ${account} and channel_id = ${channel} and current_peer = ${before}`
  await tx.run`
    insert into msgapp_former_peers (account_id, channel_id, peer, current_peer) values (${account}, ${channel}, ${before}, ${peer})
    on conflict (account_id, channel_id, peer) do update set current_peer = excluded.current_peer`
  await tx.run`
    with held as materialized (
      select id from msgapp_messages where account_id = ${account} and channel_id = ${channel} and peer = ${before}
      order by id for update
    )
    update msgapp_messages m set peer = ${peer} from held where m.account_id = ${account} and m.id = held.id`
  if (!isKnown) {
    await tx.run`
      update msgapp_chats set peer = ${peer}, number = ${number}
      where account_id = ${account} and channel_id = ${channel} and peer = ${before}`
    return
  }
  await tx.run`
    with old as (
      delete from msgapp_chats where account_id = ${account} and channel_id = ${channel} and peer = ${before} returning *
    )
    update msgapp_chats c set unread = c.unread + old.unread, pushname = coalesce(c.pushname, old.pushname),
      remote_id = coalesce(c.remote_id, old.remote_id), dialled = coalesce(c.dialled, old.dialled),
      read_to = case when c.read_to is not null and old.read_to is not null then least(c.read_to, old.read_to) end,
      last_message_id = case when old.last_at > c.last_at then old.last_message_id else c.last_message_id end,
      last_at = greatest(c.last_at, old.last_at), last_inbound_at = greatest(c.last_inbound_at, old.last_inbound_at)
    from old where c.account_id = old.account_id and c.channel_id = old.channel_id and c.peer = ${peer}`
}
