-- The audit trail: one row for each act of an operator, and for acts of accounts that their contracts mark. Times are
-- real, as sandbox tenants can move app_now(). Rows reference neither accounts nor keys and outlive both.
create table audit (
  -- Null: the act concerns the installation.
  account_id uuid,
  id uuid primary key,
  at timestamptz not null default clock_timestamp(),
  -- `person`: a person within an account. `operator_person`: a person with rights in the installation, acting by them.
  -- `visitor`: a refused sign-in.
  actor_kind text not null,
  actor_id uuid,
  actor_label text not null,
  actor_last_four text,
  address text,
  user_agent text,
  request_id text,
  action text not null,
  targets text[] not null,
  changes jsonb not null,
  session_id uuid
);
-- Not valid, as in installations made before the values `person` and later.
alter table audit add constraint audit_actor_kind_check
  check (actor_kind in ('operator', 'api_key', 'system', 'person', 'operator_person', 'visitor')) not valid;
create index audit_by_time on audit (at desc, id desc);
create index audit_by_account on audit (account_id, at desc, id desc) where account_id is not null;
create index audit_by_actor on audit (actor_id, at desc, id desc);
create index audit_by_action on audit (action, at desc, id desc);
-- The audit trail of an account by action, key, label, and kind of actor; that of the installation by label.
create index audit_by_account_and_action on audit (account_id, action, at desc, id desc) where account_id is not null;
create index audit_by_account_and_actor on audit (account_id, actor_id, at desc, id desc) where account_id is not null;
create index audit_by_account_and_label on audit (account_id, actor_label, at desc, id desc)
  where account_id is not null;
create index audit_by_account_and_kind on audit (account_id, actor_kind, at desc, id desc) where account_id is not null;
create index audit_by_label on audit (actor_label, at desc, id desc);

-- Rejects every change except the deletion of rows older than 30 days, the shortest retention.
create function audit_append_only() returns trigger language plpgsql
set jit = off
as $$
begin
  if tg_op = 'DELETE' and old.at < now() - interval '30 days' then
    return old;
  end if;
  raise exception 'audit is append-only: % refused', tg_op;
end
$$;

create trigger audit_rows_append_only before update or delete on audit
  for each row execute function audit_append_only();
create trigger audit_append_only before truncate on audit for each statement execute function audit_append_only();

-- The acts of each target, in the order of the audit trail. A GIN index has no order: the planner walks the whole trail by
-- time instead, or reads all acts of the target.
create table audit_targets (
  target text not null,
  acted_at timestamptz not null,
  act_id uuid not null,
  -- Account of the act. Null: the act concerns the installation.
  owner_id uuid,
  primary key (target, acted_at, act_id)
);
create index audit_targets_by_owner on audit_targets (target, owner_id, acted_at, act_id) where owner_id is not null;

create function audit_add_targets() returns trigger language plpgsql
set jit = off
as $$
begin
  insert into audit_targets (target, acted_at, act_id, owner_id)
  select distinct target, at, id, account_id from added cross join lateral unnest(targets) target;
  return null;
end
$$;

create trigger audit_targets_are_added after insert on audit referencing new table as added
  for each statement execute function audit_add_targets();
-- Rows of a copy have their targets too.
alter table audit enable always trigger audit_targets_are_added;
