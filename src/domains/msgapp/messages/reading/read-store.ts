import type { Tx } from '../../../../platform/db/sql.ts'

// SQL of mark-read.

export type ReadResult = { unread: number; ids: string[] | null; authors: (string | null)[] | null }

/** Locks a conversation until the transaction ends: messages that arrive meanwhile are counted after it. */
export const lockConversation = (tx: Tx, account: string, channel: string, peer: string) => tx.maybe<{
  number: string | null
  remote_id: string | null
  group_id: string | null
  group_network_id: string | null
}>`
  select c.number, c.remote_id, c.group_id, g.network_id as group_network_id
  from msgapp_chats c left join msgapp_groups g on g.account_id = c.account_id and g.id = c.group_id
  where c.account_id = ${account} and c.channel_id = ${channel} and c.peer = ${peer} for update of c`

/**
 * Marks a locked conversation as read, up to a message or completely. At most the newest 5,000 inbound messages
 * become read. Returns the network's ids of the newest 100 of them, oldest first, and their authors in a group.
 *
 * Two messages of one moment may have become visible in either order, so the search starts a minute before the read
 * mark. Sent messages are marked too: each is scanned only once, however many there are.
 */
export const markRead = (
  tx: Tx,
  account: string,
  channel: string,
  peer: string,
  last: string | null,
) => tx.one<ReadResult>`
  with chat as materialized (
    select c.read_to, coalesce(m.created_at, 'infinity') as until,
      coalesce(m.id, 'ffffffff-ffff-ffff-ffff-ffffffffffff') as last_id
    from msgapp_chats c left join msgapp_messages m on m.account_id = c.account_id and m.id = ${last}
    where c.account_id = ${account} and c.channel_id = ${channel} and c.peer = ${peer}
  ), seen as materialized (
    select m.created_at from chat c cross join lateral (
      select created_at from msgapp_messages
      where account_id = ${account} and channel_id = ${channel} and peer = ${peer} and (created_at, id) <= (c.until, c.last_id)
      order by created_at desc, id desc limit 1) m
  ), opened as materialized (
    select m.id, m.network_id, m.author, m.created_at from chat c cross join lateral (
      select * from msgapp_messages
      where account_id = ${account} and channel_id = ${channel} and peer = ${peer}
        and created_at > coalesce(c.read_to - interval '1 minute', '-infinity') and (created_at, id) <= (c.until, c.last_id)
        and direction = 'inbound' and ack < 3
      order by created_at desc, id desc limit 5000) m
  ), newest as materialized (
    select * from opened where network_id is not null order by created_at desc, id desc limit 100
  ), marked as (
    update msgapp_messages m set ack = 3, read_at = (select app_now()), updated_at = (select app_now())
    from opened o where m.account_id = ${account} and m.id = o.id
  ), newer as (
    select count(*)::integer as n from chat c cross join lateral (
      select from msgapp_messages
      where account_id = ${account} and channel_id = ${channel} and peer = ${peer}
        and (created_at, id) > (c.until, c.last_id) and direction = 'inbound' and removed is null
      limit 10000) m
  )
  update msgapp_chats set read_to = greatest(read_to, (select created_at from seen)),
    unread = least(unread, (select n from newer))
  where account_id = ${account} and channel_id = ${channel} and peer = ${peer}
  returning unread, (select array_agg(network_id order by created_at, id) from newest) as ids,
    (select array_agg(author order by created_at, id) from newest) as authors`
