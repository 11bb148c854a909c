-- How channels stand, in one place for all who read it: connected only while a round trip of the last 12 seconds, by the
-- real clock, says so, whoever wrote the phase and whatever became of them.
create view msgapp_standing as
select c.account_id, c.id, c.connection_id, c.platform, c.phone_number, c.friendly_name, c.iso_country_code, c.pushname,
  c.server, c.is_business, c.enabled, c.sync_contacts, c.timezone, c.lang, c.created_at, c.updated_at,
  l.phase, l.reason, l.since, l.sealed_pairing,
  case
    when l.phase = 'failed' then 'F'
    when l.phase = 'connected' and c.enabled and l.proved_at > clock_timestamp() - interval '12 seconds' then 'C'
    else 'D'
  end as connection_status,
  extract(epoch from clock_timestamp() - l.proved_at)::double precision as proof_age
from msgapp_channels c join msgapp_links l on l.account_id = c.account_id and l.channel_id = c.id
where c.deleted_at is null;
