-- Batches of jobs and of the messaging app, as functions with plans that stay good while tables grow.
--
-- A session keeps a plan that it made while the tables were small. Sorting or reading them whole was cheapest then.
-- The functions look each row up by index. `offset 0` and `for update` keep the planner from reversing a join, and so
-- keep the order of locks.

-- Jobs are changed through batches of ids. With `=` a plan made right after autovacuum found the queue empty begins with
-- the table of jobs, read in the order of its primary key past all jobs that ended, and compares each with the whole
-- batch. The bounds of a value are therefore `>=` and `<=`, as in 06_webhooks.sql: the index search is as exact, and the
-- order of the index is of no use to the planner.

-- Unparks the first parked job of each key that is free. The ids are found first: see above. Measured with 50 keys and a
-- queue in motion: 0.4 ms, before 24 to 54 ms.
create or replace function jobs_unpark(kinds text[], keys text[]) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  heads uuid[];
begin
  select array_agg(n.id) into heads
  from (select distinct k.kind, k.key from unnest(kinds, keys) k (kind, key)) k
  cross join lateral (
    select p.id from jobs p
    where p.kind >= k.kind and p.kind <= k.kind and p.key >= k.key and p.key <= k.key and p.parked
    order by p.kind, p.key, p.id limit 1) n;
  if heads is not null then update jobs set parked = false where id = any (heads); end if;
end $$;

