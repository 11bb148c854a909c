-- Plans of the hot path that depend on no statistics.
--
-- A function keeps its plan for the life of a session. In a new database that plan is made while the tables are empty:
-- all indexes that begin with the account then look alike. Messages were found through sms_messages_by_time, which
-- reads all messages of the account for each one, until the first ANALYZE. Measured on PostgreSQL 18 with 60,000
-- messages of one account: 90 ms for the end of 50 submits and 150 ms for 50 receipts, now 3 and 8 ms.
--
-- A row is therefore found in the order of its key, with sorting off, which leaves the planner one index. It is
-- updated where it was found. A comparison of whole keys, `(account_id, id) <= …`, would do on PostgreSQL 18. Older
-- releases do not end the scan at its second column, and read the rest of the account.
--
-- The condition on the status is repeated in the update: some releases of PostgreSQL update the new version of a row that
-- another transaction changed meanwhile, and others leave it out. The latter fails the statement, which the caller
-- repeats.

-- Those of the given messages of batches that are still to be submitted, as in 20261123T100000_sms_batches.sql.
create or replace function sms_batch_messages(accounts uuid[], ids uuid[]) returns table (
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

-- Marks messages of batches as sent, as in 20261123T100000_sms_batches.sql.
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

-- Completes the jobs of messages that carriers accepted, as in baseline/09_sms.sql.
create or replace function sms_complete_submits(
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

-- Applies final receipts to sent messages of one part, as in baseline/09_sms.sql. A part that another transaction
-- changed meanwhile is left to the application.
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
