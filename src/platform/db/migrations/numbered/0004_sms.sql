create table sms_messages (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  direction text not null check (direction in ('inbound', 'outbound')),
  -- The other end, E.164: a thread is a channel and a contact.
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
  primary key (account_id, id)
) with (fillfactor = 85);
create index sms_messages_by_thread on sms_messages (channel_id, contact, created_at desc, id desc);

-- One row for each part that a carrier took.
create table sms_parts (
  account_id uuid not null,
  message_id uuid not null,
  part smallint not null,
  connection_id uuid not null,
  carrier_id text not null,
  status text not null,
  error_code text,
  sent_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, message_id, part)
) with (fillfactor = 85);
create index sms_parts_by_carrier on sms_parts (connection_id, carrier_id, sent_at desc);

-- Parts of inbound texts that wait for the others.
create table sms_inbound_parts (
  connection_id uuid not null,
  source text not null,
  destination text not null,
  reference integer not null,
  parts smallint not null,
  part smallint not null,
  text text not null,
  received_at timestamptz not null default app_now(),
  primary key (connection_id, source, destination, reference, parts, part)
);

-- Whose number it was, and when: the sandbox shows an account only what came while it was its own.
create index virtual_numbers_by_number on virtual_numbers (number, id);
