-- Numbers that calls may show: beside bought ones, those of the messaging app and those that somebody has proved to be theirs.
alter table caller_ids add column msgapp_channel_id uuid;
create unique index caller_ids_own on caller_ids (account_id, type, phone_number)
  where removed_at is null and type in ('WW', 'CI');
create index caller_ids_by_time on caller_ids (account_id, created_at, id) where removed_at is null;

-- The code that proves a number: never the code itself. `day_from` and `day_codes` bound how many are sent a day.
create table caller_id_codes (
  account_id uuid not null,
  caller_id uuid not null,
  hash bytea not null,
  attempts integer not null default 0,
  sent_at timestamptz not null,
  expires_at timestamptz not null,
  day_from timestamptz not null,
  day_codes integer not null default 1,
  primary key (account_id, caller_id),
  foreign key (account_id, caller_id) references caller_ids
);
