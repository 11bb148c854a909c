-- Functions of SMS: accepting, submitting and receipts.
--
-- Their plans depend on no statistics.
--
-- A function keeps its plan for the life of a session. In a new database that plan is made while the tables are empty:
-- all indexes that begin with the account then look alike. Messages were found through sms_messages_by_time, which
-- reads all messages of the account for each one, until the first ANALYZE. Measured on PostgreSQL 18 with 60,000
-- messages of one account: 90 ms for the end of 50 submits and 150 ms for 50 receipts, this way 3 and 8 ms.
--
-- A row is therefore found in the order of its key, with sorting off, which leaves the planner one index. It is
-- updated where it was found. A comparison of whole keys, `(account_id, id) <= …`, would do on PostgreSQL 18. Older
-- releases do not end the scan at its second column, and read the rest of the account.
--
-- The condition on the status is repeated in the update: some releases of PostgreSQL update the new version of a row that
-- another transaction changed meanwhile, and others leave it out. The latter fails the statement, which the caller
-- repeats.

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
set enable_material = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan set jit = off
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
  ), open as materialized (
    select e.event_id, m.place from ended e cross join lateral (
      select ctid as place, status from sms_messages
      where account_id = e.account_id and id >= e.id and id <= e.id
      order by id limit 1) m
    where m.status in ('queued', 'scheduled', 'sending')
  ), message as (
    update sms_messages m set status = 'sent', updated_at = platform_now
    from open o where m.ctid = o.place and m.status in ('queued', 'scheduled', 'sending')
    returning m.account_id, m.channel_id, m.contact, o.event_id, m as row
  )
  select (select array_agg(e.id) from ended e) as ended, array_agg(m.account_id) as accounts, array_agg(m.event_id)
    as ids,
    array_agg('sms.message.sent'::text) as names, array_agg(m.channel_id) as channels,
    array_agg(m.channel_id || ' ' || m.contact) as conversations,
    array_agg(sms_event_payload(m.row, v.voip_number_setup_id, 'sms.message.sent')) as payloads,
    (select count(*) from open) as expected, (select count(*) from message) as changed
  into published
  from message m
  cross join lateral (
    select virtual_number_id from sms_channels
    where account_id = m.account_id and id >= m.channel_id and id <= m.channel_id
    order by id limit 1) c
  cross join lateral (
    select voip_number_setup_id from virtual_numbers
    where account_id = m.account_id and id >= c.virtual_number_id and id <= c.virtual_number_id
    order by id limit 1) v;

  if published.expected > published.changed then
    raise exception 'a message changed meanwhile' using errcode = 'serialization_failure';
  end if;
  return query select 'ended', null::uuid, e from unnest(published.ended) e;
  return query select 'webhook', w.account_id, w.webhook_id
    from events_record(published.accounts, published.ids, published.names, published.channels,
      published.conversations, null, null, null, published.payloads) w;
end $$;

-- Applies final receipts to sent messages of one part, found by the carrier's id as the index has it (lower case, no
-- leading zeros), and records the events. The handset must match too: an id in decimal and one in hexadecimal may be
-- the same number on one connection. `handsets` and `others` are the last digits of numbers, null where a receipt
-- names none. All other receipts are left to the application. Rows: `done` carries the position of an applied
-- receipt, from 1; `webhook` a webhook that has something to deliver. A part that another transaction changed
-- meanwhile is left to the application.
create function sms_apply_receipts(
  connections uuid[], carriers text[], states text[], errors text[], event_ids uuid[], handsets text[], others text[]
) returns table (what text, n bigint, account_id uuid, id uuid) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
  published record;
