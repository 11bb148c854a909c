-- The job queue.
--
-- A job is claimable when it is neither leased nor parked and its `run_at` (platform clock) has come. A claim leases
-- the job by the real clock, so moving the sandbox clock expires no lease. Each claim increments `fence`. Every later
-- change must name that fence, so a worker that lost its lease changes nothing.
--
-- Jobs that share a key run one after the other, in the order of their ids. A claim parks a job that must wait for
-- another one of its key. A parked job leaves the index of claimable jobs. The end of the job before it unparks it. A
-- key with a long backlog therefore costs one look for each job, not one for each claim.

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
  last_error text,
  -- The event that a rescheduled job waits for; the cause of that event may promote the job.
  waits_for text
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_vacuum_insert_scale_factor = 0.2,
  vacuum_truncate = false
);
create index jobs_due on jobs (kind, run_at, id) where leased_until is null and not parked;
create index jobs_due_by_account on jobs (kind, account_id, run_at, id)
  where leased_until is null and not parked and account_id is not null;
create index jobs_leased on jobs (leased_until) where leased_until is not null;
create index jobs_by_key on jobs (kind, key, id) where key is not null;
create index jobs_parked on jobs (kind, key, id) where parked;
-- Two workers cannot run two jobs of one key at once, whatever their snapshots contain: the later claim fails and is
-- retried.
create unique index jobs_one_lease_per_key on jobs (kind, key) where leased_until is not null and key is not null;
create index jobs_waiting on jobs (kind, waits_for) where waits_for is not null and leased_until is null;

-- The dead-letter table: jobs that failed for good. `fence` is stored so that it keeps growing when a job is
-- requeued.
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
create index dead_jobs_by_kind on dead_jobs (kind);

-- The next run of each periodic task.
create table schedules (
  name text primary key,
  next_at timestamptz not null
);

-- The functions below run without sequential scans, bitmap scans and hash joins. A session keeps the plan that it
-- made while the queue was empty, and reading an empty table whole is cheapest. With a million jobs that plan would
-- cost seconds for each claim. PL/pgSQL is used because each statement sees the effects of the one before it, and of
-- any transaction that it waited for. `jit` is off in every PL/pgSQL function: poolers may drop session settings, and
-- compiling a costly plan at each call took 119 to 139 ms instead of 4.4 ms (measured behind PgBouncer 1.18).
--
-- Jobs are changed through batches of ids. With `=` a plan made right after autovacuum found the queue empty begins with
-- the table of jobs, read in the order of its primary key past all jobs that ended, and compares each with the whole
-- batch. The bounds of a value are therefore `>=` and `<=`: the index search is as exact, and the order of the index is of
-- no use to the planner.

-- Unparks the first parked job of each key that is free. The ids are found first: see above. Measured with 50 keys and a
-- queue in motion: 0.4 ms instead of 24 to 54 ms.
create function jobs_unpark(kinds text[], keys text[]) returns void language plpgsql
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

-- Completes jobs whose fence still matches and claims the next ones, in one round trip. With `after_account` null it
-- claims the oldest first, else a share for each of the next 16 accounts after that id. Rows: `ended` and `parked`
-- carry only the id, `claimed` the job, `account` the last account reached (absent at the end of the round). The look for
-- other jobs of a key is a subquery with `limit`: `exists` may become a hash of all leases, read through the dead entries
-- of their index.
create function jobs_complete_and_claim(
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

-- Reschedules jobs whose fence still matches, after a delay in seconds. An attempt that is not counted is given back.
create function jobs_reschedule(
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

-- Makes jobs due now that wait for one of the given events.
create function jobs_promote(of_kind text, waits text[]) returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set enable_incremental_sort = off set jit = off
as $$
declare
  promoted integer;
begin
  update jobs set run_at = app_now(), waits_for = null
  where leased_until is null and id = any (array(
    select j.id from unnest(waits) w (name)
    cross join lateral (
      select id from jobs where kind = of_kind and waits_for >= w.name and waits_for <= w.name and leased_until is null
      order by waits_for offset 0) j));
  get diagnostics promoted = row_count;
  return promoted;
end $$;

-- Moves jobs whose fence still matches to dead_jobs.
create function jobs_move_to_dead_letter(
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

-- Extends leases whose fence still matches. Another worker has claimed the ids that are not returned.
create function jobs_extend(
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

-- Releases jobs of one kind that are leased to a worker which does not know them: claims whose answer was lost with
-- the connection.
create function jobs_recover_orphans(worker uuid, of_kind text, known uuid[]) returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  found_rows integer;
begin
  update jobs set leased_until = null, owner = null, attempts = attempts - 1
  where leased_until is not null and owner = worker and kind = of_kind and id <> all (known);
  get diagnostics found_rows = row_count;
  return found_rows;
end $$;

-- Releases expired leases. Returns for each kind the seconds until its next job is due (0 or less: now).
create function jobs_poll(kinds text[]) returns table (kind text, due_in double precision) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
begin
  update jobs set leased_until = null, owner = null
  where id in (select j.id from jobs j where j.leased_until < statement_timestamp() for update skip locked);
  return query
    select k.kind, extract(epoch from n.run_at - platform_now)::double precision
    from unnest(kinds) k (kind) cross join lateral (
      select j.run_at from jobs j where j.kind = k.kind and j.leased_until is null and not j.parked
      order by j.run_at, j.id limit 1) n;
end $$;

-- Unparks jobs that no other job of their key blocks. A job parked while the one before it ended is invisible to that
-- one; this function finds it, one step in the index for each key.
create function jobs_unpark_missed() returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  heads uuid[];
  unparked integer;
begin
  with recursive head as (
    (select j.kind, j.key, j.id from jobs j where j.parked order by j.kind, j.key, j.id limit 1)
    union all
    select n.kind, n.key, n.id from head h cross join lateral (
      select j.kind, j.key, j.id from jobs j where j.parked and (j.kind, j.key) > (h.kind, h.key)
      order by j.kind, j.key, j.id limit 1) n
  )
  select array_agg(h.id) into heads from head h
  where not exists (select from jobs b where b.kind = h.kind and b.key = h.key and b.id < h.id)
    and not exists (select from jobs b where b.kind = h.kind and b.key = h.key and b.leased_until is not null);
  update jobs set parked = false where id = any (heads) and parked;
  get diagnostics unparked = row_count;
  return unparked;
end $$;
