-- What a job that was put back waits for: whoever brings it about need not leave the job to its time.
alter table jobs add column waits_for text;
create index jobs_waiting on jobs (kind, waits_for) where waits_for is not null and leased_until is null;

-- Puts jobs whose fence still holds back to run later.
drop function jobs_return(uuid[], integer[], double precision[], text[], boolean[]);
create function jobs_return(
  ids uuid[], fences integer[], delays double precision[], errors text[], counted boolean[], waits text[] default null
) returns setof uuid language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  today timestamptz := app_now();
begin
  return query
    update jobs j set leased_until = null, owner = null, run_at = today + make_interval(secs => r.delay),
      attempts = j.attempts - case when r.counted then 0 else 1 end, last_error = coalesce(r.error, j.last_error),
      waits_for = r.wait
    from unnest(ids, fences, delays, errors, counted, waits) r (id, fence, delay, error, counted, wait)
    where j.id = r.id and j.fence = r.fence
    returning j.id;
end $$;

-- Brings to their time the jobs that wait for one of these.
create function jobs_hasten(of_kind text, waits text[]) returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  hastened integer;
begin
  update jobs j set run_at = app_now(), waits_for = null
  from unnest(waits) w (name)
  where j.kind = of_kind and j.waits_for = w.name and j.waits_for is not null and j.leased_until is null;
  get diagnostics hastened = row_count;
  return hastened;
end $$;
