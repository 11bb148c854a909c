import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'

/** An accepted outbound message. */
export type NewMessage = {
  account: string
  id: string
  channel: string
  connection: string
  peer: string
  /** Recipient: a number in its canonical form, or a group by both of its ids. */
  number: string | null
  /** The number as the client gave it: the network gets it, unless it has given the number in a form of its own. */
  dialled: string | null
  /** The network's id of the recipient, if named by it. */
  remote: string | null
  group: { id: string; networkId: string } | null
  text: string | null
  /** JSON. */
  pin: string | null
  template: string | null
  /** `url` null: the file is stored already. */
  media: { id: string; url: string | null; name: string } | null
}

/**
 * Accepts outbound messages: in one statement each message with its conversation, file and job. If a conversation was
 * quiet for an hour, its first message's job carries since when. One hour is the shortest period that subscribers may
 * choose.
 *
 * Conversations are written in their lock order (docs/locks.md).
 */
export const accept = (db: Db | Tx, rows: readonly NewMessage[]) => db.run`
  with given as materialized (
    select *, (select app_now()) as at from unnest(
      ${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.channel)}::uuid[],
      ${rows.map((r) => r.connection)}::uuid[], ${rows.map((r) => r.peer)}::text[], ${rows.map((r) => r.number)}::text[],
      ${rows.map((r) => r.group?.id ?? null)}::uuid[], ${rows.map((r) => r.group?.networkId ?? null)}::text[],
      ${rows.map((r) => r.text)}::text[], ${rows.map((r) => r.pin)}::text[], ${rows.map((r) => r.media?.id ?? null)}::uuid[],
      ${rows.map((r) => r.media?.url ?? null)}::text[], ${rows.map((r) => r.media?.name ?? null)}::text[],
      ${rows.map((r) => r.template)}::text[], ${rows.map((r) => r.remote)}::text[], ${rows.map((r) => r.dialled)}::text[]
    ) with ordinality as g (account_id, id, channel_id, connection_id, peer, number, group_id, group_network_id, text, pin,
      media_id, media_url, media_name, template, remote, dialled, n)
  ), chat as (
    insert into msgapp_chats (account_id, channel_id, peer, number, remote_id, group_id, last_at, last_message_id)
    select * from (
      select distinct on (account_id, channel_id, peer) account_id, channel_id, peer, number, remote, group_id, at, id from given
      order by account_id, channel_id, peer, n desc
    ) as newest
    on conflict (account_id, channel_id, peer) do update
      set previous_at = msgapp_chats.last_at, last_at = greatest(msgapp_chats.last_at, excluded.last_at),
        last_message_id = excluded.last_message_id, unread = 0
    returning account_id, channel_id, peer, remote_id, previous_at, dialled
  ), file as (
    insert into msgapp_media (account_id, id, channel_id, type, mime_type, name, source, created_at)
    select account_id, media_id, channel_id, 'document', 'application/octet-stream', media_name,
      jsonb_build_object('url', media_url), at
    from given where media_url is not null
  ), message as (
    insert into msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, text, media_id, pin, template, at,
      created_at, updated_at)
    select account_id, id, channel_id, peer, 'outbound', 'api', text, media_id, pin::jsonb, template::jsonb, at, at, at from given
  )
  insert into jobs (id, account_id, kind, key, payload, run_at, created_at)
  select g.id, g.account_id, 'msgapp:' || g.connection_id, g.channel_id || ' ' || g.peer,
    jsonb_strip_nulls(jsonb_build_object('act', 'send', 'channel', g.channel_id, 'number', coalesce(c.dialled, g.dialled), 'remote', c.remote_id,
      'group', g.group_network_id, 'text', g.text, 'pin', g.pin::jsonb, 'media', g.media_id,
      'template', g.template::jsonb))
    || case
      when row_number() over (partition by g.account_id, g.channel_id, g.peer order by g.n) > 1 then '{}'
      when c.previous_at is null or c.previous_at <= g.at - interval '1 hour' then jsonb_build_object('quiet', c.previous_at)
      else '{}' end,
    (select app_now()), (select app_now())
  from given g join chat c using (account_id, channel_id, peer)`

/** A network's answers to sent messages, one row each. */
export type SentRow = {
  account: string
  id: string
  channel: string
  networkId: string | null
  failure: { code: string; reason: string } | null
}

