-- The key that made a transfer: an operator key or an API key. Null: the platform itself, such as a renewal. No reference to the
-- keys: transfers outlive them. Holds pass it on to their capture.
alter table transfers add column made_by uuid;
alter table holds add column made_by uuid;

-- Credits of operators so far are known from the audit trail.
update transfers t set made_by = a.actor_id
from (
  select account_id, actor_id, case when target ~ '^TRF[0-9a-f-]{36}$' then substr(target, 4)::uuid end as id
  from audit cross join lateral unnest(targets) as target
  where action = 'creditAccount' and actor_id is not null
) a
where t.account_id = a.account_id and t.id = a.id;

-- An account that was closed stays closed, and is blocked too: whatever a blocked account may not do, a closed one may not.
alter table accounts add column closed_at timestamptz, add column close_reason text;
alter table accounts add constraint accounts_closed_is_blocked check (closed_at is null or blocked);
