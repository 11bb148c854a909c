-- Functions of the messaging app. Their plans depend on no statistics, as those of SMS. Measured in a new database with
-- 15,000 messages of one account: 3 blocks for each look-up of a message instead of 180.
--
-- The functions look each row up by index. `offset 0` and `for update` keep the planner from reversing a join, and so
-- keep the order of locks. Messages are locked in one statement and changed in the next, which sees their latest versions.

-- Messages that were not deleted, by account and id, as the API presents them: the view msgapp_visible_messages, row by
-- row.
create function msgapp_messages_by_id(accounts uuid[], ids uuid[]) returns setof msgapp_visible_messages
language plpgsql
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    select m.account_id, m.id, m.channel_id, m.peer, m.direction, m.sent_by, m.author, m.text, m.pin, m.network_id, m.at,
      m.ack, m.failure_code, m.failure_reason, m.read_at, m.edited_at, m.reactions, m.created_at, m.updated_at,
      n.phone_number, c.number, c.remote_id, c.pushname, c.group_id, g.network_id, f.id, f.type, f.mime_type, f.name,
      f.size, f.error, m.template
    from unnest(accounts, ids) r (account_id, id)
    cross join lateral (
      select * from msgapp_messages o where o.account_id = r.account_id and o.id >= r.id and o.id <= r.id
      order by o.id limit 1) m
    cross join lateral (
      select o.phone_number from msgapp_channels o
      where o.account_id = m.account_id and o.id >= m.channel_id and o.id <= m.channel_id order by o.id limit 1) n
    cross join lateral (
      select o.number, o.remote_id, o.pushname, o.group_id from msgapp_chats o
      where o.account_id = m.account_id and o.channel_id = m.channel_id and o.peer >= m.peer and o.peer <= m.peer
      order by o.peer limit 1) c
    left join lateral (
      select o.network_id from msgapp_groups o
      where o.account_id = r.account_id and o.id >= c.group_id and o.id <= c.group_id order by o.id limit 1) g on true
    left join lateral (
      select o.id, o.type, o.mime_type, o.name, o.size, o.error from msgapp_media o
      where o.account_id = m.account_id and o.id >= m.media_id and o.id <= m.media_id order by o.id limit 1) f on true
    where m.removed is null;
end $$;

-- Conversations by the network's id of the other party. If several have one id, after a change of number, the last one
-- used counts.
create function msgapp_chats_by_remote(accounts uuid[], channels uuid[], remotes text[]) returns table (
  channel_id uuid, remote_id text, peer text, number text
) language plpgsql
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
    select g.channel_id, g.remote_id, c.peer, c.number
    from (select distinct * from unnest(accounts, channels, remotes) r (account_id, channel_id, remote_id)) g
    cross join lateral (
      select o.peer, o.number from (
        select * from msgapp_chats
        where account_id = g.account_id and channel_id = g.channel_id and remote_id = g.remote_id and group_id is null
        offset 0) o
      order by o.number is null, o.last_at desc limit 1) c;
end $$;

