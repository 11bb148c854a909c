import type { Sql, Tx } from '../../db/sql.ts'

// What comes from networks, as SQL.

/** A message as it is kept. */
export type Arrival = {
  account: string
  id: string
  channel: string
  peer: string
  networkId: string
  /** From another device of the number: outbound then. */
  isOwn: boolean
  number: string | null
  remote: string | null
  pushname: string | null
  group: string | null
  author: string | null
  text: string | null
  /** JSON. */
  pin: string | null
  media: string | null
  at: number
}

/**
 * Keeps those that were not kept before. What a network echoes of a message that this interface is just sending, under the
 * id that we gave it, is no message of its own. In one order: two processes that are told the same wait for each other’s. Of what is
 * told twice at once the first counts.
 * @returns the ids of the new ones
 */
export const add = (tx: Tx, rows: readonly Arrival[]) => tx.many<{ id: string }>`
  insert into msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, author, text, media_id, pin, network_id, at,
    ack, created_at, updated_at)
  select account_id, id, channel_id, peer, case when is_own then 'outbound' else 'inbound' end,
    case when is_own then 'agent' else 'user' end, author, text, media_id, pin::jsonb, network_id, at,
    case when is_own then 1 else 2 end, (select app_now()), (select app_now())
  from unnest(
    ${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.channel)}::uuid[],
    ${rows.map((r) => r.peer)}::text[], ${rows.map((r) => r.isOwn)}::boolean[], ${rows.map((r) => r.author)}::text[],
    ${rows.map((r) => r.text)}::text[], ${rows.map((r) => r.media)}::uuid[], ${rows.map((r) => r.pin)}::text[],
    ${rows.map((r) => r.networkId)}::text[], ${rows.map((r) => new Date(r.at))}::timestamptz[]
  ) as g (account_id, id, channel_id, peer, is_own, author, text, media_id, pin, network_id, at)
  where not (is_own and exists (
    select from msgapp_messages m
    where m.account_id = g.account_id and m.channel_id = g.channel_id
      and m.id = case when g.network_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then g.network_id::uuid end))
  order by channel_id, network_id, id
  on conflict (channel_id, network_id) where network_id is not null do nothing
  returning id`

/** Acknowledges messages as far as receipts did that came before them. */
export const takeEarly = (tx: Tx, rows: readonly Pick<Arrival, 'account' | 'id'>[]) => tx.many<{
  id: string
  ack: number
}>`
  with early as (
    delete from msgapp_early e
    using unnest(${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.id)}::uuid[]) as g (account_id, id)
    join msgapp_messages m using (account_id, id)
    where e.channel_id = m.channel_id and e.network_id = m.network_id
    returning m.account_id, m.id, e.level, e.read_at
  )
  update msgapp_messages m set ack = greatest(m.ack, e.level), read_at = e.read_at
  from early e where m.account_id = e.account_id and m.id = e.id
  returning m.id, m.ack`

/** Writes what they are to their conversations, and says since when each of those was quiet. In one order, so that two batches
 *  cannot wait for each other. */
export const addToChats = (tx: Tx, rows: readonly Arrival[]) => tx.many<{
  channel_id: string
  peer: string
  quiet: boolean
  previous_at: Date | null
}>`
  with given as materialized (
    select *, (select app_now()) as now from unnest(
      ${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.channel)}::uuid[], ${rows.map((r) => r.peer)}::text[],
      ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.number)}::text[], ${rows.map((r) => r.remote)}::text[],
      ${rows.map((r) => r.pushname)}::text[], ${rows.map((r) => r.group)}::uuid[], ${rows.map((r) => r.isOwn)}::boolean[]
    ) with ordinality as g (account_id, channel_id, peer, id, number, remote_id, pushname, group_id, is_own, n)
  )
  insert into msgapp_chats (account_id, channel_id, peer, number, remote_id, pushname, group_id, last_at, last_message_id,
    last_inbound_at, unread)
  select account_id, channel_id, peer, max(number), max(remote_id), (array_agg(pushname order by n desc)
      filter (where pushname is not null and not is_own))[1], max(group_id::text)::uuid, max(now),
    (array_agg(id order by n desc))[1], max(now) filter (where not is_own), count(*) filter (where not is_own)
  from given group by account_id, channel_id, peer order by account_id, channel_id, peer
  on conflict (account_id, channel_id, peer) do update set previous_at = msgapp_chats.last_at,
    number = coalesce(msgapp_chats.number, excluded.number), remote_id = coalesce(excluded.remote_id, msgapp_chats.remote_id),
    pushname = coalesce(excluded.pushname, msgapp_chats.pushname),
    last_at = greatest(msgapp_chats.last_at, excluded.last_at), last_message_id = excluded.last_message_id,
    last_inbound_at = coalesce(excluded.last_inbound_at, msgapp_chats.last_inbound_at),
    unread = case when excluded.last_inbound_at is null then 0 else msgapp_chats.unread + excluded.unread end
  returning channel_id, peer, previous_at, previous_at is null or previous_at <= last_at - interval '1 hour' as quiet`

