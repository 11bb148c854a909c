-- Possession of a number: an account calls and writes as a number only after possession of it was proved.

-- Tenants put numbers on connections to messaging networks that are shared, or assigned to their account.
alter table connections add column shared boolean not null default false;
create table connection_accounts (
  account_id uuid not null references accounts,
  connection_id uuid not null references connections on delete cascade,
  primary key (account_id, connection_id)
);
create index connection_accounts_by_connection on connection_accounts (connection_id);
update connections set shared = true where kind = 'sandbox';
-- Accounts keep the connections that they use.
insert into connection_accounts (account_id, connection_id)
select distinct c.account_id, c.connection_id
from msgapp_channels c join connections n on n.id = c.connection_id
where c.deleted_at is null and not n.shared;

create view connection_standing as
select c.id, c.kind, c.name, c.settings, c.sealed_secrets, c.enabled, c.shared, c.created_at, c.updated_at,
  array(select a.account_id::text from connection_accounts a where a.connection_id = c.id order by a.account_id) as accounts
from connections c;

-- Whether a connection is one account's alone: then the numbers that its business account lists are that account's.
create function is_only_user(connection uuid, account uuid) returns boolean language sql stable as $$
  select exists (select from connections n where n.id = connection and not n.shared)
    and (select array_agg(a.account_id) = array[account] from connection_accounts a where a.connection_id = connection)
$$;

-- When the network itself proved that the number is the account's: its phone was paired, or the account's own business account
-- lists it. `proved_at` is only the last round trip.
alter table msgapp_links add column possessed_at timestamptz;
update msgapp_links l set possessed_at = l.proved_at
from msgapp_channels c
where c.account_id = l.account_id and c.id = l.channel_id and c.deleted_at is null and l.proved_at is not null
  and (c.platform = 'whatsapp-web'
    or (c.platform = 'whatsapp-cloud' and is_only_user(c.connection_id, c.account_id)));

-- The operator vouches for a number that is an account's.
create table number_grants (
  account_id uuid not null references accounts,
  phone_number text not null,
  note text not null default '',
  created_at timestamptz not null default app_now(),
  primary key (account_id, phone_number)
);
create index number_grants_by_number on number_grants (phone_number);

-- The one definition of possession: owned on the platform, proved by a code, granted, or proved by the network. A view, as the
-- planner takes it apart; a function is called for each row.
create view number_possession as
select account_id, number as phone_number from virtual_numbers
where released_at is null and status_text <> 'PENDING_ACTIVATION'
union all
select account_id, phone_number from caller_ids where removed_at is null and type = 'CI' and verified
union all
select account_id, phone_number from number_grants
union all
select c.account_id, c.phone_number
from msgapp_channels c join msgapp_links l on l.account_id = c.account_id and l.channel_id = c.id
where c.deleted_at is null and l.possessed_at is not null;

-- Caller ids in use. The stored `verified` says only that a code was right, or the number bought. `offset 0`: by the indexes of one
-- number, never by a hash of everybody's numbers.
create view caller_id_standing as
select c.account_id, c.id, c.virtual_number_id, c.msgapp_channel_id, c.phone_number, c.friendly_name, c.iso_country_code,
  c.type, c.created_at, c.updated_at,
  c.verified or exists (
    select from number_possession p where p.account_id = c.account_id and p.phone_number = c.phone_number offset 0) as verified
from caller_ids c where c.removed_at is null;

-- A purchase ends the proofs that others have.
update caller_ids k set verified = false, updated_at = app_now()
where k.type = 'CI' and k.verified and k.removed_at is null
  and exists (select from virtual_numbers v where v.number = k.phone_number and v.released_at is null and v.account_id <> k.account_id);
create index caller_ids_proved_by_code on caller_ids (phone_number) where type = 'CI' and verified;

-- Codes belong to the number, not to a caller id: limits outlive a caller id that is deleted and added again.
alter table caller_id_codes rename to old_caller_id_codes;
alter table old_caller_id_codes rename constraint caller_id_codes_pkey to old_caller_id_codes_pkey;
create table caller_id_codes (
  account_id uuid not null references accounts,
  phone_number text not null,
  hash bytea not null,
  attempts integer not null default 0,
  sent_at timestamptz not null,
  expires_at timestamptz not null,
  day_from timestamptz not null,
  day_codes integer not null default 1,
  primary key (account_id, phone_number)
);
insert into caller_id_codes (account_id, phone_number, hash, attempts, sent_at, expires_at, day_from, day_codes)
select distinct on (k.account_id, c.phone_number)
  k.account_id, c.phone_number, k.hash, k.attempts, k.sent_at, k.expires_at, k.day_from, k.day_codes
from old_caller_id_codes k join caller_ids c on c.account_id = k.account_id and c.id = k.caller_id
order by k.account_id, c.phone_number, k.sent_at desc;
drop table old_caller_id_codes;
create index caller_id_codes_by_number on caller_id_codes (phone_number);
create index caller_id_codes_by_time on caller_id_codes (sent_at);

-- Codes sent and attempts made since `day_from`: of an account over all numbers, and of a number over all accounts.
create table caller_id_code_counters (
  -- An account's id, or a number.
  subject text primary key,
  day_from timestamptz not null,
  codes integer not null default 0,
  attempts integer not null default 0
) with (fillfactor = 70);
create index caller_id_code_counters_by_time on caller_id_code_counters (day_from);
