-- compatible: 20261128T000000_baseline
--
-- Leases of SMS connections. A connection has as many slots as processes may share it. The names of leases:
-- `queue`: the process that reads the queue of messages, and holds slot 0 of every connection;
-- `CONNECTION/SLOT`: the process that submits the messages of the pairs of numbers of that slot;
-- `worker OWNER`: a process that takes part.
create table carrier_leases (
  name text primary key,
  owner uuid not null,
  -- By the real clock.
  leased_until timestamptz not null,
  -- Whether the connection of the owner is up.
  is_up boolean not null,
  -- The last other owner, and the end of its lease.
  previous_owner uuid,
  previous_until timestamptz
) with (fillfactor = 50);

-- As before, but a job that nothing was attempted for, and that may run at once, keeps its due time: a worker that stops
-- returns jobs to their places in the queue. A newer job of another process would otherwise pass them.
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
    update jobs j set leased_until = null, owner = null,
      run_at = case when r.delay = 0 and not r.counted then least(j.run_at, platform_now)
        else platform_now + make_interval(secs => r.delay) end,
      attempts = j.attempts - case when r.counted then 0 else 1 end, last_error = coalesce(r.error, j.last_error),
      waits_for = r.wait
    from unnest(ids, fences, delays, errors, counted, waits) r (id, fence, delay, error, counted, wait)
    where j.id >= r.id and j.id <= r.id and j.fence = r.fence
    returning j.id;
end $$;