/**
 * Takes the shared lock of channels before storing network ids; blocks those who store early receipts
 * (`lockChannelsExclusive`).
 */
export const lockChannelsShared = (tx: Tx, channels: readonly string[]) => tx.run`
  select pg_advisory_xact_lock_shared(hashtextextended('msgapp receipts ' || c, 0))
  from (select c from unnest(${channels}::text[]) c order by c) as ordered`

/** Takes the exclusive lock of channels: waits until no process is storing network ids of their messages. */
export const lockChannelsExclusive = (tx: Tx, channels: readonly string[]) => tx.run`
  select pg_advisory_xact_lock(hashtextextended('msgapp receipts ' || c, 0))
  from (select c from unnest(${channels}::text[]) c order by c) as ordered`

export type AckStep = { account_id: string; id: string; was: number; ack: number; failed: boolean }

/**
 * Stores that networks accepted messages, with receipts that arrived before, in the same order as `applyReceipts`.
 * Takes the shared lock of the channels first (`lockChannelsShared`), and deletes echoes of these messages.
 */
export const storeSent = (tx: Tx, rows: readonly SentRow[]) => tx.many<AckStep>`
  select account_id, id, was, ack, failed from msgapp_store_sent(
    ${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.channel)}::uuid[],
    ${rows.map((r) => r.networkId)}::text[], ${rows.map((r) => r.failure?.code ?? null)}::text[],
    ${rows.map((r) => r.failure?.reason ?? null)}::text[])`

/** A receipt, or a failure (level 0). */
export type ReceiptRow = {
  account: string
  channel: string
  networkId: string
  /** Our id of the message, if the network reports it. */
  ours: string | null
  level: number
  at: number
  failure: { code: string; reason: string } | null
  /** Sender as a peer; null if the network vouches that it is the recipient. */
  peer: string | null
}

/** Stores network ids that arrived with our own ids, in the same order as `applyReceipts`. */
export const storeNetworkIds = (tx: Tx, rows: readonly ReceiptRow[]) => tx.run`
  with given as materialized (
    select distinct on (m.account_id, m.id) m.account_id, m.id, g.network_id
    from unnest(${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.ours)}::uuid[], ${rows.map((r) => r.channel)}::uuid[],
      ${rows.map((r) => r.networkId)}::text[]) as g (account_id, id, channel_id, network_id)
    join msgapp_messages m using (account_id, id, channel_id)
    where m.direction = 'outbound' and m.network_id is null and not exists (
      select from msgapp_messages o where o.channel_id = g.channel_id and o.network_id = g.network_id)
    order by m.account_id, m.id
  ), held as materialized (
    select m.account_id, m.id from msgapp_messages m join given using (account_id, id)
    order by m.account_id, m.id for update of m
  )
  update msgapp_messages m set network_id = g.network_id from given g join held using (account_id, id)
  where m.account_id = g.account_id and m.id = g.id and m.network_id is null`

/** Returns the network's id of a sent message. */
export const networkId = async (db: Db, account: string, id: string): Promise<string | null> =>
  (
    await db.maybe<{ network_id: string | null }>`
      select network_id from msgapp_messages where account_id = ${account} and id = ${id}`
  )?.network_id ?? null

/**
 * Applies one receipt or failure per message. Acknowledgements never fall, and a received message has not failed. A
 * receipt of anyone but the recipient is recognised, and changes nothing.
 */
export const applyReceipts = (tx: Tx, rows: readonly ReceiptRow[]) => tx.many<
  AckStep & { channel_id: string; network_id: string }
>`
  select account_id, id, channel_id, network_id, was, ack, failed from msgapp_apply_receipts(
    ${rows.map((r) => r.channel)}::uuid[], ${rows.map((r) => r.networkId)}::text[], ${rows.map((r) => r.level)}::smallint[],
    ${rows.map((r) => (r.level >= 3 ? new Date(r.at) : null))}::timestamptz[],
    ${rows.map((r) => r.failure?.code ?? null)}::text[], ${rows.map((r) => r.failure?.reason ?? null)}::text[],
    ${rows.map((r) => r.peer)}::text[])`