begin
  with found as materialized (
    select g.n, g.state, g.error, g.event_id, p.place as part_place, m.place as message_place
    from unnest(connections, carriers, states, errors, event_ids, handsets, others) with ordinality
      g (connection_id, carrier, state, error, event_id, handset, other, n)
    cross join lateral (
      select p.ctid as place, p.account_id, p.message_id, p.parts, p.status from sms_parts p
      where p.connection_id = g.connection_id and ltrim(lower(p.carrier_id), '0') = g.carrier
      order by p.sent_at desc limit 1
    ) p
    cross join lateral (
      select ctid as place, status, contact from sms_messages
      where account_id = p.account_id and id >= p.message_id and id <= p.message_id
      order by id limit 1) m
    where p.parts = 1 and p.status in ('sent', 'enroute', 'accepted', 'unknown') and m.status = 'sent'
      and (g.handset is null or m.contact like '%' || g.handset or m.contact like '%' || g.other)
    -- A fixed order prevents deadlocks between batches.
    order by p.account_id, p.message_id
  ), part as (
    update sms_parts p set status = f.state, error_code = f.error, updated_at = platform_now
    from found f where p.ctid = f.part_place and p.status in ('sent', 'enroute', 'accepted', 'unknown')
    returning f.*
  ), message as (
    update sms_messages m set status = p.state, sub_status = null,
      error_code = case when p.state <> 'delivered' then p.error end, updated_at = platform_now
    from part p where m.ctid = p.message_place and m.status = 'sent'
    returning p.n, p.event_id, case p.state when 'delivered'
      then 'sms.message.delivered' else 'sms.message.failed' end as name,
      m.account_id, m.channel_id, m.contact, m as row
  )
  select array_agg(m.n) as done, array_agg(m.account_id) as accounts, array_agg(m.event_id) as ids,
    array_agg(m.name) as names, array_agg(m.channel_id) as channels,
    array_agg(m.channel_id || ' ' || m.contact) as conversations,
    array_agg(sms_event_payload(m.row, v.voip_number_setup_id, m.name)) as payloads,
    (select count(*) from part) as expected, (select count(*) from message) as changed
  into published
  from message m
  cross join lateral (
    select virtual_number_id from sms_channels
    where account_id = m.account_id and id >= m.channel_id and id <= m.channel_id
    order by id limit 1) c
  cross join lateral (
    select voip_number_setup_id from virtual_numbers
    where account_id = m.account_id and id >= c.virtual_number_id and id <= c.virtual_number_id
    order by id limit 1) v;

  if published.expected > published.changed then
    raise exception 'a message changed meanwhile' using errcode = 'serialization_failure';
  end if;
  return query select 'done', d, null::uuid, null::uuid from unnest(published.done) d;
  return query select 'webhook', null::bigint, w.account_id, w.webhook_id
    from events_record(published.accounts, published.ids, published.names, published.channels,
      published.conversations, null, null, null, published.payloads) w;
end $$;

-- Batches of accepted messages.
--
-- Messages that one statement accepts for one account, due at once, share a job of the kind `sms.batch`. Its payload
-- lists their ids (16 bytes each, base64url). The status of a message is the record of its progress: a message of a
-- batch that is `queued` or `sending`, and has no job of its own, is still to be submitted. A message that must be
-- retried leaves its batch for a job of the kind `sms.submit`. Decision 0034 gives the reasons.

-- Accepts one batch of one account: its messages with their debit and their job, or nothing. Returns `refused`, without
-- any effect, if the balance does not cover all messages or a contact has opted out: `sms_accept` then decides about
-- each message. Otherwise returns `leased` or `queued`: with `worker`, the job is inserted leased to it, unless an older
-- job of the account waits. A column whose values are all equal may have one element: channels, senders, encodings,
-- fragment counts, prices and decisions. Most messages of a batch have the same.
--
-- Measured against `sms_accept` with 64 connections: 18 instead of 36 µs of CPU and 697 instead of 1,220 bytes of log for
-- a message.
create function sms_accept_batch(
  batch uuid, account uuid, payload jsonb, worker uuid, lease_seconds double precision, honours_opt_out boolean,
  total numeric, ids uuid[], channels uuid[], senders text[], recipients text[], texts text[], encodings text[],
  fragment_counts smallint[], prices numeric[], decision_ids uuid[]
) returns text language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  platform_now timestamptz := app_now();
  leased boolean := false;
