-- Two transactions that change several conversations each, one statement after the other, could wait for each other's
-- counters if their sessions shared a slot. So a transaction takes a slot that no other one has: it never waits.

-- Returns a slot that no other transaction writes until the end of this one; the own slot where it has one.
create function conversation_count_slot(account uuid) returns smallint language plpgsql
set jit = off
as $$
declare
  own constant integer := pg_backend_pid() % 32;
  -- Locks of two numbers are apart from those of one, which other parts use.
  place constant integer := hashtext('conversation_counts ' || account);
begin
  for i in 0..31 loop
    if pg_try_advisory_xact_lock(place, (own + i) % 32) then
      return (own + i) % 32;
    end if;
  end loop;
  perform pg_advisory_xact_lock(place, own);
  return own;
end $$;

create or replace function conversations_count() returns trigger language plpgsql
set jit = off
as $$
begin
  if tg_op = 'INSERT' then
    insert into conversation_counts as c (account_id, kind, subject, slot, n)
    select d.account_id, d.kind, d.subject, conversation_count_slot(d.account_id), d.n from (
      select r.account_id, k.kind, k.subject, count(*) as n
      from new_rows r cross join lateral conversation_count_kinds(r.status, r.assignee_id, r.waiting_since, r.tags) k
      group by r.account_id, k.kind, k.subject order by r.account_id, k.kind, k.subject) d
    on conflict (account_id, kind, subject, slot) do update set n = c.n + excluded.n;
  elsif tg_op = 'DELETE' then
    insert into conversation_counts as c (account_id, kind, subject, slot, n)
    select d.account_id, d.kind, d.subject, conversation_count_slot(d.account_id), -d.n from (
      select r.account_id, k.kind, k.subject, count(*) as n
      from old_rows r cross join lateral conversation_count_kinds(r.status, r.assignee_id, r.waiting_since, r.tags) k
      group by r.account_id, k.kind, k.subject order by r.account_id, k.kind, k.subject) d
    on conflict (account_id, kind, subject, slot) do update set n = c.n + excluded.n;
  else
    insert into conversation_counts as c (account_id, kind, subject, slot, n)
    select d.account_id, d.kind, d.subject, conversation_count_slot(d.account_id), d.n from (
      select e.account_id, e.kind, e.subject, sum(e.n) as n from (
        select o.account_id, k.kind, k.subject, -1 as n
        from old_rows o join new_rows w using (account_id, id)
        cross join lateral conversation_count_kinds(o.status, o.assignee_id, o.waiting_since, o.tags) k
        where (o.status, o.assignee_id, o.waiting_since is null, o.tags)
          is distinct from (w.status, w.assignee_id, w.waiting_since is null, w.tags)
        union all
        select w.account_id, k.kind, k.subject, 1
        from old_rows o join new_rows w using (account_id, id)
        cross join lateral conversation_count_kinds(w.status, w.assignee_id, w.waiting_since, w.tags) k
        where (o.status, o.assignee_id, o.waiting_since is null, o.tags)
          is distinct from (w.status, w.assignee_id, w.waiting_since is null, w.tags)
      ) e
      group by e.account_id, e.kind, e.subject having sum(e.n) <> 0 order by e.account_id, e.kind, e.subject) d
    on conflict (account_id, kind, subject, slot) do update set n = c.n + excluded.n;
  end if;
  return null;
end $$;

-- A change of many conversations whose job was given up.
alter table bulk_changes drop constraint bulk_changes_state_check;
alter table bulk_changes add constraint bulk_changes_state_check
  check (state in ('running', 'completed', 'failed', 'undone'));
