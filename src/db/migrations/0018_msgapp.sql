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
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id)
) with (fillfactor = 80);
create index msgapp_messages_by_chat on msgapp_messages (account_id, channel_id, peer, created_at desc, id desc);
create index msgapp_messages_by_channel on msgapp_messages (account_id, channel_id, created_at desc, id desc);
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

-- What is known of numbers, by connection: registered ones for seven days, others for one, never the unknown.
create table msgapp_checks (
  connection_id uuid not null,
  number text not null,
  extra boolean not null,
  found jsonb not null,
  until timestamptz not null,
  primary key (connection_id, number, extra)
);
create index msgapp_checks_by_time on msgapp_checks (until);

-- Budgets: of an account's requests (`account_id`), and of a channel's checks toward the network.
create table msgapp_budgets (
  owner uuid primary key,
  tokens double precision not null,
  at timestamptz not null
) with (fillfactor = 50);

-- What is asked of a network and answered: the process that runs it writes the answer, the one that asked waits for it.
create table msgapp_answers (
  id uuid primary key,
  answer jsonb not null,
  created_at timestamptz not null
);
create index msgapp_answers_by_time on msgapp_answers (created_at);

create table msgapp_batches (
  account_id uuid not null,
  id uuid not null,
  numbers text[] not null,
  results jsonb not null default '{}',
  state text not null check (state in ('running', 'completed')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id)
);
