import type { Tx } from '../../../../platform/db/sql.ts'
import type { SentRow } from '../store.ts'

/**
 * Deletes echoes that the network reported as another device's before its answer identified them as ours. The echo's
 * id becomes an alias of the message, and its acknowledgement is stored for `storeSent`. A conversation that ended
 * with the echo then ends with the message. If the message is in another conversation, it ends with its latest
 * remaining message, or is deleted if empty. Each conversation is locked before its messages, as by all writers of
 * both.
 */
export const dropEchoes = (tx: Tx, sent: readonly SentRow[]) => tx.run`
  with echo as materialized (
    select m.account_id, m.channel_id, m.peer, m.id, g.id as kept
    from unnest(${sent.map((s) => s.channel)}::uuid[], ${sent.map((s) => s.networkId)}::text[], ${sent.map((s) => s.id)}::uuid[])
      as g (channel_id, network_id, id)
    join msgapp_messages m using (channel_id, network_id)
    where m.id <> g.id and m.sent_by = 'agent'
  ), held as materialized (
    select c.account_id, c.channel_id, c.peer from msgapp_chats c
    where (c.account_id, c.channel_id, c.peer) in (select account_id, channel_id, peer from echo)
    order by c.account_id, c.channel_id, c.peer for update
  ), doomed as materialized (
    select m.account_id, m.id, e.kept from echo e join held using (account_id, channel_id, peer)
    join msgapp_messages m on m.account_id = e.account_id and m.id = e.id
    order by m.account_id, m.id for update of m
  ), dropped as (
    delete from msgapp_messages m using doomed d where m.account_id = d.account_id and m.id = d.id
    returning m.account_id, m.channel_id, m.peer, m.id, m.network_id, m.ack, m.read_at, d.kept
  ), named as (
    insert into msgapp_aliases (account_id, id, message_id)
    select account_id, id, kept from dropped on conflict do nothing
  ), acknowledged as (
    insert into msgapp_early_receipts (channel_id, network_id, peer, level, read_at, created_at)
    select channel_id, network_id, peer, ack, read_at, (select app_now()) from dropped where ack > 1
    on conflict (channel_id, network_id, peer) do update set level = greatest(msgapp_early_receipts.level, excluded.level),
      read_at = coalesce(msgapp_early_receipts.read_at, excluded.read_at)
  ), ended as materialized (
    select c.account_id, c.channel_id, c.peer, coalesce(k.id, n.id) as last, n.created_at as at
    from dropped d join msgapp_chats c using (account_id, channel_id, peer)
    left join msgapp_messages k on k.account_id = d.account_id and k.id = d.kept and k.channel_id = d.channel_id and k.peer = d.peer
    left join lateral (
      select m.id, m.created_at from msgapp_messages m
      where m.account_id = d.account_id and m.channel_id = d.channel_id and m.peer = d.peer and m.id not in (select id from dropped)
      order by m.created_at desc, m.id desc limit 1) n on k.id is null
    where c.last_message_id = d.id
  ), emptied as (
    delete from msgapp_chats c using ended e
    where c.account_id = e.account_id and c.channel_id = e.channel_id and c.peer = e.peer and e.last is null
  )
  update msgapp_chats c set last_message_id = e.last, last_at = coalesce(e.at, c.last_at) from ended e
  where c.account_id = e.account_id and c.channel_id = e.channel_id and c.peer = e.peer and e.last is not null`
