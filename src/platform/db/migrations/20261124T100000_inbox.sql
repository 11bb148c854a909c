-- The shared inbox. Messages and calls stay in the tables of their kinds: a conversation has the order of its items, and
-- its state. Decision 0043 says what begins a conversation.

-- False: agents see only conversations that are theirs, or that have no assignee.
alter table accounts add column agents_see_all boolean not null default true;

-- Whether a user takes conversations and calls, and since when.
alter table users add column availability text not null default 'available'
  check (availability in ('available', 'away'));
alter table users add column availability_since timestamptz;

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
create index conversation_words_by_word on conversation_words using gin (words) with (fastupdate = off);
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

-- Changes the numbers with the conversations, in a fixed order, so that concurrent changes do not block each other.
create function conversations_count() returns trigger language plpgsql
set jit = off
as $$
begin
  if tg_op = 'INSERT' then
    insert into conversation_counts as c (account_id, kind, subject, slot, n)
    select r.account_id, k.kind, k.subject, pg_backend_pid() % 32, count(*)
    from new_rows r cross join lateral conversation_count_kinds(r.status, r.assignee_id, r.waiting_since, r.tags) k
    group by r.account_id, k.kind, k.subject order by r.account_id, k.kind, k.subject
    on conflict (account_id, kind, subject, slot) do update set n = c.n + excluded.n;
  elsif tg_op = 'DELETE' then
    insert into conversation_counts as c (account_id, kind, subject, slot, n)
    select r.account_id, k.kind, k.subject, pg_backend_pid() % 32, -count(*)
    from old_rows r cross join lateral conversation_count_kinds(r.status, r.assignee_id, r.waiting_since, r.tags) k
    group by r.account_id, k.kind, k.subject order by r.account_id, k.kind, k.subject
    on conflict (account_id, kind, subject, slot) do update set n = c.n + excluded.n;
  else
    insert into conversation_counts as c (account_id, kind, subject, slot, n)
    select d.account_id, d.kind, d.subject, pg_backend_pid() % 32, sum(d.n) from (
      select o.account_id, k.kind, k.subject, -1 as n
      from old_rows o join new_rows w using (account_id, id)
      cross join lateral conversation_count_kinds(o.status, o.assignee_id, o.waiting_since, o.tags) k
      where (o.status, o.assignee_id, o.waiting_since is null, o.tags)
        is distinct from (w.status, w.assignee_id, w.waiting_since is null, w.tags)
      union all
      select w.account_id, k.kind, k.subject, 1
      from old_rows o join new_rows w using (account_id, id)
      cross join lateral conversation_count_kinds(w.status, w.assignee_id, w.waiting_since, w.tags) k
      where (o.status, o.assignee_id, o.waiting_since is null, o.tags)
        is distinct from (w.status, w.assignee_id, w.waiting_since is null, w.tags)
    ) d
    group by d.account_id, d.kind, d.subject having sum(d.n) <> 0 order by d.account_id, d.kind, d.subject
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

-- The events of accounts that exist already are history. Later accounts begin with their first event.
insert into inbox_positions (account_id, floor, unread_after, history_until, history_id)
select id, now_id, now_id, app_now(), 'ffffffff-ffff-ffff-ffff-ffffffffffff' from accounts
cross join (
  select (lpad(to_hex((extract(epoch from clock_timestamp() - interval '10 seconds') * 1000)::bigint), 12, '0')
    || '70008000000000000000')::uuid as now_id) n;
