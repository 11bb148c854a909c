-- Which way a text goes, what became of each part of it, and who wants no more of them.

alter table sms_messages
  -- When it is to be sent; null: at once.
  add column send_at timestamptz,
  -- What ties its parts together at the handset (3GPP TS 23.040, 9.2.3.24.1); null while it has one part, or none was submitted.
  add column reference smallint,
  -- The connections that could carry it when it was accepted.
  add column decision_id uuid;

-- A part that is `sending` has been handed to a carrier whose answer is not known: it has no id yet.
alter table sms_parts alter column carrier_id drop not null;
alter table sms_parts add column parts smallint not null default 1;
-- Carriers write one id in several ways: with and without leading zeros, in either case.
drop index sms_parts_by_carrier;
create index sms_parts_by_carrier on sms_parts (connection_id, ltrim(lower(carrier_id), '0'), sent_at desc);
-- Rows come in the order of time: a few bytes for many rows, and no update touches it.
create index sms_parts_by_time on sms_parts using brin (sent_at) with (pages_per_range = 16);

-- The reference that a pair of numbers used last.
create table sms_references (
  number text not null,
  contact text not null,
  last smallint not null,
  used_at timestamptz not null,
  primary key (number, contact)
);

-- Decisions of the routing: the same for every text to one prefix until a connection changes. The id is made of the content.
create table sms_decisions (
  id uuid primary key,
  candidates jsonb not null,
  made_at timestamptz not null default app_now()
);

-- Submits that did not end with the carrier taking the part. What was taken stands in sms_parts.
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

-- Contacts that want no texts from a number of the account.
create table sms_opt_outs (
  account_id uuid not null,
  number text not null,
  contact text not null,
  at timestamptz not null default app_now(),
  primary key (account_id, number, contact)
);

-- What came from carriers of late, so that what a carrier sends again after a cut link is known again.
create table sms_inbound_seen (
  connection_id uuid not null,
  fingerprint bytea not null,
  link text not null,
  received_at timestamptz not null,
  primary key (connection_id, fingerprint)
);
create index sms_inbound_seen_by_time on sms_inbound_seen (received_at);

-- Up to which time of sending the receipts of a connection have been found missing.
create table sms_receipt_watch (
  connection_id uuid primary key,
  until timestamptz not null
);
