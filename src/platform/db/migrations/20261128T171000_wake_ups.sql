-- Notifies all processes of changed topics, so that they need not poll often. The row of a topic serialises those who
-- change it already; the notification makes that hold across topics.
create function changes_notify() returns trigger language plpgsql set jit = off as $$
begin
  perform pg_notify('trunkline', 'changes');
  return null;
end $$;
create trigger changes_notify after insert or update on changes
  for each statement execute function changes_notify();

-- Looks for events that the inbox has not projected, of `most` accounts after an id. `known`: accounts whose position a
-- process has in memory. Returns accounts with events; `urgent` if one of the first ones may open a conversation. If
-- there may be more accounts, the last one examined follows with null. A function, because a plan that was made while
-- the event log was small would read and sort all of it.
create function inbox_sweep(
  after uuid, most integer, known uuid[], positions uuid[], urgent_names text[]
) returns table (account_id uuid, urgent boolean) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
begin
  return query
    with examined as materialized (
      select a.id from accounts a where a.id > after order by a.id limit most
    )
    select x.id, f.urgent
    from examined x
    left join inbox_positions p on p.account_id = x.id
    cross join lateral (
      select coalesce(positions[array_position(known, x.id)], p.floor,
        '00000000-0000-0000-0000-000000000000'::uuid) as floor) w
    cross join lateral (
      select bool_or(e.name = any (urgent_names)) as urgent from (
        select name from events where account_id = x.id and id > w.floor order by id limit 100) e) f
    where f.urgent is not null
    union all
    select l.id, null from (select x.id from examined x order by x.id desc limit 1) l
    where (select count(*) from examined) = most;
end $$;

-- Replaced: also returns the seconds until the next delivery of the others is due, in a row without a webhook.
drop function webhooks_due(uuid, integer);
create function webhooks_due(
  worker uuid, most integer
) returns table (account_id uuid, webhook_id uuid, failures integer, due_in double precision) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
begin
  return query
    with recursive app as materialized (
      select now() + make_interval(secs => offset_seconds) as now from clock
    ), pending as (
      (select d.account_id, d.webhook_id from webhook_deliveries d where d.state = 'pending'
       order by d.account_id, d.webhook_id limit 1)
      union all
      select n.account_id, n.webhook_id from pending p cross join lateral (
        select d.account_id, d.webhook_id from webhook_deliveries d
        where d.state = 'pending' and (d.account_id, d.webhook_id) > (p.account_id, p.webhook_id)
        order by d.account_id, d.webhook_id limit 1) n
    ), free as materialized (
      select l.account_id, l.webhook_id, l.failures, first.next_at, greatest(first.next_at, l.hold_until) as due_at
      from pending p
      join webhook_endpoint_leases l on l.account_id = p.account_id and l.webhook_id = p.webhook_id
      cross join lateral (
        select d.next_at from webhook_deliveries d
        where d.account_id = p.account_id and d.webhook_id = p.webhook_id and d.state = 'pending'
        order by d.next_at limit 1) first
      where l.owner is null or l.owner = worker or l.leased_until < clock_timestamp()
    )
    (select f.account_id, f.webhook_id, f.failures, null::double precision from free f
     where f.due_at <= (select app.now from app)
     order by f.failures > 0, f.next_at limit most)
    union all
    select null, null, null, extract(epoch from min(f.due_at) - (select app.now from app))::double precision from free f
    where f.due_at > (select app.now from app) having min(f.due_at) is not null;
end $$;

-- Replaced: one statement each instead of three, with a plan that is made once.
create or replace function jobs_poll(kinds text[]) returns table (kind text, due_in double precision) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
begin
  return query
    with app as materialized (
      select now() + make_interval(secs => offset_seconds) as now from clock
    ), freed as (
      update jobs set leased_until = null, owner = null
      where id in (select j.id from jobs j where j.leased_until < statement_timestamp() for update skip locked)
      returning kind, run_at
    )
    -- The first part does not see the jobs that the update frees.
    select k.kind, extract(epoch from least(n.run_at, f.run_at) - (select app.now from app))::double precision
    from unnest(kinds) k (kind)
    left join lateral (
      select j.run_at from jobs j where j.kind = k.kind and j.leased_until is null and not j.parked
      order by j.run_at, j.id limit 1) n on true
    left join lateral (select min(r.run_at) as run_at from freed r where r.kind = k.kind) f on true
    where least(n.run_at, f.run_at) is not null;
end $$;

create or replace function jobs_unpark_missed() returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  unparked integer;
begin
  with recursive head as (
    (select j.kind, j.key, j.id from jobs j where j.parked order by j.kind, j.key, j.id limit 1)
    union all
    select n.kind, n.key, n.id from head h cross join lateral (
      select j.kind, j.key, j.id from jobs j where j.parked and (j.kind, j.key) > (h.kind, h.key)
      order by j.kind, j.key, j.id limit 1) n
  )
  update jobs set parked = false
  where parked and id in (
    select h.id from head h
    where not exists (select from jobs b where b.kind = h.kind and b.key = h.key and b.id < h.id)
      and not exists (select from jobs b where b.kind = h.kind and b.key = h.key and b.leased_until is not null));
  get diagnostics unparked = row_count;
  return unparked;
end $$;
