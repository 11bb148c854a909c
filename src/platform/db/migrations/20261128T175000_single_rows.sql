-- Ordinary load: at a hundred messages a second a statement carries one row. Starting a plan with many nodes then costs
-- more than the row: 260 of the 700 µs of a completion. One row goes through simple statements, with the effects and the
-- order of locks of the general form, which follows unchanged. Batches of many accounts, with a message each, share the
-- statements that each had for itself.

-- The platform clock. An SQL function with a subquery is started anew for each call; this form costs half.
create or replace function app_now() returns timestamptz language plpgsql stable set jit = off
as $$
declare
  ahead bigint;
begin
  select offset_seconds into ahead from clock;
  return now() + make_interval(secs => ahead);
end $$;

-- The payload of an event of an outbound message, now with its sending.
create or replace function sms_event_payload(m sms_messages, setup bigint, event text) returns text language sql stable
as $$
  select '{"uuid":"SMO' || m.id || '","destination":' || to_json(m.contact) || ',"source":' || to_json(m.number)
    || ',"text":' || to_json(m.text) || ',"direction":"outbound","fragments":' || m.fragments
    || ',"price":' || trim_scale(m.price) || ',"voip_number_setup_id":' || setup || ',"status":"' || m.status || '"'
    || coalesce(',"sending_uuid":"SND' || m.sending_id || '"', '')
    || coalesce(',"sub_status":' || to_json(m.sub_status), '') || coalesce(',"error_code":' || to_json(m.error_code),
      '')
    || ',"created_at":"' || to_char(m.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
    || '","updated_at":"' || to_char(m.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
    || '","timestamp":' || floor(extract(epoch from m.created_at))
    || ',"channel_uuid":"SMS' || m.channel_id || '","event":"' || event || '"}'
$$;

-- Records one event that is for no webhook alone, as `events_record` does, which calls it. Returns the webhooks that have
-- something to deliver; null, without any effect, where deliveries would be paced.
create function events_record_one(
  account uuid, given_id uuid, named text, channel uuid, in_conversation text, group_of text, previous_at timestamptz,
  body text, platform_now timestamptz
) returns uuid[] language plpgsql set jit = off
as $$
declare
  micros bigint := extract(epoch from clock_timestamp()) * 1000000 + 1;
  event_id uuid;
  subscribers integer;
  hooks uuid[];
begin
  if exists (select from event_backlog) then return null; end if;
  select count(*) into subscribers from (
    select from webhooks w
    where w.account_id = account and w.event >= named and w.event <= named and w.enabled
      and w.deleted_at is null
    order by w.event limit 17) s;
  if subscribers > 16 then return null; end if;

  event_id := (lpad(to_hex(micros / 1000), 12, '0') || '7' || lpad(to_hex(micros % 1000 * 4), 3, '0')
    || substr(given_id::text, 20))::uuid;
  insert into events (account_id, id, name, channel_id, conversation, payload, created_at)
  values (account, event_id, named, channel, in_conversation,
    replace(body, given_id::text, event_id::text)::json, platform_now);
  if subscribers = 0 then return '{}'; end if;

  with delivery as (
    insert into webhook_deliveries (account_id, webhook_id, event_id, conversation, next_at, created_at)
    select account, w.id, event_id, in_conversation, platform_now, platform_now
    from webhooks w
    where w.account_id = account and w.event >= named and w.event <= named and w.enabled
      and w.deleted_at is null and (w.match_id is null or w.match_id = channel)
      and (w.to_group is null or w.to_group = group_of)
      and (named <> 'msgapp.conversation.new' or previous_at is null
        or previous_at <= platform_now - make_interval(secs => w.quiet_seconds))
    returning webhook_id
  )
  select array_agg(d.webhook_id) into hooks from delivery d;
  return coalesce(hooks, '{}');
end $$;

-- As before, with the form for one event.
create or replace function events_record(
  accounts uuid[], ids uuid[], names text[], channels uuid[], conversations text[], to_groups text[],
  befores timestamptz[], webhooks_alone uuid[], payloads text[], bulk boolean default false
) returns table (account_id uuid, webhook_id uuid) language plpgsql
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  -- The time of this statement: a transaction that waited for another one records its events after those of the other.
  platform_now timestamptz := app_now() + (clock_timestamp() - now());
  began bigint := extract(epoch from clock_timestamp()) * 1000000;
  event_ids uuid[];
  is_paced boolean;
  hooks uuid[];
begin
  if cardinality(ids) = 1 and not bulk and webhooks_alone[1] is null then
    hooks := events_record_one(accounts[1], ids[1], names[1], channels[1], conversations[1], to_groups[1], befores[1],
      payloads[1], platform_now);
    if hooks is not null then
      account_id := accounts[1];
      foreach webhook_id in array hooks loop return next; end loop;
      return;
    end if;
  end if;

  select array_agg(case when g.webhook_id is not null then g.id else (
      lpad(to_hex((began + g.n) / 1000), 12, '0') || '7' || lpad(to_hex((began + g.n) % 1000 * 4), 3, '0')
      || substr(g.id::text, 20))::uuid end order by g.n)
  into event_ids
  from unnest(ids, webhooks_alone) with ordinality g (id, webhook_id, n);

  insert into events (account_id, id, name, channel_id, conversation, payload, webhook_id, created_at)
  select g.account_id, g.id, g.name, g.channel_id, g.conversation, replace(g.payload, g.input_id::text,
    g.id::text)::json,
    g.webhook_id, platform_now
  from unnest(accounts, event_ids, ids, names, channels, conversations, payloads, webhooks_alone)
    g (account_id, id, input_id, name, channel_id, conversation, payload, webhook_id);

  is_paced := bulk or exists (select from event_backlog) or exists (
    select from (select distinct g.account_id, g.name from unnest(accounts, names) g (account_id, name)) g
    cross join lateral (
      select from webhooks
      where account_id = g.account_id and event >= g.name and event <= g.name and enabled and deleted_at is null
      order by event offset 16 limit 1) w);

  -- The common case: no event becomes many deliveries, and none waits. The general statement below costs a fifth more.
  if not is_paced then
    return query
      with delivery as (
        insert into webhook_deliveries (account_id, webhook_id, event_id, conversation, next_at, created_at)
        select g.account_id, w.id, g.id, g.conversation, platform_now, platform_now
        from unnest(accounts, event_ids, names, channels, conversations, to_groups, befores, webhooks_alone)
          g (account_id, id, name, channel_id, conversation, to_group, previous_at, webhook_id)
        cross join lateral (
          select id, match_id, to_group, quiet_seconds from webhooks
          where account_id = g.account_id and event >= g.name and event <= g.name and enabled and deleted_at is null
          order by event offset 0) w
        where (w.match_id is null or w.match_id = g.channel_id or g.webhook_id is not null)
          and (g.webhook_id is null or g.webhook_id = w.id)
          and (w.to_group is null or w.to_group = g.to_group or g.webhook_id is not null)
          and (g.name <> 'msgapp.conversation.new' or g.previous_at is null
            or g.previous_at <= platform_now - make_interval(secs => w.quiet_seconds))
        returning account_id, webhook_id
      )
      select distinct d.account_id, d.webhook_id from delivery d;
    return;
  end if;

  return query
    with subscribed as materialized (
      select g.account_id, g.id, g.name, g.conversation, g.webhook_id as alone, w.id as hook,
        count(*) over (partition by g.n) as width
      from unnest(accounts, event_ids, names, channels, conversations, to_groups, befores,
        webhooks_alone) with ordinality
        g (account_id, id, name, channel_id, conversation, to_group, previous_at, webhook_id, n)
      cross join lateral (
        select id, match_id, to_group, quiet_seconds from webhooks
        where account_id = g.account_id and event >= g.name and event <= g.name and enabled and deleted_at is null
          order by event offset 0) w
      where (w.match_id is null or w.match_id = g.channel_id or g.webhook_id is not null)
        and (g.webhook_id is null or g.webhook_id = w.id)
        and (w.to_group is null or w.to_group = g.to_group or g.webhook_id is not null)
        and (g.name <> 'msgapp.conversation.new' or g.previous_at is null
          or g.previous_at <= platform_now - make_interval(secs => w.quiet_seconds))
    ), classified as materialized (
      select w.*, w.alone is null and (bulk or w.width > 16 or exists (
        select from event_backlog b where b.account_id = w.account_id and b.name = w.name)) as waits
      from subscribed w
    ), delivery as (
      insert into webhook_deliveries (account_id, webhook_id, event_id, conversation, next_at, created_at)
      select j.account_id, j.hook, j.id, j.conversation, platform_now, platform_now from classified j where not j.waits
      returning account_id, webhook_id
    ), later as (
      insert into event_backlog (account_id, name, event_id)
      select distinct j.account_id, j.name, j.id from classified j where j.waits
      returning account_id
    )
    select distinct d.account_id, d.webhook_id from delivery d
    union all
    select distinct l.account_id, null::uuid from later l;
end $$;

-- The `voip_number_setup_id` of a channel's number; null if the channel is not the account's.
create function sms_channel_setup(account uuid, channel uuid) returns bigint language plpgsql stable set jit = off
as $$
begin
  return (
    select v.voip_number_setup_id
    from (
      select c.virtual_number_id from sms_channels c
      where c.account_id = account and c.id >= channel and c.id <= channel order by c.id limit 1) c
    cross join lateral (
      select n.voip_number_setup_id from virtual_numbers n
      where n.account_id = account and n.id >= c.virtual_number_id and n.id <= c.virtual_number_id
      order by n.id limit 1) v);
end $$;

-- As before, with the form for one message.
create or replace function sms_complete_batches(
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
  place tid;
  state text;
  message sms_messages;
  setup bigint;
begin
  if cardinality(ids) = 1 then
    if are_final[1] then
      delete from jobs j where j.id between batches[1] and batches[1] and j.fence = fences[1];
    else
      perform from jobs j where j.id between batches[1] and batches[1] and j.fence = fences[1] for update;
    end if;
    if not found then return; end if;
    what := 'held';
    id := batches[1];
    return next;

    if connections[1] is not null then
      insert into sms_parts (account_id, message_id, part, connection_id, carrier_id, status, sent_at, updated_at)
      values (accounts[1], ids[1], 1, connections[1], carriers[1], 'sent', platform_now, platform_now);
    end if;
    select m.ctid, m.status into place, state from sms_messages m
    where m.account_id = accounts[1] and m.id >= ids[1] and m.id <= ids[1] order by m.id limit 1;
    if state is null or state not in ('queued', 'scheduled', 'sending') then return; end if;
    update sms_messages m set status = 'sent', updated_at = platform_now
    where m.ctid = place and m.status in ('queued', 'scheduled', 'sending')
    returning m.* into message;
    if not found then
      raise exception 'a message changed meanwhile' using errcode = 'serialization_failure';
    end if;

    setup := sms_channel_setup(accounts[1], message.channel_id);
    if setup is null then return; end if;
    what := 'webhook';
    for account_id, id in
      select w.account_id, w.webhook_id from events_record(accounts, event_ids, array['sms.message.sent'],
        array[message.channel_id], array[message.channel_id || ' ' || message.contact], null, null, null,
        array[sms_event_payload(message, setup, 'sms.message.sent')]) w
    loop
      return next;
    end loop;
    return;
  end if;

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

-- As before, with the form for one receipt.
create or replace function sms_apply_receipts(
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
  part record;
  place tid;
  state text;
  recipient text;
  message sms_messages;
  setup bigint;
  event_name text;
begin
  if cardinality(carriers) = 1 then
    select p.ctid as place, p.account_id, p.message_id, p.parts, p.status into part from sms_parts p
    where p.connection_id = connections[1] and ltrim(lower(p.carrier_id), '0') = carriers[1]
    order by p.sent_at desc limit 1;
    if part.parts is distinct from 1 or part.status not in ('sent', 'enroute', 'accepted', 'unknown') then return; end if;
    select m.ctid, m.status, m.contact into place, state, recipient from sms_messages m
    where m.account_id = part.account_id and m.id >= part.message_id and m.id <= part.message_id
    order by m.id limit 1;
    if state is distinct from 'sent' then return; end if;
    if handsets[1] is not null and recipient not like '%' || handsets[1]
      and (recipient like '%' || others[1]) is not true then
      return;
    end if;

    update sms_parts p set status = states[1], error_code = errors[1], updated_at = platform_now
    where p.ctid = part.place and p.status in ('sent', 'enroute', 'accepted', 'unknown');
    if not found then return; end if;
    update sms_messages m set status = states[1], sub_status = null,
      error_code = case when states[1] <> 'delivered' then errors[1] end, updated_at = platform_now
    where m.ctid = place and m.status = 'sent'
    returning m.* into message;
    if not found then
      raise exception 'a message changed meanwhile' using errcode = 'serialization_failure';
    end if;

    setup := sms_channel_setup(message.account_id, message.channel_id);
    if setup is null then return; end if;
    what := 'done';
    n := 1;
    return next;
    event_name := case states[1] when 'delivered' then 'sms.message.delivered' else 'sms.message.failed' end;
    what := 'webhook';
    n := null;
    for account_id, id in
      select w.account_id, w.webhook_id from events_record(array[message.account_id], event_ids, array[event_name],
        array[message.channel_id], array[message.channel_id || ' ' || message.contact], null, null, null,
        array[sms_event_payload(message, setup, event_name)]) w
    loop
      return next;
    end loop;
    return;
  end if;

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

-- As before, with the form for one message.
create or replace function sms_accept_batch(
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
  if exists (select from sms_opt_outs o where o.account_id = account) then
    if exists (
      select from unnest(senders, recipients) g (number, contact) cross join lateral (
        select from sms_opt_outs o
        where o.account_id = account and o.contact = canonical_number(g.contact) and o.number in (coalesce(g.number, senders[1]), '')
          and (honours_opt_out or o.reason <> 'keyword')
        limit 1) found) then
      return 'refused';
    end if;
  end if;

  if total > 0 then
    update balances b set balance = b.balance - total where b.account_id = account and b.balance >= total;
    if not found then return 'refused'; end if;
    insert into transfers (account_id, id, debit, credit, amount, kind, reference, note, created_at)
    values (account, batch, 'balance', 'sms', total, 'sms', 'SMO' || ids[1], cardinality(ids) || ' sent', platform_now);
  elsif not exists (select from balances b where b.account_id = account and b.balance >= 0) then
    return 'refused';
  end if;

  if cardinality(ids) = 1 then
    insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price,
      transfer_id, status, decision_id, created_at, updated_at)
    values (account, ids[1], channels[1], 'outbound', recipients[1], senders[1], texts[1], encodings[1],
      fragment_counts[1], prices[1], case when prices[1] > 0 then batch end, 'queued', decision_ids[1], platform_now,
      platform_now);
  else
    insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price,
      transfer_id, status, decision_id, created_at, updated_at)
    select account, g.id, coalesce(g.channel_id, channels[1]), 'outbound', g.contact, coalesce(g.number, senders[1]), g.text,
      coalesce(g.encoding, encodings[1]), coalesce(g.fragments, fragment_counts[1]), coalesce(g.price, prices[1]),
      case when coalesce(g.price, prices[1]) > 0 then batch end, 'queued', coalesce(g.decision_id, decision_ids[1]),
      platform_now, platform_now
    from unnest(ids, channels, recipients, senders, texts, encodings, fragment_counts, prices, decision_ids)
      g (id, channel_id, contact, number, text, encoding, fragments, price, decision_id);
  end if;

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

-- Accepts several batches, one or none of an account, in one statement for each table: with a thousand accounts that send,
-- a statement carries a message of each. The batches come sorted by account, which is the order of locks. `sizes` gives
-- the number of messages of each batch, in order. Returns the result of each batch, as `sms_accept_batch` does.
create or replace function sms_accept_batches(
  batches uuid[], accounts uuid[], payloads jsonb[], are_leased boolean[], worker uuid, lease_seconds double precision,
  honours_opt_out boolean, totals numeric[], sizes integer[], ids uuid[], channels uuid[], senders text[],
  recipients text[], texts text[], encodings text[], fragment_counts smallint[], prices numeric[], decision_ids uuid[]
) returns text[] language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  platform_now timestamptz := app_now();
  -- For each message, its batch; for each batch, its first message.
  places integer[];
  firsts integer[];
  blocked integer[];
  kept integer[];
  results text[];
begin
  select array_agg(b.n order by b.n) into places
  from unnest(sizes) with ordinality b (size, n) cross join generate_series(1, b.size);
  select array_agg(b.first order by b.n) into firsts from (
    select n, sum(size) over (order by n) - size + 1 as first from unnest(sizes) with ordinality b (size, n)) b;

  select coalesce(array_agg(distinct g.n), '{}') into blocked
  from unnest(places, senders, recipients) g (n, number, contact)
  cross join lateral (
    select from sms_opt_outs o
    where o.account_id = accounts[g.n] and o.contact = canonical_number(g.contact) and o.number in (g.number, '')
      and (honours_opt_out or o.reason <> 'keyword')
    limit 1) found;

  with due as materialized (
    select g.n, g.account_id, g.total from unnest(accounts, totals) with ordinality g (account_id, total, n)
    where g.total > 0 and g.n <> all (blocked) order by g.n
  ), debit as (
    update balances b set balance = b.balance - due.total from due
    where b.account_id between due.account_id and due.account_id and b.balance >= due.total
    returning due.n, due.account_id, due.total
  ), transfer as (
    insert into transfers (account_id, id, debit, credit, amount, kind, reference, note, created_at)
    select d.account_id, batches[d.n], 'balance', 'sms', d.total, 'sms', 'SMO' || ids[firsts[d.n]], sizes[d.n] || ' sent',
      platform_now
    from debit d
  )
  select coalesce(array_agg(k.n), '{}') into kept from (
    select d.n from debit d
    union all
    select g.n from unnest(accounts, totals) with ordinality g (account_id, total, n)
    where g.total = 0 and g.n <> all (blocked)
      and exists (select from balances b where b.account_id = g.account_id and b.balance >= 0)) k;

  insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price,
    transfer_id, status, decision_id, created_at, updated_at)
  select accounts[g.n], g.id, g.channel_id, 'outbound', g.contact, g.number, g.text, g.encoding, g.fragments, g.price,
    case when g.price > 0 then batches[g.n] end, 'queued', g.decision_id, platform_now, platform_now
  from unnest(places, ids, channels, recipients, senders, texts, encodings, fragment_counts, prices, decision_ids)
    g (n, id, channel_id, contact, number, text, encoding, fragments, price, decision_id)
  where g.n = any (kept);

  -- Materialised: the search for an older job would run for each column that depends on it.
  with taken as materialized (
    select g.*, g.is_leased and worker is not null and not exists (
      -- As in `sms_accept_batch`: one step for each kind.
      select from (values ('sms.batch'), ('sms.submit')) k (kind) cross join lateral (
        select j.account_id, j.run_at from jobs j
        where j.kind = k.kind and j.leased_until is null and not j.parked and j.account_id >= g.account_id
        order by j.account_id, j.run_at, j.id limit 1) j
      where j.account_id = g.account_id and j.run_at <= platform_now) as leased
    from unnest(batches, accounts, payloads, are_leased) with ordinality g (id, account_id, payload, is_leased, n)
    where g.n = any (kept)
  ), job as (
    insert into jobs (id, account_id, kind, payload, run_at, created_at, leased_until, owner, fence, attempts)
    select g.id, g.account_id, 'sms.batch', g.payload, platform_now, platform_now,
      case when g.leased then clock_timestamp() + make_interval(secs => lease_seconds) end,
      case when g.leased then worker end, g.leased::integer, g.leased::integer
    from taken g
    returning id, owner
  )
  select array_agg(case when j.id is null then 'refused' when j.owner is null then 'queued' else 'leased' end
    order by g.n) into results
  from unnest(batches) with ordinality g (id, n) left join job j on j.id = g.id;
  return results;
end $$;