begin
  if honours_opt_out and exists (select from sms_opt_outs o where o.account_id = account) and exists (
    select from unnest(senders, recipients) g (number, contact) cross join lateral (
      select from sms_opt_outs o
      where o.account_id = account and o.number = coalesce(g.number, senders[1]) and o.contact = g.contact
      limit 1) found) then
    return 'refused';
  end if;

  if total > 0 then
    update balances b set balance = b.balance - total where b.account_id = account and b.balance >= total;
    if not found then return 'refused'; end if;
    insert into transfers (account_id, id, debit, credit, amount, kind, reference, note, created_at)
    values (account, batch, 'balance', 'sms', total, 'sms', 'SMO' || ids[1], cardinality(ids) || ' sent', platform_now);
  elsif not exists (select from balances b where b.account_id = account and b.balance >= 0) then
    return 'refused';
  end if;

  insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price,
    transfer_id, status, decision_id, created_at, updated_at)
  select account, g.id, coalesce(g.channel_id, channels[1]), 'outbound', g.contact, coalesce(g.number, senders[1]), g.text,
    coalesce(g.encoding, encodings[1]), coalesce(g.fragments, fragment_counts[1]), coalesce(g.price, prices[1]),
    case when coalesce(g.price, prices[1]) > 0 then batch end, 'queued', coalesce(g.decision_id, decision_ids[1]),
    platform_now, platform_now
  from unnest(ids, channels, recipients, senders, texts, encodings, fragment_counts, prices, decision_ids)
    g (id, channel_id, contact, number, text, encoding, fragments, price, decision_id);

  if worker is not null then
    -- One step in jobs_due_by_account for each kind. With `account_id = account`, the planner may read all due jobs.
    leased := not exists (
      select from (values ('sms.batch'), ('sms.submit')) k (kind) cross join lateral (
        select j.account_id, j.run_at from jobs j
        where j.kind = k.kind and j.leased_until is null and not j.parked and j.account_id >= account
        order by j.account_id, j.run_at, j.id limit 1) j
      where j.account_id = account and j.run_at <= platform_now);
  end if;
  insert into jobs (id, account_id, kind, payload, run_at, created_at, leased_until, owner, fence, attempts)
  values (batch, account, 'sms.batch', payload, platform_now, platform_now,
    case when leased then clock_timestamp() + make_interval(secs => lease_seconds) end,
    case when leased then worker end, leased::integer, leased::integer);
  return case when leased then 'leased' else 'queued' end;
end $$;

-- Accepts several batches in one transaction, sorted by account: a fixed order prevents deadlocks. `sizes` gives the
-- number of messages of each batch, in order. Returns the result of each batch, as above.
create function sms_accept_batches(
  batches uuid[], accounts uuid[], payloads jsonb[], are_leased boolean[], worker uuid, lease_seconds double precision,
  honours_opt_out boolean, totals numeric[], sizes integer[], ids uuid[], channels uuid[], senders text[],
  recipients text[], texts text[], encodings text[], fragment_counts smallint[], prices numeric[], decision_ids uuid[]
) returns text[] language plpgsql
set jit = off
as $$
declare
  results text[] := '{}';
  low integer := 1;
  high integer;
begin
  for n in 1..cardinality(batches) loop
    high := low + sizes[n] - 1;
    results := results || sms_accept_batch(batches[n], accounts[n], payloads[n], case when are_leased[n] then worker end,
      lease_seconds, honours_opt_out, totals[n], ids[low:high], channels[low:high], senders[low:high],
      recipients[low:high], texts[low:high], encodings[low:high], fragment_counts[low:high], prices[low:high],
      decision_ids[low:high]);
    low := high + 1;
  end loop;
  return results;
end $$;

