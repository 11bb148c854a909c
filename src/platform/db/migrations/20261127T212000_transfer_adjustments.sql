-- What corrections and refunds changed of each transfer, so that they never exceed it.

alter table transfers
  -- The transfer that this correction or refund adjusts. The correction of a correction has that of the first one.
  add column adjusts uuid,
  -- Net change of the balance by the corrections and refunds of this transfer; null: none.
  add column adjusted numeric(18, 6);

with recursive adjustment as materialized (
  select account_id, id, substr(reference, 4)::uuid as adjusts from transfers
  where kind = 'correction' and reference ~ '^TRF[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  union all
  select t.account_id, t.id, m.transfer_id
  from transfers t
  join sms_messages m on m.account_id = t.account_id and m.id = substr(t.reference, 4)::uuid
  where t.kind = 'sms_refund' and t.reference ~ '^SMO[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
    and m.transfer_id is not null
), step as (
  select * from adjustment
  union all
  select s.account_id, s.id, a.adjusts
  from step s join adjustment a on a.account_id = s.account_id and a.id = s.adjusts
)
update transfers t set adjusts = s.adjusts
from step s
where t.account_id = s.account_id and t.id = s.id
  and not exists (select from adjustment a where a.account_id = s.account_id and a.id = s.adjusts);

update transfers t set adjusted = s.change
from (
  select account_id, adjusts, sum(case when credit = 'balance' then amount else -amount end) as change
  from transfers where adjusts is not null group by account_id, adjusts
) s
where t.account_id = s.account_id and t.id = s.adjusts;
