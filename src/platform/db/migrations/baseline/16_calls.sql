-- Calls, recordings, caller IDs, and proof of possession of numbers.

-- The process that runs the calls: one at a time. The holder increments `beats`. A process that sees them unchanged
-- for long enough takes over and increments `fence`. Times are not compared: clocks differ, and a database outage
-- ends no holder.
create table voice_lease (
  is_one boolean primary key default true check (is_one),
  fence bigint not null default 0,
  beats bigint not null default 0,
  -- Machine and process, for people; null: no process.
  holder text
) with (fillfactor = 50);
insert into voice_lease default values;

-- Calls: one row each, from the attempt on. The row is updated during the call, so that after a crash the call ends
-- at its last beat.
create table calls (
  account_id uuid not null references accounts,
  id uuid not null,
  -- The identifier of the session at its carrier.
  callid text not null,
  direction text not null check (direction in ('O', 'I')),
  -- The user who placed or answered it in a browser.
  user_id uuid,
  -- Inbound calls: E.164, or a network's id.
  from_number text,
  to_number text not null,
  iso_country_code text not null,
  status text not null,
  end_reason text,
  is_msgapp boolean not null,
  is_trunk boolean not null,
  caller_id uuid,
  caller_id_used text not null,
  virtual_number_id uuid,
  toll_free boolean not null default false,
  -- USD a minute at its beginning, and the minutes that are held for it.
  rate numeric(18, 6) not null default 0,
  hold_id uuid,
  held_minutes integer not null default 0,
  -- The last beat by the platform clock, and by the real one: the sandbox clock does not decide whether a process is
  -- alive.
  beat_at timestamptz not null default app_now(),
  alive_at timestamptz not null default now(),
  answered_at timestamptz,
  ended_at timestamptz,
  -- Seconds talked, and seconds charged.
  duration integer not null default 0,
  billed integer not null default 0,
  price numeric(18, 6) not null default 0,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  -- Set while there is a recording to play.
  recorded_at timestamptz,
  -- When an operator requested its end; the process that runs the call looks for it.
  hang_up_at timestamptz,
  -- The fence of the lease under which it began: under a later one no process runs it. Null on the messaging app.
  epoch bigint,
  -- The carrier's data on an inbound call: verification of the caller's number (verstat), whether the portability
  -- database was asked (npdi), and the routing number (rn; RFC 4694).
  verstat text,
  npdi boolean not null default false,
  rn text,
  -- A call that the platform places itself and that the voice process has yet to start.
  queued boolean not null default false,
  -- Quality of each side: {"caller": {mos, loss_percent, jitter_ms, round_trip_ms}, "callee": …}.
  quality jsonb,
  primary key (account_id, id)
) with (fillfactor = 85);
create index calls_by_time on calls (account_id, created_at desc, id desc);
create index calls_open on calls (alive_at) where ended_at is null;
create index calls_open_by_account on calls (account_id) where ended_at is null;
create index calls_to_hang_up on calls (hang_up_at) where hang_up_at is not null and ended_at is null;
create index calls_queued on calls (created_at) where queued and ended_at is null;
-- Calls that have ended: the heartbeats of an open call would write these indexes too.
create index calls_by_direction on calls (account_id, direction, created_at desc, id desc) where ended_at is not null;
create index calls_by_status on calls (account_id, status, created_at desc, id desc) where ended_at is not null;
create index calls_by_callee on calls (account_id, to_number, created_at desc, id desc)
  where direction = 'O' and ended_at is not null;
create index calls_by_caller on calls (account_id, from_number, created_at desc, id desc)
  where direction = 'I' and ended_at is not null;
-- Filters of the call history. As before, the indexes contain calls that have ended.
create index calls_by_user on calls (account_id, user_id, created_at desc, id desc)
  where user_id is not null and ended_at is not null;
create index calls_by_other_number on calls
  (account_id, (case direction when 'O' then to_number else from_number end), created_at desc, id desc)
  where ended_at is not null;
create index calls_by_own_number on calls
  (account_id, (case direction when 'O' then caller_id_used else to_number end), created_at desc, id desc)
  where ended_at is not null;
create index calls_recorded on calls (account_id, created_at desc, id desc) where recorded_at is not null;

-- SIP dialogs of answered calls, so that the other side gets its BYE after a crash. Deleted at a normal end.
create table call_dialogs (
  account_id uuid not null,
  call_id uuid not null,
  dialogs jsonb not null,
  primary key (account_id, call_id),
  foreign key (account_id, call_id) references calls
);

-- The SIP timeline of each call, for diagnosis.
create table call_timeline_entries (
  account_id uuid not null,
  call_id uuid not null,
  place integer not null,
  at timestamptz not null,
  leg text check (leg in ('caller', 'callee')),
  what text not null,
  text text not null,
  primary key (account_id, call_id, place)
);
create index call_timeline_entries_by_time on call_timeline_entries (at);

-- Limits of an account where an operator changed them; null: the setting applies.
create table call_limits (
  account_id uuid primary key references accounts,
  calls_at_a_time integer,
  attempts_per_minute integer,
  spend_per_day numeric(18, 6),
  -- Leading digits of permitted destinations; '' permits all. Null: all but the costly ones.
  destinations text[]
);

-- Usage against those limits: attempts in a minute, and USD in a day (UTC), by the platform clock. Its lock
-- serialises the start of an account's calls, so that concurrent calls exceed no limit.
create table call_usage (
  account_id uuid primary key references accounts,
  minute timestamptz not null,
  attempts integer not null,
  day date not null,
  spent numeric(18, 6) not null default 0
) with (fillfactor = 50);

