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

insert into audit_targets (target, acted_at, act_id, owner_id)
select distinct target, at, id, account_id from audit cross join lateral unnest(targets) target;

drop index audit_by_target;
