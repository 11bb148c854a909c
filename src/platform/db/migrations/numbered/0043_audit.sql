-- Operator keys have roles; existing ones keep all rights.
alter table operator_keys
  add column role text not null default 'operator' check (role in ('operator', 'observer'));

-- The audit trail: one row for each act of an operator, and for acts of accounts that their contracts mark. Times are the
-- machine's own: tenants of a sandbox can move app_now(). No reference to accounts or keys: rows outlive both.
create table audit (
  account_id uuid,  -- null: the act concerns the installation
  id uuid primary key,
  at timestamptz not null default clock_timestamp(),
  actor_kind text not null check (actor_kind in ('operator', 'api_key', 'system')),
  actor_id uuid,
  actor_label text not null,
  actor_last_four text,
  address text,
  user_agent text,
  request_id text,
  action text not null,
  targets text[] not null,
  changes jsonb not null
);

create index audit_by_time on audit (at desc, id desc);
create index audit_by_account on audit (account_id, at desc, id desc) where account_id is not null;
create index audit_by_actor on audit (actor_id, at desc, id desc);
create index audit_by_action on audit (action, at desc, id desc);
create index audit_by_target on audit using gin (targets);

-- Rows are append-only. Retention deletes rows, and may be set to 30 days at least.
create function audit_append_only() returns trigger language plpgsql set jit = off as $$
begin
  if tg_op = 'DELETE' and old.at < now() - interval '30 days' then
    return old;
  end if;
  raise exception 'audit is append-only: % refused', tg_op;
end
$$;

create trigger audit_rows_append_only before update or delete on audit
  for each row execute function audit_append_only();
create trigger audit_append_only before truncate on audit
  for each statement execute function audit_append_only();