-- Completes jobs and claims the next ones, as in baseline/04_jobs.sql. The look for other jobs of a key is a subquery with
-- `limit`: `exists` may become a hash of all leases, read through the dead entries of their index.
create or replace function jobs_complete_and_claim(
  ended_ids uuid[], ended_fences integer[], wanted_kind text, wanted integer, worker uuid,
  lease_seconds double precision, after_account uuid
) returns table (
  what text, id uuid, account_id uuid, key text, payload jsonb, run_at timestamptz, created_at timestamptz,
  fence integer, attempts integer
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  ended uuid[];
  kinds text[];
  keys text[];
  due uuid[];
  blocked boolean[];
  visited uuid[];
  platform_now timestamptz;
begin
  if cardinality(ended_ids) > 0 then
    with deleted as (
      delete from jobs j using unnest(ended_ids, ended_fences) e (id, fence)
      where j.id >= e.id and j.id <= e.id and j.fence = e.fence
      returning j.id, j.kind, j.key
    )
    select array_agg(g.id), array_agg(g.kind) filter (where g.key is not null),
      array_agg(g.key) filter (where g.key is not null)
    into ended, kinds, keys from deleted g;
    if kinds is not null then perform jobs_unpark(kinds, keys); end if;
    return query select 'ended', e, null::uuid, null, null::jsonb, null::timestamptz, null::timestamptz,
      null::integer, null::integer
      from unnest(ended) e;
  end if;

  if wanted <= 0 then return; end if;
  platform_now := app_now();

  if after_account is null then
    select array_agg(d.id order by d.run_at, d.id), array_agg(d.blocked order by d.run_at, d.id)
    into due, blocked from (
      select j.id, j.run_at, j.key is not null and coalesce(
        (select true from jobs b where b.kind = j.kind and b.key = j.key and b.id < j.id limit 1),
        (select true from jobs b where b.kind = j.kind and b.key = j.key and b.leased_until is not null limit 1),
        false) as blocked
      from jobs j
      where j.kind = wanted_kind and j.leased_until is null and not j.parked and j.run_at <= platform_now
      order by j.run_at, j.id limit wanted for update skip locked
    ) d;
  else
    with recursive next_accounts as (
      (select j.account_id, 1 as place from jobs j
       where j.kind = wanted_kind and j.leased_until is null and not j.parked and j.account_id is not null
         and j.account_id > after_account
       order by j.account_id limit 1)
      union all
      select n.account_id, r.place + 1 from next_accounts r cross join lateral (
        select j.account_id from jobs j
        where j.kind = wanted_kind and j.leased_until is null and not j.parked and j.account_id is not null
          and j.account_id > r.account_id
        order by j.account_id limit 1) n
      where r.place < 16
    )
    select array_agg(r.account_id order by r.account_id) into visited from next_accounts r;
    if cardinality(visited) = 16 then
      return query select 'account', visited[16], null::uuid, null, null::jsonb, null::timestamptz,
        null::timestamptz, null::integer, null::integer;
    end if;
    select array_agg(d.id order by d.run_at, d.id), array_agg(d.blocked order by d.run_at, d.id)
    into due, blocked
    from (
      select t.id, t.run_at, t.blocked from unnest(visited) v (account_id) cross join lateral (
        select j.id, j.run_at, j.key is not null and coalesce(
          (select true from jobs b where b.kind = j.kind and b.key = j.key and b.id < j.id limit 1),
          (select true from jobs b where b.kind = j.kind and b.key = j.key and b.leased_until is not null limit 1),
          false) as blocked
        from jobs j
        where j.kind = wanted_kind and j.leased_until is null and not j.parked and j.account_id = v.account_id
          and j.run_at <= platform_now
        order by j.run_at, j.id limit greatest(1, wanted / cardinality(visited)) for update skip locked
      ) t limit wanted
    ) d;
  end if;
  if due is null then return; end if;

  return query
    with claimed as (
      update jobs j set
        parked = d.blocked,
        leased_until = case when d.blocked then null else clock_timestamp() + make_interval(secs => lease_seconds) end,
        owner = case when d.blocked then null else worker end,
        fence = j.fence + case when d.blocked then 0 else 1 end,
        attempts = j.attempts + case when d.blocked then 0 else 1 end
      from unnest(due, blocked) d (id, blocked) where j.id >= d.id and j.id <= d.id
      returning d.blocked, j.*
    )
    select case when c.blocked then 'parked' else 'claimed' end, c.id, c.account_id, c.key,
      case when c.blocked then null else c.payload end, c.run_at, c.created_at, c.fence, c.attempts
    from claimed c order by c.run_at, c.id;
end $$;

-- Reschedules jobs, as in baseline/04_jobs.sql.
create or replace function jobs_reschedule(
  ids uuid[], fences integer[], delays double precision[], errors text[], counted boolean[], waits text[] default null
) returns setof uuid language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  platform_now timestamptz := app_now();
begin
  return query
    update jobs j set leased_until = null, owner = null, run_at = platform_now + make_interval(secs => r.delay),
      attempts = j.attempts - case when r.counted then 0 else 1 end, last_error = coalesce(r.error, j.last_error),
      waits_for = r.wait
    from unnest(ids, fences, delays, errors, counted, waits) r (id, fence, delay, error, counted, wait)
    where j.id >= r.id and j.id <= r.id and j.fence = r.fence
    returning j.id;
end $$;

-- Moves jobs to dead_jobs, as in baseline/04_jobs.sql.
create or replace function jobs_move_to_dead_letter(
  ids uuid[], fences integer[], errors text[]
) returns setof uuid language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  moved uuid[];
  kinds text[];
  keys text[];
begin
  with deleted as (
    delete from jobs j using unnest(ids, fences, errors) d (id, fence, error)
    where j.id >= d.id and j.id <= d.id and j.fence = d.fence
    returning j.*, d.error
  ), inserted as (
    insert into dead_jobs (id, account_id, kind, key, payload, run_at, fence, attempts, created_at, last_error, died_at)
    select id, account_id, kind, key, payload, run_at, fence, attempts, created_at, error, app_now() from deleted
    on conflict (id) do update set fence = excluded.fence, attempts = excluded.attempts, payload = excluded.payload,
      last_error = excluded.last_error, died_at = excluded.died_at
  )
  select array_agg(g.id), array_agg(g.kind) filter (where g.key is not null),
    array_agg(g.key) filter (where g.key is not null)
  into moved, kinds, keys from deleted g;
  if kinds is not null then perform jobs_unpark(kinds, keys); end if;
  return query select unnest(moved);
end $$;

-- Extends leases, as in baseline/04_jobs.sql.
create or replace function jobs_extend(
  ids uuid[], fences integer[], lease_seconds double precision[]
) returns setof uuid language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
begin
  return query
    update jobs j set leased_until = clock_timestamp() + make_interval(secs => e.lease)
    from unnest(ids, fences, lease_seconds) e (id, fence, lease)
    where j.id >= e.id and j.id <= e.id and j.fence = e.fence and j.leased_until is not null
    returning j.id;
end $$;

-- Messages that were not deleted, by account and id, as the API presents them.
create function msgapp_messages_by_id(accounts uuid[], ids uuid[]) returns setof msgapp_visible_messages language plpgsql
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    select v.* from unnest(accounts, ids) g (account_id, id)
    cross join lateral (
      select * from msgapp_visible_messages m where m.account_id = g.account_id and m.id = g.id offset 0) v;
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
set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('msgapp receipts ' || c.name, 0))
  from (select distinct l::text as name from unnest(channels) l order by 1) c;
  perform msgapp_drop_echoes(channels, network_ids, ids);

  return query
    with given as materialized (
      select * from unnest(accounts, ids, channels, network_ids, failure_codes, failure_reasons)
        g (account_id, id, channel_id, network_id, failure_code, failure_reason)
    ), before as materialized (
      select m.account_id, m.id, m.ack, m.failure_code as had_failed, m.peer
      from (select * from given order by account_id, id) g
      cross join lateral (
        select * from msgapp_messages o where o.account_id = g.account_id and o.id = g.id for update) m
    ), early as (
      delete from msgapp_early_receipts e using given g
      where e.channel_id >= g.channel_id and e.channel_id <= g.channel_id
        and e.network_id >= g.network_id and e.network_id <= g.network_id
      returning e.*
    )
    update msgapp_messages m set network_id = coalesce(g.network_id, m.network_id),
      ack = greatest(m.ack, case when g.network_id is null then 0 else 1 end, e.level),
      read_at = coalesce(m.read_at, e.read_at),
      failure_code = case when coalesce(e.level, 0) < 2
        then coalesce(g.failure_code, e.failure_code, m.failure_code) end,
      failure_reason = case when coalesce(e.level, 0) < 2
        then coalesce(g.failure_reason, e.failure_reason, m.failure_reason) end,
      updated_at = platform_now
    from given g
    join before b on b.account_id = g.account_id and b.id = g.id
    left join lateral (
      select max(r.level) as level, min(r.read_at) as read_at,
        (array_agg(r.failure_code) filter (where r.failure_code is not null))[1] as failure_code,
        (array_agg(r.failure_reason) filter (where r.failure_code is not null))[1] as failure_reason
      from early r
      where r.channel_id = g.channel_id and r.network_id = g.network_id and r.peer in ('', b.peer)) e on true
    where m.account_id = g.account_id and m.id = g.id
    returning m.account_id, m.id, b.ack, m.ack, m.failure_code is not null and b.had_failed is null;
