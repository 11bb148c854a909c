-- compatible: 20261128T000000_baseline
--
-- Sounds that accounts upload for their calls. Their files are rows of msgapp_media, of a channel whose files are kept until
-- they are deleted.
create table call_clips (
  account_id uuid not null references accounts,
  id uuid not null,
  name text not null,
  media_id uuid not null,
  media_type text not null check (media_type in ('audio/wav', 'audio/mpeg')),
  size bigint not null check (size > 0),
  -- Null for MP3.
  seconds double precision,
  created_at timestamptz not null default app_now(),
  primary key (account_id, id)
);
create index call_clips_by_account on call_clips (account_id, created_at, id);
