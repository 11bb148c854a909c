-- The messaging app: numbers of the platform on chat networks, what was written there, and who was there.

-- Which process runs a connection to a chat network, by the real clock: its links have one owner.
create table msgapp_leases (
  connection_id uuid primary key,
  owner uuid not null,
  leased_until timestamptz not null
) with (fillfactor = 50);

-- A connected number.
create table msgapp_channels (
  account_id uuid not null references accounts,
  id uuid not null,
  connection_id uuid not null,
  platform text not null,
  phone_number text not null,
  friendly_name text not null,
  iso_country_code text not null,
  -- What the network says of the number itself.
  pushname text not null default '',
  server text not null default '',
  is_business boolean not null default false,
  -- False: it is not to be connected until somebody says so.
  enabled boolean not null default true,
  sync_contacts boolean not null default false,
  timezone text not null,
  lang text not null default 'en',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, id)
) with (fillfactor = 85);
create unique index msgapp_channels_by_number on msgapp_channels (phone_number) where deleted_at is null;
create index msgapp_channels_by_connection on msgapp_channels (connection_id) where deleted_at is null;
create unique index msgapp_channels_by_id on msgapp_channels (id);

-- How a channel stands: `connected` counts only while `proved_at` (the real clock) is recent, whoever owns it.
create table msgapp_links (
  account_id uuid not null,
  channel_id uuid not null,
  phase text not null check (phase in ('connecting', 'pairing', 'connected', 'disconnected', 'failed')),
  reason text not null,
  since timestamptz not null,
  proved_at timestamptz,
  sealed_pairing bytea,
  primary key (account_id, channel_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- What happened to the link, the newest ten of each channel.
create table msgapp_link_events (
  account_id uuid not null,
  channel_id uuid not null,
  id uuid not null,
  name text not null,
  detail text not null,
  at timestamptz not null,
  primary key (account_id, channel_id, id)
);

-- What connectors keep for a line: keys and tokens, sealed.
create table msgapp_vault (
  channel_id uuid not null,
  type text not null,
  id text not null,
  sealed_value bytea not null,
  primary key (channel_id, type, id)
);

-- A conversation. `peer` is its key on the channel: `<digits>@c.us`, `<group>@g.us`, or the network's own id of somebody
-- whose number is not known.
create table msgapp_chats (
  account_id uuid not null,
  channel_id uuid not null,
  peer text not null,
  number text,
  remote_id text,
  pushname text,
  group_id uuid,
  last_at timestamptz not null,
  -- When something was written before the last message: whether a conversation is new is told by it.
  previous_at timestamptz,
  last_message_id uuid not null,
  last_inbound_at timestamptz,
  unread integer not null default 0,
  primary key (account_id, channel_id, peer)
) with (fillfactor = 70);
create index msgapp_chats_by_activity on msgapp_chats (account_id, channel_id, last_at desc, peer desc);
create index msgapp_chats_by_remote on msgapp_chats (account_id, channel_id, remote_id) where remote_id is not null;

create table msgapp_messages (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  peer text not null,
  direction text not null check (direction in ('inbound', 'outbound')),
  sent_by text not null check (sent_by in ('user', 'api', 'agent')),
  -- In a group: who wrote, E.164 or the network's id.
  author text,
  text text,
  media_id uuid,
  pin jsonb,
  -- The network's id, and its time.
  network_id text,
  at timestamptz not null,
  -- 0 created, 1 sent, 2 received, 3 read: it never falls.
  ack smallint not null default 0,
  failure_code text,
  failure_reason text,
  read_at timestamptz,
  edited_at timestamptz,
  removed text check (removed in ('everyone', 'us')),
  -- By who reacted (E.164, or the network's id): {"emoji", "at"}; the emoji is null once it was taken back.
  reactions jsonb,
  -- Of a template of the network: {"name", "language", "parameters", "components"}.
  template jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id)
) with (fillfactor = 80);
create index msgapp_messages_by_chat on msgapp_messages (account_id, channel_id, peer, created_at desc, id desc);
create index msgapp_messages_by_channel on msgapp_messages (account_id, channel_id, created_at desc, id desc);
-- The newest message that came in, of each channel: read when its connection begins.
create index msgapp_messages_inbound on msgapp_messages (account_id, channel_id, created_at desc, id desc)
  where direction = 'inbound';
create unique index msgapp_messages_by_network_id on msgapp_messages (channel_id, network_id) where network_id is not null;

-- Receipts and failures that came before the message they are about was known by that id.
create table msgapp_early (
  channel_id uuid not null,
  network_id text not null,
  level smallint not null default 0,
  read_at timestamptz,
  failure_code text,
  failure_reason text,
  created_at timestamptz not null,
  primary key (channel_id, network_id)
);
create index msgapp_early_by_time on msgapp_early (created_at);

-- Files of messages; the bytes lie in the media store under `key`.
create table msgapp_media (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  type text not null,
  mime_type text not null,
  name text not null,
  size bigint,
  digest bytea,
  -- Where it is fetched from, until it is stored; `error` when it never will be.
  source jsonb,
  key text,
  error text,
  created_at timestamptz not null,
  primary key (account_id, id)
);

create table msgapp_groups (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  network_id text,
  name text not null,
  description text,
  read_only boolean not null default false,
  -- False once the channel's number is no longer in it.
  joined boolean not null default true,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id)
);
create unique index msgapp_groups_by_network_id on msgapp_groups (channel_id, network_id) where network_id is not null;
create index msgapp_groups_by_channel on msgapp_groups (account_id, channel_id, id);

create table msgapp_group_members (
  account_id uuid not null,
  group_id uuid not null,
  -- E.164, or the network's id where no number is known.
  member text not null,
  status_code smallint not null,
  message text not null,
  is_admin boolean not null default false,
  is_creator boolean not null default false,
  invited boolean not null default false,
  updated_at timestamptz not null,
  primary key (account_id, group_id, member)
);

-- What networks told of groups: what comes twice is kept once.
create table msgapp_group_events (
  channel_id uuid not null,
  network_id text not null,
  created_at timestamptz not null,
  primary key (channel_id, network_id)
);
create index msgapp_group_events_by_time on msgapp_group_events (created_at);

-- What is known of numbers, by who asked, as networks may show it to some and not to others: registered ones for seven days, others
-- for one, never the unknown.
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

-- Budgets: of an account's requests (`account_id`), and of a channel's checks toward the network. What was done within the last
-- minute, as src/msgapp/checks/window.ts reads it: Unix milliseconds, and how many at each.
create table msgapp_budgets (
  owner uuid primary key,
  times double precision[] not null default '{}',
  counts integer[] not null default '{}'
) with (fillfactor = 50);

-- What is asked of a network and answered: the process that runs it writes the answer, the one that asked waits for it.
create table msgapp_answers (
  id uuid primary key,
  answer jsonb not null,
  created_at timestamptz not null
);
create index msgapp_answers_by_time on msgapp_answers (created_at);

-- A batch of checks: `results` has an entry for each number that was checked.
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
-- Batches of checks are kept for thirty days.
create index msgapp_batches_by_time on msgapp_batches (created_at);

-- Calls that networks told of.
create table msgapp_calls (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  -- The network's id: what is told twice is kept once.
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

-- How channels stand, in one place for all who read it: connected only while a round trip of the last 12 seconds, by the
-- real clock, says so, whoever wrote the phase and whatever became of them.
create view msgapp_standing as
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

-- Messages as they are shown: with their conversation and their file. Those that were deleted are not.
create view msgapp_shown as
select m.account_id, m.id, m.channel_id, m.peer, m.direction, m.sent_by, m.author, m.text, m.pin, m.network_id, m.at, m.ack,
  m.failure_code, m.failure_reason, m.read_at, m.edited_at, m.reactions, m.created_at, m.updated_at,
  n.phone_number as channel_number, c.number as remote_number, c.remote_id, c.pushname, c.group_id, g.network_id as group_network_id,
  f.id as media_id, f.type as media_type, f.mime_type as media_mime_type, f.name as media_name, f.size as media_size,
  f.error as media_error, m.template
from msgapp_messages m
join msgapp_channels n on n.account_id = m.account_id and n.id = m.channel_id
join msgapp_chats c on c.account_id = m.account_id and c.channel_id = m.channel_id and c.peer = m.peer
left join msgapp_groups g on g.account_id = c.account_id and g.id = c.group_id
left join msgapp_media f on f.account_id = m.account_id and f.id = m.media_id
where m.removed is null;