-- Deletes echoes that the network reported as another device's before its answer identified them as ours. The echo's
-- id becomes an alias of the message, and its acknowledgement an early receipt. A conversation that ended with the echo
-- then ends with the message. If the message is in another conversation, it ends with its latest remaining message, or
-- is deleted if empty. Each conversation is locked before its messages, as by all writers of both (docs/locks.md).
create function msgapp_drop_echoes(channels uuid[], network_ids text[], ids uuid[]) returns void language plpgsql
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
begin
  -- The common case: there is none.
  if not exists (
    select from unnest(channels, network_ids, ids) g (channel_id, network_id, id)
    cross join lateral (
      select m.id, m.sent_by from msgapp_messages m
      where m.channel_id = g.channel_id and m.network_id = g.network_id offset 0) o
    where o.id <> g.id and o.sent_by = 'agent')
  then return; end if;

  with echo as materialized (
    select m.account_id, m.channel_id, m.peer, m.id, g.id as kept
    from unnest(channels, network_ids, ids) g (channel_id, network_id, id)
    join msgapp_messages m using (channel_id, network_id)
    where m.id <> g.id and m.sent_by = 'agent'
  ), held as materialized (
    select c.account_id, c.channel_id, c.peer from msgapp_chats c
    where (c.account_id, c.channel_id, c.peer) in (select e.account_id, e.channel_id, e.peer from echo e)
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
    on conflict (channel_id, network_id, peer) do update
      set level = greatest(msgapp_early_receipts.level, excluded.level),
        read_at = coalesce(msgapp_early_receipts.read_at, excluded.read_at)
  ), ended as materialized (
    select c.account_id, c.channel_id, c.peer, coalesce(k.id, n.id) as last, n.created_at as at
    from dropped d join msgapp_chats c using (account_id, channel_id, peer)
    left join msgapp_messages k
      on k.account_id = d.account_id and k.id = d.kept and k.channel_id = d.channel_id and k.peer = d.peer
    left join lateral (
      select m.id, m.created_at from msgapp_messages m
      where m.account_id = d.account_id and m.channel_id = d.channel_id and m.peer = d.peer
        and m.id not in (select x.id from dropped x)
      order by m.created_at desc, m.id desc limit 1) n on k.id is null
    where c.last_message_id = d.id
  ), emptied as (
    delete from msgapp_chats c using ended e
    where c.account_id = e.account_id and c.channel_id = e.channel_id and c.peer = e.peer and e.last is null
  )
  update msgapp_chats c set last_message_id = e.last, last_at = coalesce(e.at, c.last_at) from ended e
  where c.account_id = e.account_id and c.channel_id = e.channel_id and c.peer = e.peer and e.last is not null;
end $$;

-- Stores a network's answers to sent messages, with receipts that arrived before, in the order of
-- `msgapp_apply_receipts`. Takes the shared lock of the channels first: a process that stores early receipts of them
-- waits. Then deletes echoes of these messages.
create function msgapp_store_sent(
  accounts uuid[], ids uuid[], channels uuid[], network_ids text[], failure_codes text[], failure_reasons text[]
) returns table (account_id uuid, id uuid, was smallint, ack smallint, failed boolean) language plpgsql
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('msgapp receipts ' || c.name, 0))
  from (select distinct l::text as name from unnest(channels) l order by 1) c;
  perform msgapp_drop_echoes(channels, network_ids, ids);

  perform 1 from (
    select g.account_id, g.id from unnest(accounts, ids) g (account_id, id) order by g.account_id, g.id) g
  cross join lateral (
    select from msgapp_messages o where o.account_id = g.account_id and o.id >= g.id and o.id <= g.id
    order by o.id limit 1 for update) m;

  return query
    with given as materialized (
      select * from unnest(accounts, ids, channels, network_ids, failure_codes, failure_reasons)
        g (account_id, id, channel_id, network_id, failure_code, failure_reason)
    ), before as materialized (
      select g.channel_id, g.network_id, g.failure_code, g.failure_reason, m.place, m.ack, m.had_failed, m.peer
      from given g
      cross join lateral (
        select o.ctid as place, o.ack, o.failure_code as had_failed, o.peer from msgapp_messages o
        where o.account_id = g.account_id and o.id >= g.id and o.id <= g.id
        order by o.id limit 1) m
    ), early as (
      delete from msgapp_early_receipts e using given g
      where e.channel_id >= g.channel_id and e.channel_id <= g.channel_id
        and e.network_id >= g.network_id and e.network_id <= g.network_id
      returning e.*
    )
    update msgapp_messages m set network_id = coalesce(b.network_id, m.network_id),
      ack = greatest(m.ack, case when b.network_id is null then 0 else 1 end, e.level),
      read_at = coalesce(m.read_at, e.read_at),
      failure_code = case when coalesce(e.level, 0) < 2
        then coalesce(b.failure_code, e.failure_code, m.failure_code) end,
      failure_reason = case when coalesce(e.level, 0) < 2
        then coalesce(b.failure_reason, e.failure_reason, m.failure_reason) end,
      updated_at = platform_now
    from before b
    left join lateral (
      select max(r.level) as level, min(r.read_at) as read_at,
        (array_agg(r.failure_code) filter (where r.failure_code is not null))[1] as failure_code,
        (array_agg(r.failure_reason) filter (where r.failure_code is not null))[1] as failure_reason
      from early r
      where r.channel_id = b.channel_id and r.network_id = b.network_id and r.peer in ('', b.peer)) e on true
    where m.ctid = b.place
    returning m.account_id, m.id, b.ack, m.ack, m.failure_code is not null and b.had_failed is null;