-- Those of the given messages of batches that are still to be submitted, in the order given.
create function sms_batch_messages(accounts uuid[], ids uuid[]) returns table (
  id uuid, number text, contact text, text text
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set enable_incremental_sort = off set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
begin
  return query
    select m.id, m.number, m.contact, m.text
    from unnest(accounts, ids) with ordinality g (account_id, id, n)
    cross join lateral (
      select id, number, contact, text, status from sms_messages
      where account_id = g.account_id and id >= g.id and id <= g.id order by id limit 1) m
    where m.status in ('queued', 'sending')
      and not exists (select from jobs j where j.id = g.id offset 0)
    order by g.n;
end $$;

-- Marks messages of batches as sent, where the fence of the batch matches. `members` gives the position of each
-- message's batch in `batches`, from 1. A batch with `are_final` ends: all its messages have ended. The row of any other
-- batch is locked, so that no other process claims it meanwhile. Everything else is as in `sms_complete_submits`, but the
-- part must be new: `on conflict` costs another record of the log for each row. Rows: `held` carries a batch whose fence
-- matched, `webhook` a webhook that has something to deliver. A message that another transaction changed in between fails
-- the statement, which the caller repeats.
create function sms_complete_batches(
  batches uuid[], fences integer[], are_final boolean[], members integer[], ids uuid[], accounts uuid[],
  connections uuid[], carriers text[], event_ids uuid[]
) returns table (what text, account_id uuid, id uuid) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
  held uuid[];
  published record;
begin
  with ended as (
    delete from jobs j using unnest(batches, fences, are_final) g (id, fence, is_final)
    where g.is_final and j.id between g.id and g.id and j.fence = g.fence
    returning j.id
  ), locked as (
    select j.id from unnest(batches, fences, are_final) g (id, fence, is_final)
    cross join lateral (
      select id from jobs where id = g.id and fence = g.fence limit 1 for update) j
    where not g.is_final
  )
  select array_agg(h.id) into held from (select id from ended union all select id from locked) h;
  if held is null then return; end if;

  with sent as materialized (
    select g.* from unnest(members, ids, accounts, connections, carriers, event_ids)
      g (member, id, account_id, connection_id, carrier_id, event_id)
    where batches[g.member] = any (held)
  ), part as (
    insert into sms_parts (account_id, message_id, part, connection_id, carrier_id, status, sent_at, updated_at)
    select s.account_id, s.id, 1, s.connection_id, s.carrier_id, 'sent', platform_now, platform_now
    from sent s where s.connection_id is not null
  ), open as materialized (
    select s.*, m.place from sent s cross join lateral (
      select ctid as place, status from sms_messages
      where account_id = s.account_id and id >= s.id and id <= s.id
      order by id limit 1) m
    where m.status in ('queued', 'scheduled', 'sending')
  ), message as (
    update sms_messages m set status = 'sent', updated_at = platform_now
    from open o where m.ctid = o.place and m.status in ('queued', 'scheduled', 'sending')
    returning m.account_id, m.channel_id, m.contact, o.event_id, m as row
  )
  select array_agg(m.account_id) as accounts, array_agg(m.event_id) as ids,
    array_agg('sms.message.sent'::text) as names, array_agg(m.channel_id) as channels,
    array_agg(m.channel_id || ' ' || m.contact) as conversations,
    array_agg(sms_event_payload(m.row, v.voip_number_setup_id, 'sms.message.sent')) as payloads,
    (select count(*) from open) as expected, (select count(*) from message) as changed
  into published
  from message m
  cross join lateral (
    select virtual_number_id from sms_channels
    where account_id = m.account_id and id >= m.channel_id and id <= m.channel_id
    order by id limit 1) c
  cross join lateral (
    select voip_number_setup_id from virtual_numbers
    where account_id = m.account_id and id >= c.virtual_number_id and id <= c.virtual_number_id
    order by id limit 1) v;

  if published.expected > published.changed then
    raise exception 'a message changed meanwhile' using errcode = 'serialization_failure';
  end if;
  return query select 'held', null::uuid, h from unnest(held) h;
  return query select 'webhook', w.account_id, w.webhook_id
    from events_record(published.accounts, published.ids, published.names, published.channels,
      published.conversations, null, null, null, published.payloads) w;
end $$;