end $$;

-- Applies one receipt or failure per message. Acknowledgements never fall, and a received message has not failed. A
-- receipt of anyone but the recipient is recognised, and changes nothing.
create function msgapp_apply_receipts(
  channels uuid[], network_ids text[], levels smallint[], read_times timestamptz[], failure_codes text[],
  failure_reasons text[], peers text[]
) returns table (
  account_id uuid, id uuid, channel_id uuid, network_id text, was smallint, ack smallint, failed boolean
) language plpgsql
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
begin
  return query
    with given as materialized (
      select * from unnest(channels, network_ids, levels, read_times, failure_codes, failure_reasons, peers)
        g (channel_id, network_id, level, read_at, failure_code, failure_reason, given_peer)
    ), found as materialized (
      select k.account_id, k.id, g.* from given g
      cross join lateral (
        select * from msgapp_messages o
        where o.channel_id = g.channel_id and o.network_id = g.network_id offset 0) k
      where k.direction = 'outbound' and (g.given_peer is null or g.given_peer = k.peer)
      order by k.account_id, k.id
    ), before as materialized (
      select m.ack, m.failure_code as had_failed, f.*
      from found f
      cross join lateral (
        select * from msgapp_messages o where o.account_id = f.account_id and o.id = f.id for update) m
    ), changed as (
      update msgapp_messages m set ack = greatest(m.ack, b.level), read_at = coalesce(m.read_at, b.read_at),
        failure_code = case when greatest(m.ack, b.level) < 2 then coalesce(m.failure_code, b.failure_code) end,
        failure_reason = case when greatest(m.ack, b.level) < 2 then coalesce(m.failure_reason, b.failure_reason) end,
        updated_at = platform_now
      from before b
      where m.account_id = b.account_id and m.id = b.id
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
