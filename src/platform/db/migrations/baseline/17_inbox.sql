-- The shared inbox. Messages and calls stay in the tables of their kinds: a conversation has the order of its items, and
-- its state. Decision 0043 says what begins a conversation.

-- Everything with one counterpart, over all channels.
create table conversations (
  account_id uuid not null references accounts,
  id uuid not null,
  -- `+447700900123`, another sender of messages such as `INFO`, `WAG<uuid>` of a group, or `remote:<channel>:<id>` where
  -- the network hides the number.
  counterpart text not null,
  group_id uuid,
  contact_id uuid,
  -- The name that is shown: of the contact, of the network, or the number.
  name text not null,
  status text not null check (status in ('open', 'snoozed', 'closed')),
  assignee_id uuid,
  priority smallint not null default 0 check (priority between 0 and 2),
  tags uuid[] not null default '{}',
  snoozed_until timestamptz,
  snoozed_till_reply boolean not null default false,
  -- The newest item: its id, and what a list shows of it. `last_text` has at most 160 characters.
  last_at timestamptz not null,
  last_item uuid not null,
  last_kind text not null,
  last_direction text check (last_direction in ('inbound', 'outbound')),
  last_text text not null,
  last_channel uuid,
  -- The newest inbound item, which read marks are compared with.
  last_inbound uuid,
  -- The first inbound message or missed call that no person answered.
  waiting_since timestamptz,
  first_reply_at timestamptz,
  closed_at timestamptz,
  -- Older items than this one were not taken in yet; null: none is missing.
  items_before uuid,
  version bigint not null default 1,
  created_at timestamptz not null,
  -- Seconds that a customer waited for the first reply: the median of a day is on the page of the team.
  first_reply_seconds integer,
  primary key (account_id, id),
  unique (account_id, counterpart)
) with (fillfactor = 80);
create index conversations_by_time on conversations (account_id, last_at desc, id desc);
create index conversations_by_status on conversations (account_id, status, last_at desc, id desc);
create index conversations_by_assignee on conversations
  (account_id, (coalesce(assignee_id, '00000000-0000-0000-0000-000000000000')), status, last_at desc, id desc);
create index conversations_waiting on conversations (account_id, waiting_since, id)
  where waiting_since is not null and status = 'open';
create index conversations_by_channel on conversations (account_id, last_channel, last_at desc, id desc)
  where last_channel is not null;
create index conversations_by_priority on conversations (account_id, priority, last_at desc, id desc)
  where priority > 0;
create index conversations_by_contact on conversations (account_id, contact_id, last_at desc, id desc)
  where contact_id is not null;
create index conversations_snoozed on conversations (snoozed_until, account_id, id)
  where status = 'snoozed' and snoozed_until is not null;
create index conversations_incomplete on conversations (account_id, last_at desc, id desc)
  where items_before is not null;
-- A tag of few conversations is looked up here; one of many is met while walking by time.
create index conversations_by_tag on conversations using gin (tags) with (fastupdate = off);
create index conversations_first_replied on conversations (account_id, first_reply_at)
  include (first_reply_seconds) where first_reply_seconds is not null;
create index conversations_closed on conversations (account_id, closed_at) where closed_at is not null;

-- The order of a thread: ids are those of the messages, calls and notes, which ascend with time.
create table conversation_items (
  account_id uuid not null,
  conversation_id uuid not null,
  id uuid not null,
  kind text not null check (kind in ('sms', 'msgapp', 'call', 'msgapp-call', 'note', 'change')),
  direction text check (direction in ('inbound', 'outbound')),
  -- The user who sent, wrote or changed it; null for the API and the platform.
  user_id uuid,
  channel_id uuid,
  at timestamptz not null,
  -- A changed field: {"field", "from", "to"}.
  change jsonb,
  primary key (account_id, conversation_id, id)
);
create index conversation_items_inbound on conversation_items (account_id, conversation_id, id)
  where direction = 'inbound';

-- Hashes of the account and of the words of a message, a note, or (under its own id) the name of a conversation.
create table conversation_words (
  account_id uuid not null,
  id uuid not null,
  conversation_id uuid not null,
  kind text not null check (kind in ('name', 'text', 'note')),
  words integer[] not null,
  primary key (account_id, id)
);
-- New words wait in a list of at most 1 MB, and enter the index together: decision 0043 has the measurement.
create index conversation_words_by_word on conversation_words using gin (words)
  with (fastupdate = on, gin_pending_list_limit = 1024);
-- Words of names and notes, apart from those of texts: a word that half of all texts have is rare among them. Without this
-- index, a search for notes with such a word read all those texts: 2 s for a million.
create index conversation_words_outside_texts on conversation_words using gin (words)
  with (fastupdate = on, gin_pending_list_limit = 1024)
  where kind <> 'text';
-- Statistics of hashes help no plan.
alter table conversation_words alter column words set statistics 0;

-- The last item that a user has read. The user 00000000-… stands for the API keys of the account.
create table conversation_reads (
  account_id uuid not null,
  user_id uuid not null,
  conversation_id uuid not null,
  read_until uuid not null,
  primary key (account_id, user_id, conversation_id)
) with (fillfactor = 70);

