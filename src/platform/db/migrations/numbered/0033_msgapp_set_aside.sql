-- What networks told and the database would not keep, however often it was tried: whole, as JSON text, for whoever operates the
-- platform. What is told again is set aside once.
create table msgapp_set_aside (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  -- A function of the intake, and what it was given.
  what text not null,
  content text not null,
  digest bytea not null,
  reason text not null,
  created_at timestamptz not null,
  primary key (account_id, id)
);
create unique index msgapp_set_aside_by_content on msgapp_set_aside (channel_id, digest);
create index msgapp_set_aside_by_time on msgapp_set_aside (created_at);