-- Recordings: a row from the beginning on, so that the file of a killed process is found and repaired. Files are in
-- the recordings folder, under the account and the call.
create table call_recordings (
  account_id uuid not null,
  call_id uuid not null,
  seconds numeric(12, 3),
  bytes bigint,
  sha256 text,
  created_at timestamptz not null default app_now(),
  ready_at timestamptz,
  -- The last attempt to repair, move or delete it (real clock): failed ones go to the end of the queue.
  tried_at timestamptz,
  -- Where the file is: on the disk of the process that made it, also in the store, or in the store only.
  kept text not null default 'disk' check (kept in ('disk', 'both', 'store')),
  -- The id of the folder that the recording began in: only its owner can repair, move or delete the file. Null for
  -- recordings made before folders had ids, until their machine finds the file.
  home uuid,
  -- Whether the file is encrypted.
  encrypted boolean not null default false,
  primary key (account_id, call_id),
  foreign key (account_id, call_id) references calls
);
create index call_recordings_open on call_recordings (created_at) where ready_at is null;
create index call_recordings_by_time on call_recordings (ready_at) where ready_at is not null;
create index call_recordings_to_move on call_recordings (tried_at nulls first)
  where ready_at is not null and kept <> 'store';

-- Counts the bytes of recordings.
create function call_recordings_count_bytes() returns trigger language plpgsql
set jit = off
as $$
begin
  if tg_op = 'INSERT' then
    perform stored_bytes_add(array_agg(account_id), array_agg(coalesce(bytes, 0)))
    from new_rows where coalesce(bytes, 0) <> 0 having count(*) > 0;
  elsif tg_op = 'DELETE' then
    perform stored_bytes_add(array_agg(account_id), array_agg(-coalesce(bytes, 0)))
    from old_rows where coalesce(bytes, 0) <> 0 having count(*) > 0;
  else
    perform stored_bytes_add(array_agg(changed.account_id), array_agg(changed.size)) from (
      select account_id, sum(size) as size from (
        select account_id, coalesce(bytes, 0) as size from new_rows
        union all
        select account_id, -coalesce(bytes, 0) from old_rows
      ) signed group by account_id having sum(size) <> 0
    ) changed having count(*) > 0;
  end if;
  return null;
end $$;

create trigger call_recordings_count_inserted after insert on call_recordings referencing new table as new_rows
  for each statement execute function call_recordings_count_bytes();
create trigger call_recordings_count_deleted after delete on call_recordings referencing old table as old_rows
  for each statement execute function call_recordings_count_bytes();
create trigger call_recordings_count_updated after update on call_recordings
  referencing old table as old_rows new table as new_rows
  for each statement execute function call_recordings_count_bytes();

-- Numbers that calls may present: `VN` a virtual number, `CI` and `WW` numbers that the account has proved to be its
-- own.
create table caller_ids (
  account_id uuid not null references accounts,
  id uuid not null,
  virtual_number_id uuid,
  phone_number text not null,
  friendly_name text not null,
  iso_country_code text not null,
  type text not null check (type in ('VN', 'WW', 'CI')),
  -- A code was right, or the number was bought. The view caller_id_status decides.
  verified boolean not null default false,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  -- A removed row stays, as earlier calls refer to it.
  removed_at timestamptz,
  msgapp_channel_id uuid,
  -- Verified by a code that a sandbox carrier accepted: valid within the sandbox only.
  simulated boolean not null default false,
  primary key (account_id, id),
  foreign key (account_id, virtual_number_id) references virtual_numbers
);
create index caller_ids_in_use on caller_ids (account_id, phone_number) where removed_at is null;
create unique index caller_ids_unique on caller_ids (account_id, type, phone_number)
  where removed_at is null and type in ('WW', 'CI');
create index caller_ids_by_time on caller_ids (account_id, created_at, id) where removed_at is null;
create index caller_ids_proved_by_code on caller_ids (phone_number) where type = 'CI' and verified;

-- Codes that prove a number, stored as hashes. Codes belong to the number, so limits outlive a caller ID that is
-- deleted and added again. `day_from` and `day_codes` limit how many are sent a day.
create table caller_id_codes (
  account_id uuid not null references accounts,
  phone_number text not null,
  hash bytea not null,
  attempts integer not null default 0,
  sent_at timestamptz not null,
  expires_at timestamptz not null,
  day_from timestamptz not null,
  day_codes integer not null default 1,
  -- A sandbox carrier accepted the message: any sandbox account can read it from the handset.
  simulated boolean not null default false,
  -- The call in which the code must be typed; null: sent by SMS.
  call_id uuid,
  primary key (account_id, phone_number)
);
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

-- The one definition of possession: owned on the platform, proved by a code, granted, or proved by the network.
-- `stock`: a number that the sandbox sold, valid for sandbox accounts only. A view, because the planner expands it; a
-- function would run for each row.
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

-- `simulated`: verified only by a code that a sandbox carrier accepted. `stock`: verified only because the sandbox
-- sold the number. `offset 0` makes the planner use the indexes of one number, never a hash of all numbers.
create view caller_id_status as
select c.account_id, c.id, c.virtual_number_id, c.msgapp_channel_id, c.phone_number, c.friendly_name,
  c.iso_country_code, c.type, c.created_at, c.updated_at,
  c.verified or p.is_proved as verified,
  c.simulated and not p.is_proved as simulated,
  p.is_proved and not p.is_real as stock
from caller_ids c
cross join lateral (
  select count(*) > 0 as is_proved, count(*) filter (where not stock) > 0 as is_real from number_possession
  where account_id = c.account_id and phone_number = c.phone_number offset 0) p
where c.removed_at is null;
