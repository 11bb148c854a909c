-- The messaging app: channels on chat networks, conversations, messages, files, groups, checks and calls.

-- The process that runs a connection to a chat network, by the real clock: one owner at a time.
create table msgapp_leases (
  connection_id uuid primary key,
  owner uuid not null,
  leased_until timestamptz not null
) with (fillfactor = 50);

-- Numbers connected to a chat network.
create table msgapp_channels (
  account_id uuid not null references accounts,
  id uuid not null,
  connection_id uuid not null,
  platform text not null,
  phone_number text not null,
  friendly_name text not null,
  iso_country_code text not null,
  -- The network's own data on the number.
  pushname text not null default '',
  server text not null default '',
  is_business boolean not null default false,
  -- False: disconnected until the account enables it.
  enabled boolean not null default true,
  sync_contacts boolean not null default false,
  timezone text not null,
  lang text not null default 'en',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  -- Groups were read at least once: a group that appears later was joined.
  groups_read boolean not null default false,
  primary key (account_id, id)
) with (fillfactor = 85);
create unique index msgapp_channels_by_number on msgapp_channels (phone_number) where deleted_at is null;
create index msgapp_channels_by_connection on msgapp_channels (connection_id) where deleted_at is null;
create unique index msgapp_channels_by_id on msgapp_channels (id);
create index msgapp_channels_by_time on msgapp_channels (account_id, created_at desc, id desc)
  where deleted_at is null;

