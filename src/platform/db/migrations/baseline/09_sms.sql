-- SMS: channels, messages, their parts, receipts and inbound parts.
--
-- Each function handles a batch of messages in one round trip and one short transaction. With about ten messages in a
-- batch, the fixed cost of the statements exceeds the cost of the rows. Each row is found by its whole key, in the
-- forms that 06_webhooks.sql explains. Measured with 200,000 queued jobs: completing 128 messages took 13 ms this
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

-- The payload of an event of an outbound message. The application builds the same payload for all other events.
create function sms_event_payload(m sms_messages, setup bigint, event text) returns text language sql stable
as $$
  select '{"uuid":"SMO' || m.id || '","destination":' || to_json(m.contact) || ',"source":' || to_json(m.number)
    || ',"text":' || to_json(m.text) || ',"direction":"outbound","fragments":' || m.fragments
    || ',"price":' || trim_scale(m.price) || ',"voip_number_setup_id":' || setup || ',"status":"' || m.status || '"'
    || coalesce(',"sub_status":' || to_json(m.sub_status), '') || coalesce(',"error_code":' || to_json(m.error_code),
      '')
    || ',"created_at":"' || to_char(m.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
    || '","updated_at":"' || to_char(m.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
    || '","timestamp":' || floor(extract(epoch from m.created_at))
    || ',"channel_uuid":"SMS' || m.channel_id || '","event":"' || event || '"}'
$$;

-- Accepts outbound messages: each message with its debit and its job, or nothing. Messages to contacts that opted out
-- are left out, and so is a message that the account cannot pay after those before it. The first `lease_count`
-- messages due now are inserted leased to the worker, unless older ones wait. Rows: each message left out, with the
-- reason, and an older job that waits.
--
-- A function, because of its plan: a prepared statement was planned again for each batch after five small ones, which
-- took longer than the batch. Every access goes through an index however large a table grows. Channels are read in
-- the order of their key: by another index, which begins with the account too, all channels of the account were read.
create function sms_accept(
  accounts uuid[], ids uuid[], channels uuid[], senders text[], recipients text[], texts text[], encodings text[],
  fragment_counts smallint[], prices numeric[], transfer_ids uuid[], send_ats timestamptz[], decision_ids uuid[],
  longs text[], honours_opt_out boolean, lease_count integer, lease_seconds double precision, worker uuid
) returns table (id uuid, note text) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
begin
  return query
    with input as materialized (
      select * from unnest(accounts, ids, channels, senders, recipients, texts, encodings, fragment_counts, prices,
        transfer_ids,
        send_ats, decision_ids, longs) with ordinality
        g (account_id, id, channel_id, number, contact, text, encoding, fragments, price, transfer_id, send_at,
          decision_id, long, n)
    ), older as materialized (
      -- Older messages go first: while one waits, no job is leased here.
      select j.id from jobs j
      where lease_count > 0 and j.kind = 'sms.submit' and j.leased_until is null and not j.parked
        and j.run_at <= platform_now
      order by j.run_at, j.id limit 1
    ), blocked as materialized (
      select g.id from input g cross join lateral (
        select from sms_opt_outs o
        where o.account_id = g.account_id and o.number = g.number and o.contact = g.contact and honours_opt_out
        limit 1) as found
    ), locked as materialized (
      -- A fixed order prevents deadlocks between batches.
      select a.account_id, b.balance from (select distinct g.account_id from input g order by g.account_id) a
      cross join lateral (select balance from balances where account_id = a.account_id limit 1 for update) b
    ), paid as materialized (
      select * from (
        select g.*, p.balance - sum(g.price) over (partition by g.account_id order by g.n) as rest
        from input g join locked p using (account_id)
        where g.id not in (select id from blocked)
      ) as summed where rest >= 0
    ), charge as materialized (
      select p.account_id, p.transfer_id, sum(p.price) as total, count(*) as messages, min(p.id::text) as first
      from paid p group by p.account_id, p.transfer_id
    ), debit as (
      update balances b set balance = b.balance - charge.total
      from charge where b.account_id between charge.account_id and charge.account_id and charge.total > 0
    ), transfer as (
      insert into transfers (account_id, id, debit, credit, amount, kind, reference, note, created_at)
      select account_id, transfer_id, 'balance', 'sms', total, 'sms', 'SMO' || first, messages || ' sent', platform_now
      from charge where total > 0
    ), message as (
      insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments,
        price,
        transfer_id, status, send_at, decision_id, created_at, updated_at)
      select account_id, id, channel_id, 'outbound', contact, number, text, encoding, fragments, price,
        case when price > 0 then transfer_id end, case when send_at > platform_now then 'scheduled' else 'queued' end,
        case when send_at > platform_now then send_at end, decision_id, platform_now, platform_now
      from paid
    ), job as (
      insert into jobs (id, account_id, kind, payload, run_at, created_at, leased_until, owner, fence, attempts)
      select id, account_id, 'sms.submit',
        case when long = 'udh8' and send_at is null
          then jsonb_build_object('from', number, 'to', contact, 'text', text)
          else jsonb_build_object('from', number, 'to', contact, 'text', text, 'long', long, 'send_at', send_at) end,
        greatest(send_at, platform_now), platform_now,
        case when leased then (select clock_timestamp()) + make_interval(secs => lease_seconds) end,
        case when leased then worker end, leased::integer, leased::integer
      from (
        select *, send_at is null and not exists (select from older)
          and row_number() over (order by send_at is not null, n) <= lease_count as leased
        from paid
      ) as ranked
    )
    select b.id, 'opted_out' from blocked b
    union all
    select g.id, 'balance' from input g where g.id not in (select id from paid) and g.id not in (select id from blocked)
    union all
    select o.id, 'older' from older o;
end $$;

-- Completes the jobs of messages that carriers accepted, where the fence matches, and marks the messages as sent.
-- `connections` and `carriers` give the carrier of the only part of a message and its id there; null where the parts
-- are stored already. Rows: `ended` carries the id of a job, `webhook` a webhook that has something to deliver.
create function sms_complete_submits(
  ids uuid[], fences integer[], accounts uuid[], connections uuid[], carriers text[], event_ids uuid[]
) returns table (what text, account_id uuid, id uuid) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
  published record;
begin
  with ended as (
    delete from jobs j
    using unnest(ids, fences, accounts, connections, carriers, event_ids)
      g (id, fence, account_id, connection_id, carrier_id, event_id)
    where j.id between g.id and g.id and j.fence = g.fence
    returning g.*
  ), part as (
    insert into sms_parts (account_id, message_id, part, connection_id, carrier_id, status, sent_at, updated_at)
    select e.account_id, e.id, 1, e.connection_id, e.carrier_id, 'sent', platform_now, platform_now
    from ended e where e.connection_id is not null
    on conflict (account_id, message_id, part) do update
      set connection_id = excluded.connection_id, carrier_id = excluded.carrier_id, status = 'sent',
        sent_at = excluded.sent_at
      where sms_parts.status in ('sending', 'doubtful')
  ), message as (
    update sms_messages m set status = 'sent', updated_at = platform_now
    from ended e
    where (m.account_id, m.id) >= (e.account_id, e.id) and (m.account_id, m.id) <= (e.account_id, e.id)
      and m.status in ('queued', 'scheduled', 'sending')
    returning m.account_id, m.channel_id, m.contact, e.event_id, m as row
  )
  select (select array_agg(e.id) from ended e) as ended, array_agg(m.account_id) as accounts, array_agg(m.event_id)
    as ids,
    array_agg('sms.message.sent'::text) as names, array_agg(m.channel_id) as channels,
    array_agg(m.channel_id || ' ' || m.contact) as conversations,
    array_agg(sms_event_payload(m.row, v.voip_number_setup_id, 'sms.message.sent')) as payloads
  into published
  from message m
  cross join lateral (
    select virtual_number_id from sms_channels
    where (account_id, id) >= (m.account_id, m.channel_id) and (account_id, id) <= (m.account_id, m.channel_id)
    order by account_id, id limit 1) c
  cross join lateral (
    select voip_number_setup_id from virtual_numbers where account_id = m.account_id
      and id = c.virtual_number_id offset 0) v;

  return query select 'ended', null::uuid, e from unnest(published.ended) e;
  return query select 'webhook', w.account_id, w.webhook_id
    from events_record(published.accounts, published.ids, published.names, published.channels,
      published.conversations, null, null, null, published.payloads) w;
end $$;

-- Applies final receipts to sent messages of one part, found by the carrier's id as the index has it (lower case, no
-- leading zeros), and records the events. The handset must match too: an id in decimal and one in hexadecimal may be
-- the same number on one connection. `handsets` and `others` are the last digits of numbers, null where a receipt
-- names none. All other receipts are left to the application. Rows: `done` carries the position of an applied
-- receipt, from 1; `webhook` a webhook that has something to deliver.
create function sms_apply_receipts(
  connections uuid[], carriers text[], states text[], errors text[], event_ids uuid[], handsets text[], others text[]
) returns table (what text, n bigint, account_id uuid, id uuid) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
  published record;
