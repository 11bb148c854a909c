-- Dead jobs are listed by kind and by account, and the number of each kind is bounded.

-- Whether the failure took effect (`onDiscard` of the kind): a message failed, money went back, a requester was
-- answered. Such a job must not run again.
alter table dead_jobs add column is_settled boolean not null default false;
update dead_jobs set is_settled = true
where kind in ('sms.submit', 'sms.batch', 'numbers.order', 'mail.send', 'inbox.bulk') or kind like 'msgapp:%';

drop index dead_jobs_by_kind;
create index dead_jobs_by_kind on dead_jobs (kind, died_at desc, id desc);
create index dead_jobs_by_account on dead_jobs (account_id, died_at desc, id desc);
create index dead_jobs_by_account_and_kind on dead_jobs (account_id, kind, died_at desc, id desc);

-- Moves jobs whose fence still matches to dead_jobs. Processes of the former version give three arguments.
drop function jobs_move_to_dead_letter(uuid[], integer[], text[]);
create function jobs_move_to_dead_letter(
  ids uuid[], fences integer[], errors text[], settled boolean default false
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
    insert into dead_jobs (
      id, account_id, kind, key, payload, run_at, fence, attempts, created_at, last_error, died_at, is_settled)
    select id, account_id, kind, key, payload, run_at, fence, attempts, created_at, error, app_now(), settled from deleted
    on conflict (id) do update set fence = excluded.fence, attempts = excluded.attempts, payload = excluded.payload,
      last_error = excluded.last_error, died_at = excluded.died_at, is_settled = excluded.is_settled
  )
  select array_agg(g.id), array_agg(g.kind) filter (where g.key is not null),
    array_agg(g.key) filter (where g.key is not null)
  into moved, kinds, keys from deleted g;
  if kinds is not null then perform jobs_unpark(kinds, keys); end if;
  return query select unnest(moved);
end $$;
