-- Recordings of calls: a row from the beginning on, so that what a killed process left is found and made whole. The files are in
-- the recordings folder, under the account and the call.
create table call_recordings (
  account_id uuid not null,
  call_id uuid not null,
  seconds numeric(12, 3),
  bytes bigint,
  sha256 text,
  created_at timestamptz not null default app_now(),
  ready_at timestamptz,
  primary key (account_id, call_id),
  foreign key (account_id, call_id) references calls
);
create index call_recordings_open on call_recordings (created_at) where ready_at is null;
create index call_recordings_by_time on call_recordings (ready_at) where ready_at is not null;
-- Set while there is a recording that can be heard.
alter table calls add column recorded_at timestamptz;

-- The story of each call, for whoever asks why it failed or was silent.
create table call_lines (
  account_id uuid not null,
  call_id uuid not null,
  place integer not null,
  at timestamptz not null,
  leg text check (leg in ('caller', 'callee')),
  what text not null,
  text text not null,
  primary key (account_id, call_id, place)
);
create index call_lines_by_time on call_lines (at);
