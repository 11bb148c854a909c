-- Acts of people in the inbox: changes of many conversations at once, and files that they upload.

-- Changes of many conversations. Their conversations are found first and changed then, a few in each transaction, so
-- that a crash loses nothing and repeats nothing.
create table bulk_changes (
  account_id uuid not null references accounts,
  id uuid not null,
  -- Null: a key.
  user_id uuid,
  -- Concerns only conversations of the user, or without assignee.
  is_narrowed boolean not null,
  -- Empty for an undoing.
  change jsonb not null,
  -- Filters that find the conversations; null: the request named them.
  filter jsonb,
  -- Where the next page of the list begins; null: at its start.
  position text[],
  is_found boolean not null,
  state text not null default 'running' check (state in ('running', 'completed', 'undone')),
  total integer not null default 0,
  done integer not null default 0,
  changed integer not null default 0,
  undo_of uuid,
  created_at timestamptz not null,
  primary key (account_id, id)
);
create index bulk_changes_by_time on bulk_changes (created_at);

-- Conversations of a bulk change. `before` and `after` are the fields that people change; null where it changed nothing.
create table bulk_change_rows (
  account_id uuid not null,
  job_id uuid not null,
  conversation_id uuid not null,
  is_done boolean not null default false,
  before jsonb,
  after jsonb,
  primary key (account_id, job_id, conversation_id)
) with (fillfactor = 70);
create index bulk_change_rows_waiting on bulk_change_rows (account_id, job_id, conversation_id) where not is_done;

-- Uploaded files, by age: those of messages have a channel.
create index msgapp_media_uploads on msgapp_media (created_at)
  where channel_id = '00000000-0000-0000-0000-000000000000';

-- Seconds that a customer waited for the first reply: the median of a day is on the page of the team.
alter table conversations add column first_reply_seconds integer;
create index conversations_first_replied on conversations (account_id, first_reply_at)
  include (first_reply_seconds) where first_reply_seconds is not null;
create index conversations_closed on conversations (account_id, closed_at) where closed_at is not null;

create function conversations_measure_reply() returns trigger language plpgsql
set jit = off
as $$
begin
  new.first_reply_seconds := greatest(extract(epoch from new.first_reply_at - old.waiting_since), 0);
  return new;
end $$;
create trigger conversations_first_reply before update on conversations for each row
  when (old.first_reply_at is null and new.first_reply_at is not null and old.waiting_since is not null)
  execute function conversations_measure_reply();
