-- The job queue. `src/jobs/queue.ts` says how to add jobs, `src/jobs/worker.ts` how they are run.
--
-- A job is claimable while it is neither leased nor parked and its `run_at` (the platform's clock) has come. A claim leases
-- it (by the real clock, so that moving the sandbox's clock expires no lease) and makes `fence` grow: whoever ends the job
-- must name the fence, so a worker that lost its lease changes nothing.
--
-- Jobs that share a key run one after the other in the order of their ids. A claim that meets a job whose turn has not come
-- parks it, out of the claims' index, and the end of the job before it sets it free: a key with a long backlog is looked at
-- once a job, not once a claim.
create table jobs (
  id uuid primary key,
  account_id uuid,
  kind text not null,
  key text,
  payload jsonb not null default '{}',
  run_at timestamptz not null default app_now(),
  leased_until timestamptz,
  owner uuid,
  fence integer not null default 0,
  attempts integer not null default 0,
  parked boolean not null default false,
  created_at timestamptz not null default app_now(),
  last_error text
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_vacuum_insert_scale_factor = 0.2,
  -- Giving pages back takes an exclusive lock; a queue fills them again anyway.
  vacuum_truncate = false
);
create index jobs_due on jobs (kind, run_at, id) where leased_until is null and not parked;
create index jobs_due_by_account on jobs (kind, account_id, run_at, id)
  where leased_until is null and not parked and account_id is not null;
create index jobs_leased on jobs (leased_until) where leased_until is not null;
create index jobs_by_key on jobs (kind, key, id) where key is not null;
create index jobs_parked on jobs (kind, key, id) where parked;
-- Two workers cannot run two jobs of one key at once, whatever their snapshots showed them: the later claim fails and is tried again.
create unique index jobs_one_of_a_key on jobs (kind, key) where leased_until is not null and key is not null;

-- Jobs given up. The fence is kept so that it goes on growing when one is put back.
create table dead_jobs (
  id uuid primary key,
  account_id uuid,
  kind text not null,
  key text,
  payload jsonb not null,
  run_at timestamptz not null,
  fence integer not null,
  attempts integer not null,
  created_at timestamptz not null,
  last_error text,
  died_at timestamptz not null default app_now()
);
create index dead_jobs_by_time on dead_jobs (died_at desc, id desc);

create table schedules (
  name text primary key,
  next_at timestamptz not null
);

-- The functions below run with sequential scans, bitmaps and hashes off. A plan made while the queue is empty is kept by
-- the session, and an empty table is cheapest to read whole: with a million jobs that plan would cost seconds a claim.
-- They are PL/pgSQL because each statement inside sees what the one before it (and any lock it waited for) left behind.

-- Sets free the first parked job of each key whose turn has come.
create function jobs_unpark(kinds text[], keys text[]) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  update jobs j set parked = false
  from (select distinct k.kind, k.key from unnest(kinds, keys) k (kind, key)) k
  where j.id = (select p.id from jobs p where p.kind = k.kind and p.key = k.key and p.parked order by p.id limit 1);
end $$;

-- Ends jobs whose fence still holds and claims the next ones, in one round trip. `after_account` null: oldest first; else
-- a share for each of the next 16 accounts after that id.
-- Rows: `ended` and `parked` carry the id alone, `claimed` the job, `account` how far the round over accounts has come
-- (absent when it has reached the end).
create function jobs_turn(
  ended_ids uuid[], ended_fences integer[],
  wanted_kind text, wanted integer, worker uuid, lease_seconds double precision, after_account uuid
) returns table (
  what text, id uuid, account_id uuid, key text, payload jsonb,
  run_at timestamptz, created_at timestamptz, fence integer, attempts integer
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  ended uuid[];
  kinds text[];
  keys text[];
  due uuid[];
  blocked boolean[];
  visited uuid[];
  today timestamptz;
begin
  if cardinality(ended_ids) > 0 then
    with gone as (
      delete from jobs j using unnest(ended_ids, ended_fences) e (id, fence)
      where j.id = e.id and j.fence = e.fence
      returning j.id, j.kind, j.key
    )
    select array_agg(g.id), array_agg(g.kind) filter (where g.key is not null), array_agg(g.key) filter (where g.key is not null)
    into ended, kinds, keys from gone g;
    if kinds is not null then perform jobs_unpark(kinds, keys); end if;
    return query select 'ended', e, null::uuid, null, null::jsonb, null::timestamptz, null::timestamptz, null::integer, null::integer
      from unnest(ended) e;
  end if;

  if wanted <= 0 then return; end if;
  today := app_now();

  if after_account is null then
    select array_agg(d.id order by d.run_at, d.id), array_agg(d.blocked order by d.run_at, d.id) into due, blocked from (
      select j.id, j.run_at, j.key is not null and (
        exists (select from jobs b where b.kind = j.kind and b.key = j.key and b.id < j.id)
        or exists (select from jobs b where b.kind = j.kind and b.key = j.key and b.leased_until is not null)) as blocked
      from jobs j
      where j.kind = wanted_kind and j.leased_until is null and not j.parked and j.run_at <= today
      order by j.run_at, j.id limit wanted for update skip locked
    ) d;
  else
    with recursive round as (
      (select j.account_id, 1 as place from jobs j
       where j.kind = wanted_kind and j.leased_until is null and not j.parked and j.account_id is not null
         and j.account_id > after_account
       order by j.account_id limit 1)
      union all
      select n.account_id, r.place + 1 from round r cross join lateral (
        select j.account_id from jobs j
        where j.kind = wanted_kind and j.leased_until is null and not j.parked and j.account_id is not null
          and j.account_id > r.account_id
        order by j.account_id limit 1) n
      where r.place < 16
    )
    select array_agg(r.account_id order by r.account_id) into visited from round r;
    if cardinality(visited) = 16 then
      return query select 'account', visited[16], null::uuid, null, null::jsonb, null::timestamptz, null::timestamptz, null::integer, null::integer;
    end if;
    select array_agg(d.id order by d.run_at, d.id), array_agg(d.blocked order by d.run_at, d.id) into due, blocked
    from (
      select t.id, t.run_at, t.blocked from unnest(visited) v (account_id) cross join lateral (
        select j.id, j.run_at, j.key is not null and (
          exists (select from jobs b where b.kind = j.kind and b.key = j.key and b.id < j.id)
          or exists (select from jobs b where b.kind = j.kind and b.key = j.key and b.leased_until is not null)) as blocked
        from jobs j
        where j.kind = wanted_kind and j.leased_until is null and not j.parked and j.account_id = v.account_id
          and j.run_at <= today
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
      from unnest(due, blocked) d (id, blocked) where j.id = d.id
      returning d.blocked, j.*
    )
    select case when c.blocked then 'parked' else 'claimed' end, c.id, c.account_id, c.key,
      case when c.blocked then null else c.payload end, c.run_at, c.created_at, c.fence, c.attempts
    from claimed c order by c.run_at, c.id;
end $$;

-- Puts jobs back whose fence still holds, to run after so many seconds. Not counted: the attempt is given back.
create function jobs_return(
  ids uuid[], fences integer[], delays double precision[], errors text[], counted boolean[]
) returns setof uuid language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  today timestamptz := app_now();
begin
  return query
    update jobs j set leased_until = null, owner = null, run_at = today + make_interval(secs => r.delay),
      attempts = j.attempts - case when r.counted then 0 else 1 end, last_error = coalesce(r.error, j.last_error)
    from unnest(ids, fences, delays, errors, counted) r (id, fence, delay, error, counted)
    where j.id = r.id and j.fence = r.fence
    returning j.id;
end $$;

-- Moves jobs whose fence still holds to dead_jobs.
create function jobs_bury(ids uuid[], fences integer[], errors text[]) returns setof uuid language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  buried uuid[];
  kinds text[];
  keys text[];
begin
  with gone as (
    delete from jobs j using unnest(ids, fences, errors) d (id, fence, error)
    where j.id = d.id and j.fence = d.fence
    returning j.*, d.error
  ), dead as (
    insert into dead_jobs (id, account_id, kind, key, payload, run_at, fence, attempts, created_at, last_error, died_at)
    select id, account_id, kind, key, payload, run_at, fence, attempts, created_at, error, app_now() from gone
    on conflict (id) do update set fence = excluded.fence, attempts = excluded.attempts, payload = excluded.payload,
      last_error = excluded.last_error, died_at = excluded.died_at
  )
  select array_agg(g.id), array_agg(g.kind) filter (where g.key is not null), array_agg(g.key) filter (where g.key is not null)
  into buried, kinds, keys from gone g;
  if kinds is not null then perform jobs_unpark(kinds, keys); end if;
  return query select unnest(buried);
end $$;

-- Prolongs leases whose fence still holds; the ids that it does not return have been taken by another worker.
create function jobs_extend(ids uuid[], fences integer[], lease_seconds double precision[]) returns setof uuid language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  return query
    update jobs j set leased_until = clock_timestamp() + make_interval(secs => e.lease)
    from unnest(ids, fences, lease_seconds) e (id, fence, lease)
    where j.id = e.id and j.fence = e.fence and j.leased_until is not null
    returning j.id;
end $$;

-- Takes back what one worker holds of a kind beyond what it knows of: claims whose answer was lost with the connection.
create function jobs_reclaim(worker uuid, of_kind text, known uuid[]) returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  found_rows integer;
begin
  update jobs set leased_until = null, owner = null, attempts = attempts - 1
  where leased_until is not null and owner = worker and kind = of_kind and id <> all (known);
  get diagnostics found_rows = row_count;
  return found_rows;
end $$;

-- Takes back expired leases and says for each kind in how many seconds its next job is due (0 or less: now).
create function jobs_poll(kinds text[]) returns table (kind text, due_in double precision) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  today timestamptz := app_now();
begin
  update jobs set leased_until = null, owner = null
  where id in (select j.id from jobs j where j.leased_until < statement_timestamp() for update skip locked);
  return query
    select k.kind, extract(epoch from n.run_at - today)::double precision
    from unnest(kinds) k (kind) cross join lateral (
      select j.run_at from jobs j where j.kind = k.kind and j.leased_until is null and not j.parked
      order by j.run_at, j.id limit 1) n;
end $$;

-- Sets free parked jobs that nothing stands before any more. A job parked at the very moment at which the one before it
-- ended is not seen by that one; this finds it, a key at a time.
create function jobs_sweep() returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  freed integer;
begin
  with recursive head as (
    (select j.kind, j.key, j.id from jobs j where j.parked order by j.kind, j.key, j.id limit 1)
    union all
    select n.kind, n.key, n.id from head h cross join lateral (
      select j.kind, j.key, j.id from jobs j where j.parked and (j.kind, j.key) > (h.kind, h.key)
      order by j.kind, j.key, j.id limit 1) n
  )
  update jobs j set parked = false from head h
  where j.id = h.id and j.parked
    and not exists (select from jobs b where b.kind = h.kind and b.key = h.key and b.id < h.id)
    and not exists (select from jobs b where b.kind = h.kind and b.key = h.key and b.leased_until is not null);
  get diagnostics freed = row_count;
  return freed;
end $$;