begin
  with found as materialized (
    select g.n, g.state, g.error, g.event_id, p.account_id, p.message_id, p.part
    from unnest(connections, carriers, states, errors, event_ids, handsets, others) with ordinality
      g (connection_id, carrier, state, error, event_id, handset, other, n)
    cross join lateral (
      select p.account_id, p.message_id, p.part, p.parts, p.status from sms_parts p
      where p.connection_id = g.connection_id and ltrim(lower(p.carrier_id), '0') = g.carrier
      order by p.sent_at desc limit 1
    ) p
    cross join lateral (
      select status, contact from sms_messages where account_id = p.account_id and id = p.message_id offset 0) m
    where p.parts = 1 and p.status in ('sent', 'enroute', 'accepted', 'unknown') and m.status = 'sent'
      and (g.handset is null or m.contact like '%' || g.handset or m.contact like '%' || g.other)
    -- A fixed order prevents deadlocks between batches.
    order by p.account_id, p.message_id
  ), part as (
    update sms_parts p set status = f.state, error_code = f.error, updated_at = platform_now
    from found f
    where (p.account_id, p.message_id, p.part) >= (f.account_id, f.message_id, f.part)
      and (p.account_id, p.message_id, p.part) <= (f.account_id, f.message_id, f.part) and p.status in ('sent',
        'enroute', 'accepted', 'unknown')
    returning f.*
  ), message as (
    update sms_messages m set status = p.state, sub_status = null,
      error_code = case when p.state <> 'delivered' then p.error end, updated_at = platform_now
    from part p
    where (m.account_id, m.id) >= (p.account_id, p.message_id) and (m.account_id, m.id) <= (p.account_id, p.message_id)
    returning p.n, p.event_id, case p.state when 'delivered'
      then 'sms.message.delivered' else 'sms.message.failed' end as name,
      m.account_id, m.channel_id, m.contact, m as row
  )
  select array_agg(m.n) as done, array_agg(m.account_id) as accounts, array_agg(m.event_id) as ids,
    array_agg(m.name) as names, array_agg(m.channel_id) as channels,
    array_agg(m.channel_id || ' ' || m.contact) as conversations,
    array_agg(sms_event_payload(m.row, v.voip_number_setup_id, m.name)) as payloads
  into published
  from message m
  cross join lateral (
    select virtual_number_id from sms_channels
    where (account_id, id) >= (m.account_id, m.channel_id) and (account_id, id) <= (m.account_id, m.channel_id)
    order by account_id, id limit 1) c
  cross join lateral (
    select voip_number_setup_id from virtual_numbers where account_id = m.account_id
      and id = c.virtual_number_id offset 0) v;

  return query select 'done', d, null::uuid, null::uuid from unnest(published.done) d;
  return query select 'webhook', null::bigint, w.account_id, w.webhook_id
    from events_record(published.accounts, published.ids, published.names, published.channels,
      published.conversations, null, null, null, published.payloads) w;
end $$;
