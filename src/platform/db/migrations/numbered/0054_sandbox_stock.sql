-- The sandbox sells numbers of the real numbering plan, which it does not have: they count for sandbox accounts alone.
drop view caller_id_standing;
drop view number_possession;

-- `stock`: the number is one that the sandbox sold.
create view number_possession as
select v.account_id, v.number as phone_number, coalesce(g.supplier = 'sandbox', false) as stock
from virtual_numbers v left join number_groups g on g.id = v.group_id
where v.released_at is null and v.status_text <> 'PENDING_ACTIVATION'
union all
select account_id, phone_number, false from caller_ids
where removed_at is null and type = 'CI' and verified and not simulated
union all
select account_id, phone_number, false from number_grants
union all
select c.account_id, c.phone_number, false
from msgapp_channels c join msgapp_links l on l.account_id = c.account_id and l.channel_id = c.id
where c.deleted_at is null and l.possessed_at is not null;

-- `simulated`: verified only by a code that a sandbox carrier took. `stock`: verified only because the sandbox sold the number.
create view caller_id_standing as
select c.account_id, c.id, c.virtual_number_id, c.msgapp_channel_id, c.phone_number, c.friendly_name, c.iso_country_code,
  c.type, c.created_at, c.updated_at,
  c.verified or p.is_proved as verified,
  c.simulated and not p.is_proved as simulated,
  p.is_proved and not p.is_real as stock
from caller_ids c
cross join lateral (
  select count(*) > 0 as is_proved, count(*) filter (where not stock) > 0 as is_real from number_possession
  where account_id = c.account_id and phone_number = c.phone_number offset 0) p
where c.removed_at is null;

-- Codes that were entered before migration 0048 may have come from the handsets of a sandbox. Where one has run, sandbox accounts
-- enter them again; an account that is not marked keeps its proofs.
update caller_ids c set simulated = true
where c.type = 'CI' and c.verified and not c.simulated
  and exists (select from facts where name = 'sandbox-stock')
  and exists (select from accounts a where a.id = c.account_id and a.sandbox);
