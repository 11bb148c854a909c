-- The newest messages and calls with a counterpart, before an id. The planner takes an account that it does not know yet
-- for empty: all indexes that begin with the account, or the channel, look alike then, and it walked all messages of a
-- channel for each new conversation. So each number is a range of one value and the first key of its order, and sorting
-- is off: only the index of threads gives that order.
-- contact: null for a group or a hidden number; chat_channels, chat_peers: chats of the messaging app
create function inbox_refs(account uuid, contact_number text, chat_channels uuid[], chat_peers text[], below uuid,
  most_channels integer, most integer)
returns table (kind text, id uuid) language plpgsql stable
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  return query
    select found.kind, found.id from (
      select 'sms' as kind, m.id from (
        select s.id from sms_channels s where s.account_id = account and contact_number is not null
        order by s.created_at, s.id limit most_channels) c
      cross join lateral (
        select o.id from sms_messages o
        where o.channel_id = c.id and o.contact >= contact_number and o.contact <= contact_number
          and o.account_id = account and o.id < below
        order by o.contact, o.created_at desc, o.id desc limit most) m
      union all
      select 'msgapp', m.id from unnest(chat_channels, chat_peers) c (channel, peer)
      cross join lateral (
        select o.id from msgapp_messages o
        where o.account_id = account and o.channel_id = c.channel and o.peer >= c.peer and o.peer <= c.peer
          and o.id < below
        order by o.peer, o.created_at desc, o.id desc limit most) m
      union all
      (select 'call', o.id from calls o
       where o.account_id = account and o.direction = 'O' and o.to_number >= contact_number
         and o.to_number <= contact_number and o.ended_at is not null and o.id < below
       order by o.to_number, o.created_at desc, o.id desc limit most)
      union all
      (select 'call', o.id from calls o
       where o.account_id = account and o.direction = 'I' and o.from_number >= contact_number
         and o.from_number <= contact_number and o.ended_at is not null and o.id < below
       order by o.from_number, o.created_at desc, o.id desc limit most)) found
    order by found.id desc limit most;
end $$;