-- Numbers of conversations: the sum of the slots. Several slots, so that concurrent changes do not wait for each other.
-- Kinds: `open`, `snoozed`, `closed` and `waiting` (subject 00000000-…); `open-of` and `waiting-of` (subject: assignee,
-- 00000000-… for none); `tagged` (subject: tag).
create table conversation_counts (
  account_id uuid not null,
  kind text not null,
  subject uuid not null,
  slot smallint not null,
  n bigint not null,
  primary key (account_id, kind, subject, slot)
) with (fillfactor = 50);

-- The numbers that a conversation is part of.
create function conversation_count_kinds(
  status text, assignee uuid, waiting timestamptz, tags uuid[]
) returns table (kind text, subject uuid) language sql immutable
set jit = off
as $$
  select status, '00000000-0000-0000-0000-000000000000'::uuid
  union all
  select 'open-of', coalesce(assignee, '00000000-0000-0000-0000-000000000000') where status = 'open'
  union all
  select 'waiting', '00000000-0000-0000-0000-000000000000' where status = 'open' and waiting is not null
  union all
  select 'waiting-of', coalesce(assignee, '00000000-0000-0000-0000-000000000000')
  where status = 'open' and waiting is not null
  union all
  select 'tagged', tag from unnest(tags) tag
$$;

-- Returns a slot that no other transaction writes until the end of this one; the own slot where it has one. Two
-- transactions that change several conversations each, one statement after the other, would wait for each other's counters
-- in a shared slot.
create function conversation_count_slot(account uuid) returns smallint language plpgsql
set jit = off
as $$
declare
  own constant integer := pg_backend_pid() % 32;
  -- Locks of two numbers are apart from those of one, which other parts use.
  place constant integer := hashtext('conversation_counts ' || account);
begin
  for i in 0..31 loop
    if pg_try_advisory_xact_lock(place, (own + i) % 32) then
      return (own + i) % 32;
    end if;
  end loop;
  perform pg_advisory_xact_lock(place, own);
  return own;
end $$;

-- Changes the counters with the conversations. Changed rows are added up before their kinds are found: a batch of new
-- messages changes the state of few conversations, and the sum of the others is zero. Joining the old and the new rows,
-- by a plan made for one row, took 18 ms for a batch of 125 conversations.
create function conversations_count() returns trigger language plpgsql
set jit = off
as $$
begin
  if tg_op = 'INSERT' then
    insert into conversation_counts as c (account_id, kind, subject, slot, n)
    select d.account_id, d.kind, d.subject, conversation_count_slot(d.account_id), d.n from (
      select g.account_id, k.kind, k.subject, sum(g.n) as n from (
        select account_id, status, assignee_id, tags, max(waiting_since) as waiting, count(*) as n from new_rows
        group by account_id, status, assignee_id, tags, waiting_since is null) g
      cross join lateral conversation_count_kinds(g.status, g.assignee_id, g.waiting, g.tags) k
      group by g.account_id, k.kind, k.subject order by g.account_id, k.kind, k.subject) d
    on conflict (account_id, kind, subject, slot) do update set n = c.n + excluded.n;
  elsif tg_op = 'DELETE' then
    insert into conversation_counts as c (account_id, kind, subject, slot, n)
    select d.account_id, d.kind, d.subject, conversation_count_slot(d.account_id), -d.n from (
      select g.account_id, k.kind, k.subject, sum(g.n) as n from (
        select account_id, status, assignee_id, tags, max(waiting_since) as waiting, count(*) as n from old_rows
        group by account_id, status, assignee_id, tags, waiting_since is null) g
      cross join lateral conversation_count_kinds(g.status, g.assignee_id, g.waiting, g.tags) k
      group by g.account_id, k.kind, k.subject order by g.account_id, k.kind, k.subject) d
    on conflict (account_id, kind, subject, slot) do update set n = c.n + excluded.n;
  else
    insert into conversation_counts as c (account_id, kind, subject, slot, n)
    select d.account_id, d.kind, d.subject, conversation_count_slot(d.account_id), d.n from (
      select g.account_id, k.kind, k.subject, sum(g.n) as n from (
        select account_id, status, assignee_id, tags, max(waiting_since) as waiting, sum(change) as n from (
          select account_id, status, assignee_id, tags, waiting_since, -1 as change from old_rows
          union all
          select account_id, status, assignee_id, tags, waiting_since, 1 from new_rows) r
        group by account_id, status, assignee_id, tags, waiting_since is null having sum(change) <> 0) g
      cross join lateral conversation_count_kinds(g.status, g.assignee_id, g.waiting, g.tags) k
      group by g.account_id, k.kind, k.subject having sum(g.n) <> 0
      order by g.account_id, k.kind, k.subject) d
    on conflict (account_id, kind, subject, slot) do update set n = c.n + excluded.n;
  end if;
  return null;
end $$;

create trigger conversations_count_inserted after insert on conversations referencing new table as new_rows
  for each statement execute function conversations_count();