/** Whom a message without a number is from is looked up: whose number becomes known meanwhile waits (`mapped`). */
export const amongStrangers = (tx: Tx, channels: readonly string[]) => tx.run`
  select pg_advisory_xact_lock_shared(hashtextextended('msgapp strangers ' || c, 0))
  from (select c from unnest(${channels}::text[]) c order by c) as ordered`

/** Conversations with those whom networks call so: of several with one, who changed numbers, that which was used last. */
export const chatsByRemote = (
  tx: Sql,
  rows: readonly { account: string; channel: string; remote: string }[],
) => tx.many<{
  channel_id: string
  remote_id: string
  peer: string
  number: string | null
}>`
  select distinct on (c.channel_id, c.remote_id) c.channel_id, c.remote_id, c.peer, c.number
  from unnest(${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.channel)}::uuid[], ${rows.map((r) => r.remote)}::text[])
    as g (account_id, channel_id, remote_id)
  join msgapp_chats c using (account_id, channel_id, remote_id)
  where c.group_id is null
  order by c.channel_id, c.remote_id, c.number is null, c.last_at desc`

/** Groups by their networks' ids; those that are not known yet begin to be. In the order in which all take groups (groups/acts.ts). */
export const groups = (
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

export type ArrivedFile = {
  account: string
  id: string
  channel: string
  type: string
  mimeType: string
  name: string
  size: number | null
  /** JSON. */
  source: string
}

export const addFiles = (tx: Tx, rows: readonly ArrivedFile[]) => tx.run`
  insert into msgapp_media (account_id, id, channel_id, type, mime_type, name, size, source, created_at)
  select account_id, id, channel_id, type, mime_type, name, size, source::jsonb, (select app_now()) from unnest(
    ${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.channel)}::uuid[],
    ${rows.map((r) => r.type)}::text[], ${rows.map((r) => r.mimeType)}::text[], ${rows.map((r) => r.name)}::text[],
    ${rows.map((r) => r.size)}::bigint[], ${rows.map((r) => r.source)}::text[]
  ) as g (account_id, id, channel_id, type, mime_type, name, size, source)`

type Changed = { account_id: string; id: string }

/** @returns null when the message is not known, or a later edit is */
export const edit = (tx: Tx, channel: string, e: { id: string; text: string; at: number }) => tx.maybe<
  Changed & { previous: string | null }
>`
  with before as materialized (
    select account_id, id, text from msgapp_messages
    where channel_id = ${channel} and network_id = ${e.id} and removed is null
      and (edited_at is null or edited_at < ${new Date(e.at)}) and text is distinct from ${e.text}
    for update
  )
  update msgapp_messages m set text = ${e.text}, edited_at = ${new Date(e.at)}, updated_at = (select app_now())
  from before where m.account_id = before.account_id and m.id = before.id
  returning m.account_id, m.id, before.text as previous`

/** @prop peer whose conversation the message must be of; null where the network vouches for that */
export type Reaction = { id: string; by: string; emoji: string | null; at: number; peer: string | null }

/** @returns null when the message is not known, or has the reaction, or a later one, of that person */
export const react = (tx: Tx, channel: string, r: Reaction) => tx.maybe<Changed>`
  update msgapp_messages
  set reactions = coalesce(reactions, '{}') || jsonb_build_object(${r.by}::text,
      jsonb_build_object('emoji', ${r.emoji}::text, 'at', ${r.at}::double precision)), updated_at = (select app_now())
  where channel_id = ${channel} and network_id = ${r.id} and removed is null
    and (${r.peer}::text is null or peer = ${r.peer}) and coalesce((reactions -> ${r.by}::text ->> 'at')::double precision, 0) < ${r.at}
    and (reactions -> ${r.by}::text ->> 'emoji') is distinct from ${r.emoji}::text
  returning account_id, id`

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

/** @returns whether the call is a new one */
export const call = async (tx: Tx, c: CallRow): Promise<boolean> => {
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

/** The id of a call that is kept. */
export const callOf = async (
  tx: Tx,
  { account, channel }: { account: string; channel: string },
  networkId: string,
): Promise<string | null> =>
  (
    await tx.maybe<{ id: string }>`
      select id from msgapp_calls where account_id = ${account} and channel_id = ${channel} and network_id = ${networkId}`
  )?.id ?? null

/**
 * Whose number became known: the conversation under the network's id goes on under the number, one with it that is there. It
 * holds both conversations, and then messages in the order of receipts: so it stands alone in its transaction, since whoever
 * writes messages holds others. Who takes in messages without a number comes before it or after it (`amongStrangers`).
 */
export const mapped = async (
  tx: Tx,
  { account, channel }: { account: string; channel: string },
  { remote, number, peer }: { remote: string; number: string; peer: string },
): Promise<void> => {
  await tx.run`select pg_advisory_xact_lock(hashtextextended('msgapp strangers ' || ${channel}::text, 0))`
  const chats = await tx.many<{ peer: string }>`
    select peer from msgapp_chats
    where account_id = ${account} and channel_id = ${channel} and (peer = ${peer} or (peer = ${remote} and number is null))
    order by peer for update`
  const [isOld, isThere] = [remote, peer].map((one) => chats.some((chat) => chat.peer === one))
  if (isThere)
    await tx.run`
      update msgapp_chats set remote_id = ${remote}
      where account_id = ${account} and channel_id = ${channel} and peer = ${peer} and remote_id is distinct from ${remote}`
  if (isOld && remote !== peer) await goOn(tx, account, channel, remote, { peer, number, isThere: isThere === true })
}

/** Whoever had a number has another one: their conversation goes on under that, one with it that is there. */
export const renamed = async (
  tx: Tx,
  { account, channel }: { account: string; channel: string },
  { before, number, peer }: { before: string; number: string; peer: string },
): Promise<void> => {
  const chats = await tx.many<{ peer: string }>`
    select peer from msgapp_chats
    where account_id = ${account} and channel_id = ${channel} and peer in (${peer}, ${before}) and group_id is null
    order by peer for update`
  const [isOld, isThere] = [before, peer].map((one) => chats.some((chat) => chat.peer === one))
  if (isOld && before !== peer) await goOn(tx, account, channel, before, { peer, number, isThere: isThere === true })
}

/** A conversation, which is held, goes on under another peer: one with it that is there, which is held too. It is found by the
 *  former one still. */
const goOn = async (
  tx: Tx,
  account: string,
  channel: string,
  before: string,
  { peer, number, isThere }: { peer: string; number: string; isThere: boolean },
): Promise<void> => {
  await tx.run`
    delete from msgapp_former_peers where account_id = ${account} and channel_id = ${channel} and peer = ${peer}`
  await tx.run`
    update msgapp_former_peers set goes_on = ${peer}
    where account_id = ${account} and channel_id = ${channel} and goes_on = ${before}`
  await tx.run`
    insert into msgapp_former_peers (account_id, channel_id, peer, goes_on) values (${account}, ${channel}, ${before}, ${peer})
    on conflict (account_id, channel_id, peer) do update set goes_on = excluded.goes_on`
  await tx.run`
    with held as materialized (
      select id from msgapp_messages where account_id = ${account} and channel_id = ${channel} and peer = ${before}
      order by id for update
    )
    update msgapp_messages m set peer = ${peer} from held where m.account_id = ${account} and m.id = held.id`
  if (!isThere) {
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
      remote_id = coalesce(c.remote_id, old.remote_id),
      read_to = case when c.read_to is not null and old.read_to is not null then least(c.read_to, old.read_to) end,
      last_message_id = case when old.last_at > c.last_at then old.last_message_id else c.last_message_id end,
      last_at = greatest(c.last_at, old.last_at), last_inbound_at = greatest(c.last_inbound_at, old.last_inbound_at)
    from old where c.account_id = old.account_id and c.channel_id = old.channel_id and c.peer = ${peer}`
}