/** Stores receipts of messages that are not known yet. */
export const storeEarly = (tx: Tx, rows: readonly ReceiptRow[]) => tx.run`
  insert into msgapp_early_receipts (channel_id, network_id, peer, level, read_at, failure_code, failure_reason, created_at)
  select *, (select app_now()) from unnest(
    ${rows.map((r) => r.channel)}::uuid[], ${rows.map((r) => r.networkId)}::text[], ${rows.map((r) => r.peer ?? '')}::text[],
    ${rows.map((r) => r.level)}::smallint[],
    ${rows.map((r) => (r.level >= 3 ? new Date(r.at) : null))}::timestamptz[],
    ${rows.map((r) => r.failure?.code ?? null)}::text[], ${rows.map((r) => r.failure?.reason ?? null)}::text[]
  ) as g
  on conflict (channel_id, network_id, peer) do update set level = greatest(msgapp_early_receipts.level, excluded.level),
    read_at = coalesce(msgapp_early_receipts.read_at, excluded.read_at),
    failure_code = coalesce(msgapp_early_receipts.failure_code, excluded.failure_code),
    failure_reason = coalesce(msgapp_early_receipts.failure_reason, excluded.failure_reason)`

/** Deletes receipts whose message never became known, a few at a time. */
export const purgeEarly = (sql: Sql) => sql.run`
  delete from msgapp_early_receipts where (channel_id, network_id) in (
    select channel_id, network_id from msgapp_early_receipts
    where created_at < app_now() - interval '7 days' order by created_at limit 5000)`

/** Locks the conversations of messages, in the order in which they are written. */
export const lockConversations = (tx: Tx, messages: readonly { account: string; id: string }[]) => tx.run`
  select from msgapp_chats c
  where (c.account_id, c.channel_id, c.peer) in (
    select m.account_id, m.channel_id, m.peer from msgapp_messages m
    join unnest(${messages.map((m) => m.account)}::uuid[], ${messages.map((m) => m.id)}::uuid[]) as g (account_id, id)
      using (account_id, id))
  order by c.account_id, c.channel_id, c.peer for update`

/**
 * Deletes a message's content and file. The row stays, so that a redelivery does not restore it. Its locked
 * conversation then ends with the previous message. An unread message no longer counts, if it is among the newest
 * inbound ones, as many as are counted.
 * @returns null if it was deleted before; `digest` of its file
 */
export const deleteContent = (tx: Tx, account: string, id: string, removed: 'everyone' | 'us') => tx.maybe<{
  digest: Buffer | null
}>`
  with gone as (
    update msgapp_messages set removed = ${removed}, text = null, pin = null, template = null, content = null,
      reactions = null, updated_at = app_now()
    where account_id = ${account} and id = ${id} and removed is null
    returning id, channel_id, peer, media_id, created_at, direction = 'inbound' and ack < 3 as unread
  ), chat as (
    update msgapp_chats c set last_message_id = case when c.last_message_id = g.id then coalesce(n.id, g.id) else c.last_message_id end,
      unread = c.unread - case when g.unread and newer.n < c.unread then 1 else 0 end
    from gone g
    join msgapp_chats b on b.account_id = ${account} and b.channel_id = g.channel_id and b.peer = g.peer
    left join lateral (
      select id from msgapp_messages
      where account_id = ${account} and channel_id = g.channel_id and peer = g.peer and removed is null and id <> g.id
      order by created_at desc, id desc limit 1) n on true
    cross join lateral (
      select count(*) as n from (
        select from msgapp_messages
        where account_id = ${account} and channel_id = g.channel_id and peer = g.peer and (created_at, id) > (g.created_at, g.id)
          and direction = 'inbound' and ack < 3 and removed is null
        order by created_at desc, id desc limit b.unread) as m) newer
    where c.account_id = ${account} and c.channel_id = g.channel_id and c.peer = g.peer
  ), ended as (
    update msgapp_media f set key = null, error = 'the message was deleted' from gone g
    where f.account_id = ${account} and f.id = g.media_id
    returning f.digest
  )
  select (select digest from ended) as digest from gone`

/** How far a deleted message was taken back. */
export const deletionReachOf = async (tx: Tx, account: string, id: string) =>
  (
    await tx.maybe<{ removed: 'everyone' | 'us' | null }>`
      select removed from msgapp_messages where account_id = ${account} and id = ${id}`
  )?.removed ?? null