end $$;

-- Applies one receipt or failure per message. Acknowledgements never fall, and a received message has not failed. A
-- receipt of anyone but the recipient is recognised, and changes nothing. A message that got its network id after the
-- lock is left out: the caller applies its receipt again.
create function msgapp_apply_receipts(
  channels uuid[], network_ids text[], levels smallint[], read_times timestamptz[], failure_codes text[],
  failure_reasons text[], peers text[]
) returns table (
  account_id uuid, id uuid, channel_id uuid, network_id text, was smallint, ack smallint, failed boolean
) language plpgsql
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
  locked uuid[];
begin
  select array_agg(m.id) into locked from (
    select k.account_id, k.id from unnest(channels, network_ids, peers) g (channel_id, network_id, given_peer)
    cross join lateral (
      select * from msgapp_messages o
      where o.channel_id = g.channel_id and o.network_id = g.network_id offset 0) k
    where k.direction = 'outbound' and (g.given_peer is null or g.given_peer = k.peer)
    order by k.account_id, k.id) f
  cross join lateral (
    select o.id from msgapp_messages o where o.account_id = f.account_id and o.id >= f.id and o.id <= f.id
    order by o.id limit 1 for update) m;

  return query
    with given as materialized (
      select * from unnest(channels, network_ids, levels, read_times, failure_codes, failure_reasons, peers)
        g (channel_id, network_id, level, read_at, failure_code, failure_reason, given_peer)
    ), before as materialized (
      select k.account_id, k.id, k.place, k.ack, k.had_failed, g.* from given g
      cross join lateral (
        select o.account_id, o.id, o.ctid as place, o.ack, o.failure_code as had_failed, o.peer, o.direction
        from msgapp_messages o
        where o.channel_id = g.channel_id and o.network_id = g.network_id offset 0) k
      where k.direction = 'outbound' and (g.given_peer is null or g.given_peer = k.peer) and k.id = any (locked)
    ), changed as (
      update msgapp_messages m set ack = greatest(m.ack, b.level), read_at = coalesce(m.read_at, b.read_at),
        failure_code = case when greatest(m.ack, b.level) < 2 then coalesce(m.failure_code, b.failure_code) end,
        failure_reason = case when greatest(m.ack, b.level) < 2 then coalesce(m.failure_reason, b.failure_reason) end,
        updated_at = platform_now
      from before b
      where m.ctid = b.place
        and (b.level > m.ack or (m.ack < 2 and b.failure_code is not null and m.failure_code is null))
      returning m.id, m.ack, m.failure_code
    )
    select b.account_id, b.id, b.channel_id, b.network_id, b.ack, coalesce(c.ack, b.ack),
      c.failure_code is not null and b.had_failed is null
    from before b left join changed c on c.id = b.id
    union all
    select m.account_id, m.id, m.channel_id, m.network_id, m.ack, m.ack, false
    from given g
    cross join lateral (
      select * from msgapp_messages o
      where o.channel_id = g.channel_id and o.network_id = g.network_id offset 0) m
    where m.direction = 'outbound' and g.given_peer <> m.peer;
end $$;