-- The link of each channel. `connected` is valid only while `proved_at` (real clock) is recent.
create table msgapp_links (
  account_id uuid not null,
  channel_id uuid not null,
  phase text not null check (phase in ('connecting', 'pairing', 'connected', 'disconnected', 'failed')),
  reason text not null,
  since timestamptz not null,
  -- The last round trip.
  proved_at timestamptz,
  sealed_pairing bytea,
  -- When the network proved that the number is the account's: its phone was paired, or the account's own business
  -- account lists it.
  possessed_at timestamptz,
  primary key (account_id, channel_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- The history of the link, the newest ten entries of each channel.
create table msgapp_link_events (
  account_id uuid not null,
  channel_id uuid not null,
  id uuid not null,
  name text not null,
  detail text not null,
  at timestamptz not null,
  primary key (account_id, channel_id, id)
);

-- Keys and tokens that connectors store for a channel, sealed.
create table msgapp_credentials (
  channel_id uuid not null,
  type text not null,
  id text not null,
  sealed_value bytea not null,
  primary key (channel_id, type, id)
);

-- Conversations. `peer` is the key on the channel: `<digits>@c.us`, `<group>@g.us`, or the network's id of a person
-- whose number is unknown.
create table msgapp_chats (
  account_id uuid not null,
  channel_id uuid not null,
  peer text not null,
  number text,
  remote_id text,
  pushname text,
  group_id uuid,
  last_at timestamptz not null,
  -- The time of the message before the last one, which decides whether a conversation is new.
  previous_at timestamptz,
  last_message_id uuid not null,
  last_inbound_at timestamptz,
  unread integer not null default 0,
  -- The time of the newest message that was read here.
  read_to timestamptz,
  primary key (account_id, channel_id, peer)
) with (fillfactor = 70);
create index msgapp_chats_by_activity on msgapp_chats (account_id, channel_id, last_at desc, peer desc);
create index msgapp_chats_by_remote on msgapp_chats (account_id, channel_id, remote_id) where remote_id is not null;

-- Earlier keys of a conversation and the current one: clients have session keys and numbers of the earlier ones.
create table msgapp_former_peers (
  account_id uuid not null,
  channel_id uuid not null,
  peer text not null,
  current_peer text not null,
  primary key (account_id, channel_id, peer)
);
create index msgapp_former_peers_by_current_peer on msgapp_former_peers (account_id, channel_id, current_peer);

create table msgapp_messages (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  peer text not null,
  direction text not null check (direction in ('inbound', 'outbound')),
  sent_by text not null check (sent_by in ('user', 'api', 'agent')),
  -- In a group: the author, E.164 or the network's id.
  author text,
  text text,
  media_id uuid,
  pin jsonb,
  -- The network's id, and its time.
  network_id text,
  at timestamptz not null,
  -- 0 created, 1 sent, 2 received, 3 read; never decreases.
  ack smallint not null default 0,
  failure_code text,
  failure_reason text,
  read_at timestamptz,
  edited_at timestamptz,
  removed text check (removed in ('everyone', 'us')),
  -- By author (E.164, or the network's id): {"emoji", "at"}; the emoji is null once it was removed.
  reactions jsonb,
  -- A template of the network: {"name", "language", "parameters", "components"}.
  template jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- True: the sender was blocked, so the message is in no conversation and had no event.
  blocked boolean,
  primary key (account_id, id)
) with (fillfactor = 80);
create index msgapp_messages_by_chat on msgapp_messages (account_id, channel_id, peer, created_at desc, id desc);
create index msgapp_messages_by_channel on msgapp_messages (account_id, channel_id, created_at desc, id desc);
-- The newest inbound message of each channel: read when its connection begins.
create index msgapp_messages_inbound on msgapp_messages (account_id, channel_id, created_at desc, id desc)
  where direction = 'inbound';
create unique index msgapp_messages_by_network_id on msgapp_messages (channel_id, network_id)
  where network_id is not null;

-- Ids published for a message before it was matched with the one being sent: it answers to them permanently.
create table msgapp_aliases (
  account_id uuid not null,
  id uuid not null,
  message_id uuid not null,
  primary key (account_id, id)
);

-- Receipts and failures that arrived before their message was known by that id.
create table msgapp_early_receipts (
  channel_id uuid not null,
  network_id text not null,
  level smallint not null default 0,
  read_at timestamptz,
  failure_code text,
  failure_reason text,
  created_at timestamptz not null,
  -- The sender of the receipt: only the one of the recipient counts. Empty where the network does not say.
  peer text not null default '',
  primary key (channel_id, network_id, peer)
);
create index msgapp_early_receipts_by_time on msgapp_early_receipts (created_at);

-- The dead-letter table of inbound data that PostgreSQL rejected permanently: complete, as JSON text, for operators.
-- Repeated data is stored once.
create table msgapp_dead_letters (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  -- The name of the inbound handler, and its argument.
  what text not null,
  content text not null,
  digest bytea not null,
  reason text not null,
  created_at timestamptz not null,
  primary key (account_id, id)
);
create unique index msgapp_dead_letters_by_content on msgapp_dead_letters (channel_id, digest);
create index msgapp_dead_letters_by_time on msgapp_dead_letters (created_at);
create unique index msgapp_dead_letters_by_id on msgapp_dead_letters (id);

-- Files of messages; the bytes are in the media store under `key`.
create table msgapp_media (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  type text not null,
  mime_type text not null,
  name text not null,
  size bigint,
  digest bytea,
  -- Where the file is fetched from until it is stored; `error` when it never will be.
  source jsonb,
  key text,
  error text,
  created_at timestamptz not null,
  primary key (account_id, id)
);
-- A path in the media store. A restored row may come from anyone: only forms that the platform makes are stored. Not valid,
-- as in installations made before it.
alter table msgapp_media add constraint msgapp_media_key_form
  check (key ~ '^[0-9a-f-]{36}/[0-9a-f]{2}/[0-9a-f]{64}(\.enc)?$' and starts_with(key, account_id::text || '/')) not valid;

-- Files by content: once no message has a file, its bytes are deleted from the store.
create index msgapp_media_by_digest on msgapp_media (account_id, digest) where digest is not null and error is null;
-- Stored files by age: those older than TRUNKLINE_RETENTION_DAYS_MEDIA are deleted.
create index msgapp_media_by_time on msgapp_media (created_at) where key is not null and error is null;

-- Uploaded files, by age: those of messages have a channel.
create index msgapp_media_uploads on msgapp_media (created_at)
  where channel_id = '00000000-0000-0000-0000-000000000000';

-- Counts the bytes of message files while they can be read.
create function msgapp_media_count_bytes() returns trigger language plpgsql
set jit = off
as $$
begin
  if tg_op = 'INSERT' then
    perform stored_bytes_add(array_agg(account_id), array_agg(size))
    from new_rows where key is not null and error is null and size <> 0 having count(*) > 0;
  elsif tg_op = 'DELETE' then
    perform stored_bytes_add(array_agg(account_id), array_agg(-size))
    from old_rows where key is not null and error is null and size <> 0 having count(*) > 0;
  else
    perform stored_bytes_add(array_agg(changed.account_id), array_agg(changed.size)) from (
      select account_id, sum(size) as size from (
        select account_id, size from new_rows where key is not null and error is null
        union all
        select account_id, -size from old_rows where key is not null and error is null
      ) signed group by account_id having sum(size) <> 0
    ) changed having count(*) > 0;
  end if;
  return null;
end $$;

create trigger msgapp_media_count_inserted after insert on msgapp_media referencing new table as new_rows
  for each statement execute function msgapp_media_count_bytes();
create trigger msgapp_media_count_deleted after delete on msgapp_media referencing old table as old_rows
  for each statement execute function msgapp_media_count_bytes();
create trigger msgapp_media_count_updated after update on msgapp_media
  referencing old table as old_rows new table as new_rows
  for each statement execute function msgapp_media_count_bytes();

create table msgapp_groups (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  network_id text,
  name text not null,
  description text,
  read_only boolean not null default false,
  -- False once the channel's number has left the group.
  joined boolean not null default true,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Members were read from the network at least once: from then on a difference is a change.
  members_read boolean not null default false,
  -- Counts changes of members, so that a list read before a change is not stored after it.
  membership bigint not null default 0,
  primary key (account_id, id)
);
create unique index msgapp_groups_by_network_id on msgapp_groups (channel_id, network_id) where network_id is not null;
create index msgapp_groups_by_channel on msgapp_groups (account_id, channel_id, id);

create table msgapp_group_members (
  account_id uuid not null,
  group_id uuid not null,
  -- E.164, or the network's id where the number is unknown.
  member text not null,
  status_code smallint not null,
  message text not null,
  is_admin boolean not null default false,
  is_creator boolean not null default false,
  invited boolean not null default false,
  updated_at timestamptz not null,
  primary key (account_id, group_id, member)
);

-- Ids of group events that were processed: a repeated event is ignored.
create table msgapp_group_events (
  channel_id uuid not null,
  network_id text not null,
  created_at timestamptz not null,
  primary key (channel_id, network_id)
);
create index msgapp_group_events_by_time on msgapp_group_events (created_at);

-- Results of number checks, for each account, as networks may answer accounts differently: registered numbers for
-- seven days, others for one, unknown results never.
create table msgapp_checks (
  account_id uuid not null,
  connection_id uuid not null,
  number text not null,
  extra boolean not null,
  found jsonb not null,
  until timestamptz not null,
  primary key (account_id, connection_id, number, extra)
);
create index msgapp_checks_by_time on msgapp_checks (until);

-- Rate limits of an account's requests (`owner` is the account), and of a channel's checks toward the network: the
-- times of the last minute in Unix milliseconds, and the count at each.
create table msgapp_rate_limits (
  owner uuid primary key,
  times double precision[] not null default '{}',
  counts integer[] not null default '{}'
) with (fillfactor = 50);

-- Answers to requests to a network: the process that runs the connection writes the answer, and the requester waits
-- for it.
create table msgapp_answers (
  id uuid primary key,
  answer jsonb not null,
  created_at timestamptz not null
);
create index msgapp_answers_by_time on msgapp_answers (created_at);

-- Batches of number checks, stored for thirty days. `results` has an entry for each number that was checked.
create table msgapp_batches (
  account_id uuid not null,
  id uuid not null,
  numbers text[] not null,
  extra boolean not null default false,
  results jsonb not null default '{}',
  state text not null check (state in ('running', 'completed')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id)
);
create index msgapp_batches_by_time on msgapp_batches (created_at);

-- Calls on chat networks.
create table msgapp_calls (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  -- The network's id: a repeated call is stored once.
  network_id text not null,
  number text,
  remote_id text not null,
  group_network_id text,
  is_video boolean not null,
  at timestamptz not null,
  ended_at timestamptz,
  created_at timestamptz not null,
  primary key (account_id, id)
);
create unique index msgapp_calls_by_network_id on msgapp_calls (channel_id, network_id);

-- The status of each channel, in one place for all readers: connected only if a round trip succeeded within the last
-- 12 seconds, by the real clock, whichever process wrote the phase.
create view msgapp_channel_status as
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

-- Messages that were not deleted, with their conversation and their file.
create view msgapp_visible_messages as
select m.account_id, m.id, m.channel_id, m.peer, m.direction, m.sent_by, m.author, m.text, m.pin, m.network_id, m.at,
  m.ack, m.failure_code, m.failure_reason, m.read_at, m.edited_at, m.reactions, m.created_at, m.updated_at,
  n.phone_number as channel_number, c.number as remote_number, c.remote_id, c.pushname, c.group_id,
  g.network_id as group_network_id, f.id as media_id, f.type as media_type, f.mime_type as media_mime_type,
  f.name as media_name, f.size as media_size, f.error as media_error, m.template
from msgapp_messages m
join msgapp_channels n on n.account_id = m.account_id and n.id = m.channel_id
join msgapp_chats c on c.account_id = m.account_id and c.channel_id = m.channel_id and c.peer = m.peer
left join msgapp_groups g on g.account_id = c.account_id and g.id = c.group_id
left join msgapp_media f on f.account_id = m.account_id and f.id = m.media_id
where m.removed is null;
