import type { Tx } from '../../db/sql.ts'
import type { SentRow } from './store.ts'

/**
 * Takes away what a network echoed as another device's before its answer said that it is ours. What was told of it stays true: its
 * id is one of the message from now on, and how far it was acknowledged is kept for `sent`. A conversation that ended with the echo
 * ends with the message itself; where that stands in another one, with what is left, and goes when nothing is. Each conversation is
 * held before its messages, as by all who write to both.
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
    insert into msgapp_early (channel_id, network_id, level, read_at, created_at)
    select channel_id, network_id, ack, read_at, (select app_now()) from dropped where ack > 1
    on conflict (channel_id, network_id) do update set level = greatest(msgapp_early.level, excluded.level),
      read_at = coalesce(msgapp_early.read_at, excluded.read_at)
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
