-- A code that a sandbox carrier took proves a number within the sandbox alone: any sandbox account reads it from the handset.
alter table caller_id_codes add column simulated boolean not null default false;
alter table caller_ids add column simulated boolean not null default false;

create or replace view number_possession as
select account_id, number as phone_number from virtual_numbers
where released_at is null and status_text <> 'PENDING_ACTIVATION'
union all
select account_id, phone_number from caller_ids where removed_at is null and type = 'CI' and verified and not simulated
union all
select account_id, phone_number from number_grants
union all
select c.account_id, c.phone_number
from msgapp_channels c join msgapp_links l on l.account_id = c.account_id and l.channel_id = c.id
where c.deleted_at is null and l.possessed_at is not null;

-- `simulated`: verified by such a code alone.
create or replace view caller_id_standing as
select c.account_id, c.id, c.virtual_number_id, c.msgapp_channel_id, c.phone_number, c.friendly_name, c.iso_country_code,
  c.type, c.created_at, c.updated_at,
  c.verified or exists (
    select from number_possession p where p.account_id = c.account_id and p.phone_number = c.phone_number offset 0) as verified,
  c.simulated and not exists (
    select from number_possession p where p.account_id = c.account_id and p.phone_number = c.phone_number offset 0) as simulated
from caller_ids c where c.removed_at is null;