create trigger conversations_count_deleted after delete on conversations referencing old table as old_rows
  for each statement execute function conversations_count();
create trigger conversations_count_updated after update on conversations
  referencing old table as old_rows new table as new_rows
  for each statement execute function conversations_count();

-- Notes within a conversation, for colleagues only.
create table conversation_notes (
  account_id uuid not null,
  id uuid not null,
  conversation_id uuid not null,
  user_id uuid,
  text text not null,
  mentions uuid[] not null default '{}',
  created_at timestamptz not null,
  edited_at timestamptz,
  removed_at timestamptz,
  primary key (account_id, id)
);
-- The list of conversations with a note that mentions a user.
create index conversation_notes_by_mention on conversation_notes using gin (mentions) where mentions <> '{}';

create table inbox_tags (
  account_id uuid not null references accounts,
  id uuid not null,
  name text not null,
  -- Lower case, NFKC: two tags of one name would be confused.
  name_key text not null,
  color text not null,
  created_at timestamptz not null,
  primary key (account_id, id),
  unique (account_id, name_key)
);

-- Texts that agents insert. `user_id` null: shared.
create table canned_replies (
  account_id uuid not null references accounts,
  id uuid not null,
  user_id uuid,
  shortcut text not null,
  title text not null,
  text text not null,
  updated_by uuid,
  updated_at timestamptz not null,
  primary key (account_id, id)
);
create unique index canned_replies_by_shortcut on canned_replies
  (account_id, (coalesce(user_id, '00000000-0000-0000-0000-000000000000')), shortcut);

-- Filters of a list under a name. `user_id` null: shared.
create table saved_views (
  account_id uuid not null references accounts,
  id uuid not null,
  user_id uuid,
  name text not null,
  page text not null,
  query jsonb not null,
  place integer not null,
  created_at timestamptz not null,
  primary key (account_id, id)
);

-- Texts that were not sent yet, of one user each.
create table conversation_drafts (
  account_id uuid not null,
  user_id uuid not null,
  conversation_id uuid not null,
  kind text not null check (kind in ('message', 'note')),
  text text not null,
  channel_id uuid,
  reply_to uuid,
  updated_at timestamptz not null,
  primary key (account_id, user_id, conversation_id, kind)
);

-- How far the projector has read the event log of each account. A process that projects an account locks its row.
create table inbox_positions (
  account_id uuid primary key references accounts,
  -- Events up to this id are projected.
  floor uuid not null,
  -- Items before this id are not unread for a user who never read them.
  unread_after uuid not null,
  -- History is taken in down to the message or call of this time and id, the newest first; null once it is complete.
  history_until timestamptz,
  history_id uuid,
  updated_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
create index inbox_positions_with_history on inbox_positions (account_id) where history_until is not null;

-- Acts of people in the inbox: changes of many conversations at once, and files that they upload.

-- Changes of many conversations; `failed`: the job was given up. Their conversations are found first and changed then, a few in each transaction, so
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
  state text not null default 'running' check (state in ('running', 'completed', 'failed', 'undone')),
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

-- The newest messages and calls with a counterpart, before an id. The planner takes an account that it does not know yet
-- for empty: all indexes that begin with the account, or the channel, look alike then, and it walked all messages of a
-- channel for each new conversation. So each number is a range of one value and the first key of its order, and sorting
-- is off: only the index of threads gives that order.
-- contact: null for a group or a hidden number; chat_channels, chat_peers: chats of the messaging app
create function inbox_refs(account uuid, contact_number text, chat_channels uuid[], chat_peers text[], below uuid,
  most_channels integer, most integer)
returns table (kind text, id uuid) language plpgsql stable
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  return query
    select found.kind, found.id from (
      select 'sms' as kind, m.id from (
        select s.id from sms_channels s where s.account_id = account and contact_number is not null
        order by s.created_at, s.id limit most_channels) c
      cross join lateral (
        select o.id from sms_messages o
        where o.channel_id = c.id and o.contact >= contact_number and o.contact <= contact_number
          and o.account_id = account and o.id < below
        order by o.contact, o.created_at desc, o.id desc limit most) m
      union all
      select 'msgapp', m.id from unnest(chat_channels, chat_peers) c (channel, peer)
      cross join lateral (
        select o.id from msgapp_messages o
        where o.account_id = account and o.channel_id = c.channel and o.peer >= c.peer and o.peer <= c.peer
          and o.id < below
        order by o.peer, o.created_at desc, o.id desc limit most) m
      union all
      (select 'call', o.id from calls o
       where o.account_id = account and o.direction = 'O' and o.to_number >= contact_number
         and o.to_number <= contact_number and o.ended_at is not null and o.id < below
       order by o.to_number, o.created_at desc, o.id desc limit most)
      union all
      (select 'call', o.id from calls o
       where o.account_id = account and o.direction = 'I' and o.from_number >= contact_number
         and o.from_number <= contact_number and o.ended_at is not null and o.id < below
       order by o.from_number, o.created_at desc, o.id desc limit most)) found
    order by found.id desc limit most;
end $$;
