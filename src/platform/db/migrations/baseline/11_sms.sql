-- SMS: channels, messages, their parts, receipts and inbound parts.
--
-- Each function handles a batch of messages in one round trip and one short transaction. With about ten messages in a
-- batch, the fixed cost of the statements exceeds the cost of the rows. Each row is found by its whole key, in the
-- forms that 08_webhooks.sql explains. Measured with 200,000 queued jobs: completing 128 messages took 13 ms this
-- way, and 13.5 s with a plan made while a table was small.

-- SMS-capable numbers of an account.
create table sms_channels (
  account_id uuid not null,
  id uuid not null,
  virtual_number_id uuid not null,
  phone_number text not null,
  friendly_name text not null,
  iso_country_code text not null,
  supports_sms_in boolean not null,
  supports_sms_out boolean not null,
  enabled boolean not null default true,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  primary key (account_id, id),
  foreign key (account_id, virtual_number_id) references virtual_numbers
);
create index sms_channels_by_virtual_number on sms_channels (account_id, virtual_number_id);
create unique index sms_channels_in_use on sms_channels (phone_number) where enabled;
create index sms_channels_by_time on sms_channels (account_id, created_at, id);

-- Messages. A message is updated twice soon after it arrives (sent, delivered), its part once. The free space keeps
-- those updates out of the indexes. Measured over 12,800 messages: 97 % of the updates instead of 30 %, half the time
-- for a receipt, 72 MB of log instead of 84, and tables with their indexes a fifth smaller.
create table sms_messages (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  direction text not null check (direction in ('inbound', 'outbound')),
  -- The other end, E.164. A thread is a channel and a contact.
  contact text not null,
  -- The channel's own number.
  number text not null,
  text text not null,
  encoding text not null,
  fragments smallint not null,
  price numeric(18, 6) not null default 0,
  transfer_id uuid,
  status text not null,
  sub_status text,
  error_code text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- When it must be sent; null: at once.
  send_at timestamptz,
  -- Joins its parts at the handset (3GPP TS 23.040, 9.2.3.24.1); null while it has one part, or none was submitted.
  reference smallint,
  -- The connections that could carry it when it was accepted.
  decision_id uuid,
  primary key (account_id, id)
) with (fillfactor = 50);
create index sms_messages_by_thread on sms_messages (channel_id, contact, created_at desc, id desc);
-- The messages of an account by time, for all contacts.
create index sms_messages_by_time on sms_messages (account_id, created_at desc, id desc);

-- Messages with an error code. Filters by code and by a status of failure read along it.
create index sms_messages_failed on sms_messages (account_id, created_at desc, id desc) where error_code is not null;
-- Inbound messages, among many more outbound ones.
create index sms_messages_inbound on sms_messages (account_id, created_at desc, id desc) where direction = 'inbound';

-- The operator's look-up of a message by its id alone. Ids ascend with time and messages are never deleted, so ranges of
-- 64 pages (about 3,000 messages) have few other ids. The ranges keep outliers apart: a message that was updated late lies
-- among younger ones. New pages are summarised in the background, and accepting a message writes nothing here.
create index sms_messages_by_id_range on sms_messages
  using brin (id uuid_minmax_multi_ops (values_per_range = 16)) with (pages_per_range = 64, autosummarize = on);

-- One row for each part that a carrier accepted. A part in state `sending` was submitted and has no answer yet, and
-- so no id.
create table sms_parts (
  account_id uuid not null,
  message_id uuid not null,
  part smallint not null,
  connection_id uuid not null,
  carrier_id text,
  status text not null,
  error_code text,
  sent_at timestamptz not null,
  updated_at timestamptz not null,
  parts smallint not null default 1,
  primary key (account_id, message_id, part)
) with (fillfactor = 50);

-- Carriers write one id in several ways: with and without leading zeros, in either case.
create index sms_parts_by_carrier on sms_parts (connection_id, ltrim(lower(carrier_id), '0'), sent_at desc);
-- Rows arrive in the order of time: BRIN takes a few bytes for many rows, and no update touches it.
create index sms_parts_by_time on sms_parts using brin (sent_at) with (pages_per_range = 16);

-- The concatenation reference that a pair of numbers used last.
create table sms_references (
  number text not null,
  contact text not null,
  last smallint not null,
  used_at timestamptz not null,
  primary key (number, contact)
);

-- Decisions of the router: equal for all messages to a prefix until a connection changes. The id is derived from the
-- content.
create table sms_route_decisions (
  id uuid primary key,
  candidates jsonb not null,
  made_at timestamptz not null default app_now()
);

-- Submits that failed. Accepted parts are in sms_parts.
create table sms_attempts (
  account_id uuid not null,
  message_id uuid not null,
  id uuid not null,
  part smallint not null,
  connection_id uuid not null,
  outcome text not null,
  reason text not null,
  at timestamptz not null,
  primary key (account_id, message_id, id)
);

-- Contacts that have opted out of messages from a number.
create table sms_opt_outs (
  account_id uuid not null,
  number text not null,
  contact text not null,
  at timestamptz not null default app_now(),
  primary key (account_id, number, contact)
);

-- Inbound parts that wait for the rest of their message.
create table sms_inbound_parts (
  connection_id uuid not null,
  source text not null,
  destination text not null,
  reference integer not null,
  parts smallint not null,
  part smallint not null,
  text text not null,
  received_at timestamptz not null default app_now(),
  -- The part as received: a character may be split between two parts, so a message is decoded once its parts are
  -- joined. Null for parts stored before the column existed.
  octets bytea,
  coding integer,
  primary key (connection_id, source, destination, reference, parts, part)
);

-- Fingerprints of recent inbound messages, which detect what a carrier repeats after a lost link.
create table sms_inbound_fingerprints (
  connection_id uuid not null,
  fingerprint bytea not null,
  link text not null,
  received_at timestamptz not null,
  primary key (connection_id, fingerprint)
);
create index sms_inbound_fingerprints_by_time on sms_inbound_fingerprints (received_at);

-- The send time up to which missing receipts of a connection have been counted.
create table sms_receipt_checks (
  connection_id uuid primary key,
  until timestamptz not null
);
