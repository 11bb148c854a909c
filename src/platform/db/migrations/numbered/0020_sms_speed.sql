-- What happens to every text, in one round trip and one short transaction each: with some ten texts to a batch, the statements'
-- own beginnings and ends cost more than the rows.
--
-- The functions run by plans that are made once a session and find rows by index, for the reason told in 0002_jobs.sql. Each row is
-- looked up by its whole key, whatever the planner believes: a plan made while a table was small began with that table, by an index
-- and whole, and looked for each of its rows in the batch; it is kept (measured with 200,000 jobs queued: 13.5 s to end 128 texts,
-- 13 ms this way).
--
-- `offset 0` keeps the planner from turning a join around. A row that is to be changed is compared by `>=` and `<=`: a search of the
-- index as exact as by `=`, and no order of the table's that a join could begin with. Channels are
-- asked for in the order of their key: by another index, which begins with the account too, all of the account's were read.

-- An outbound text as its events tell of it: the same as `tell` in src/sms/shown.ts, which tells of all others.
create function sms_told(m sms_messages, setup bigint, event text) returns text language sql stable
as $$
  select '{"uuid":"SMO' || m.id || '","destination":' || to_json(m.contact) || ',"source":' || to_json(m.number)
    || ',"text":' || to_json(m.text) || ',"direction":"outbound","fragments":' || m.fragments
    || ',"price":' || trim_scale(m.price) || ',"voip_number_setup_id":' || setup || ',"status":"' || m.status || '"'
    || coalesce(',"sub_status":' || to_json(m.sub_status), '') || coalesce(',"error_code":' || to_json(m.error_code), '')
    || ',"created_at":"' || to_char(m.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
    || '","updated_at":"' || to_char(m.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
    || '","timestamp":' || floor(extract(epoch from m.created_at))
    || ',"channel_uuid":"SMS' || m.channel_id || '","event":"' || event || '"}'
$$;

-- Ends the jobs of texts that carriers took, where their fences hold, and writes the texts down as sent. `connections` and
-- `carriers` tell who has the only part of a text, and under which id; null where parts are written down already.
-- Rows: `ended` carries the id of a job, `told` a webhook that has something to tell.
create function sms_settle(
  ids uuid[], fences integer[], accounts uuid[], connections uuid[], carriers text[], event_ids uuid[]
) returns table (what text, account_id uuid, id uuid) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  today timestamptz := app_now();
  told record;
begin
  with ended as (
    delete from jobs j
    using unnest(ids, fences, accounts, connections, carriers, event_ids)
      g (id, fence, account_id, connection_id, carrier_id, event_id)
    where j.id between g.id and g.id and j.fence = g.fence
    returning g.*
  ), part as (
    insert into sms_parts (account_id, message_id, part, connection_id, carrier_id, status, sent_at, updated_at)
    select e.account_id, e.id, 1, e.connection_id, e.carrier_id, 'sent', today, today
    from ended e where e.connection_id is not null
    on conflict (account_id, message_id, part) do update
      set connection_id = excluded.connection_id, carrier_id = excluded.carrier_id, status = 'sent',
        sent_at = excluded.sent_at
      where sms_parts.status in ('sending', 'doubtful')
  ), message as (
    update sms_messages m set status = 'sent', updated_at = today
    from ended e
    where (m.account_id, m.id) >= (e.account_id, e.id) and (m.account_id, m.id) <= (e.account_id, e.id)
      and m.status in ('queued', 'scheduled', 'sending')
    returning m.account_id, m.channel_id, m.contact, e.event_id, m as row
  )
  select (select array_agg(e.id) from ended e) as ended, array_agg(m.account_id) as accounts, array_agg(m.event_id) as ids,
    array_agg('sms.message.sent'::text) as names, array_agg(m.channel_id) as channels,
    array_agg(m.channel_id || ' ' || m.contact) as conversations,
    array_agg(sms_told(m.row, v.voip_number_setup_id, 'sms.message.sent')) as payloads
  into told
  from message m
  cross join lateral (
    select virtual_number_id from sms_channels
    where (account_id, id) >= (m.account_id, m.channel_id) and (account_id, id) <= (m.account_id, m.channel_id)
    order by account_id, id limit 1) c
  cross join lateral (
    select voip_number_setup_id from virtual_numbers where account_id = m.account_id and id = c.virtual_number_id offset 0) v;

  return query select 'ended', null::uuid, e from unnest(told.ended) e;
  return query select 'told', w.account_id, w.webhook_id
    from events_record(told.accounts, told.ids, told.names, told.channels, told.conversations, null, null, null, told.payloads) w;
end $$;

-- Writes down what final receipts say of texts of one part that are sent, each by its carrier's id as the index has it (lower
-- case, without leading zeros), and records the events. All that is not as simple is left: to the statements of src/sms/states.ts.
-- Rows: `done` carries the place of a receipt, from 1, that was all written down, `told` a webhook that has something to tell.
create function sms_report(
  connections uuid[], carriers text[], states text[], errors text[], event_ids uuid[]
) returns table (what text, n bigint, account_id uuid, id uuid) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  today timestamptz := app_now();
  told record;
begin
  with found as materialized (
    select g.n, g.state, g.error, g.event_id, p.account_id, p.message_id, p.part
    from unnest(connections, carriers, states, errors, event_ids) with ordinality
      g (connection_id, carrier, state, error, event_id, n)
    cross join lateral (
      select p.account_id, p.message_id, p.part, p.parts, p.status from sms_parts p
      where p.connection_id = g.connection_id and ltrim(lower(p.carrier_id), '0') = g.carrier
      order by p.sent_at desc limit 1
    ) p
    cross join lateral (
      select status from sms_messages where account_id = p.account_id and id = p.message_id offset 0) m
    where p.parts = 1 and p.status in ('sent', 'enroute', 'accepted', 'unknown') and m.status = 'sent'
    -- In one order, so that two batches cannot wait for each other.
    order by p.account_id, p.message_id
  ), part as (
    update sms_parts p set status = f.state, error_code = f.error, updated_at = today
    from found f
    where (p.account_id, p.message_id, p.part) >= (f.account_id, f.message_id, f.part)
      and (p.account_id, p.message_id, p.part) <= (f.account_id, f.message_id, f.part) and p.status in ('sent', 'enroute', 'accepted', 'unknown')
    returning f.*
  ), message as (
    update sms_messages m set status = p.state, sub_status = null,
      error_code = case when p.state <> 'delivered' then p.error end, updated_at = today
    from part p
    where (m.account_id, m.id) >= (p.account_id, p.message_id) and (m.account_id, m.id) <= (p.account_id, p.message_id)
    returning p.n, p.event_id, case p.state when 'delivered' then 'sms.message.delivered' else 'sms.message.failed' end as name,
      m.account_id, m.channel_id, m.contact, m as row
  )
  select array_agg(m.n) as done, array_agg(m.account_id) as accounts, array_agg(m.event_id) as ids,
    array_agg(m.name) as names, array_agg(m.channel_id) as channels,
    array_agg(m.channel_id || ' ' || m.contact) as conversations,
    array_agg(sms_told(m.row, v.voip_number_setup_id, m.name)) as payloads
  into told
  from message m
  cross join lateral (
    select virtual_number_id from sms_channels
    where (account_id, id) >= (m.account_id, m.channel_id) and (account_id, id) <= (m.account_id, m.channel_id)
    order by account_id, id limit 1) c
  cross join lateral (
    select voip_number_setup_id from virtual_numbers where account_id = m.account_id and id = c.virtual_number_id offset 0) v;

  return query select 'done', d, null::uuid, null::uuid from unnest(told.done) d;
  return query select 'told', null::bigint, w.account_id, w.webhook_id
    from events_record(told.accounts, told.ids, told.names, told.channels, told.conversations, null, null, null, told.payloads) w;
end $$;

-- Accepts outbound texts: in one statement each text, its debit and its job, or none of them. A text to a contact who opted out
-- is left out, and one whose account cannot pay for it and for those before it. The first `lease_count` of those due at once are
-- added leased to a worker, unless older ones wait.
--
-- Here for the sake of its plan: prepared by a connection it was planned anew for each batch if the first five were small, which
-- took longer than the batch. Every look into a table goes through an index however the table grows.
-- Rows: a text that was left out, with the reason, and an older one that waits.
create function sms_accept(
  accounts uuid[], ids uuid[], channels uuid[], senders text[], recipients text[], texts text[], encodings text[],
  fragment_counts smallint[], prices numeric[], transfer_ids uuid[], send_ats timestamptz[], decision_ids uuid[], longs text[],
  honours_opt_out boolean, lease_count integer, lease_seconds double precision, worker uuid
) returns table (id uuid, note text) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  today timestamptz := app_now();
begin
  return query
    with given as materialized (
      select * from unnest(accounts, ids, channels, senders, recipients, texts, encodings, fragment_counts, prices, transfer_ids,
        send_ats, decision_ids, longs) with ordinality
        g (account_id, id, channel_id, number, contact, text, encoding, fragments, price, transfer_id, send_at, decision_id, long, n)
    ), older as materialized (
      -- Texts that another process accepted, or that wait for a carrier, go first: nothing is leased beside them.
      select j.id from jobs j
      where lease_count > 0 and j.kind = 'sms.submit' and j.leased_until is null and not j.parked and j.run_at <= today
      order by j.run_at, j.id limit 1
    ), blocked as materialized (
      select g.id from given g cross join lateral (
        select from sms_opt_outs o
        where o.account_id = g.account_id and o.number = g.number and o.contact = g.contact and honours_opt_out
        limit 1) as found
    ), purse as materialized (
      -- In one order, so that two batches cannot wait for each other.
      select a.account_id, b.balance from (select distinct g.account_id from given g order by g.account_id) a
      cross join lateral (select balance from balances where account_id = a.account_id limit 1 for update) b
    ), paid as materialized (
      select * from (
        select g.*, p.balance - sum(g.price) over (partition by g.account_id order by g.n) as rest
        from given g join purse p using (account_id)
        where g.id not in (select id from blocked)
      ) as summed where rest >= 0
    ), bill as materialized (
      select p.account_id, p.transfer_id, sum(p.price) as total, count(*) as messages, min(p.id::text) as first
      from paid p group by p.account_id, p.transfer_id
    ), debit as (
      update balances b set balance = b.balance - bill.total
      from bill where b.account_id between bill.account_id and bill.account_id and bill.total > 0
    ), transfer as (
      insert into transfers (account_id, id, debit, credit, amount, kind, reference, note, created_at)
      select account_id, transfer_id, 'balance', 'sms', total, 'sms', 'SMO' || first, messages || ' sent', today
      from bill where total > 0
    ), message as (
      insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price,
        transfer_id, status, send_at, decision_id, created_at, updated_at)
      select account_id, id, channel_id, 'outbound', contact, number, text, encoding, fragments, price,
        case when price > 0 then transfer_id end, case when send_at > today then 'scheduled' else 'queued' end,
        case when send_at > today then send_at end, decision_id, today, today
      from paid
    ), job as (
      insert into jobs (id, account_id, kind, payload, run_at, created_at, leased_until, owner, fence, attempts)
      select id, account_id, 'sms.submit',
        case when long = 'udh8' and send_at is null
          then jsonb_build_object('from', number, 'to', contact, 'text', text)
          else jsonb_build_object('from', number, 'to', contact, 'text', text, 'long', long, 'send_at', send_at) end,
        greatest(send_at, today), today,
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
    select g.id, 'balance' from given g where g.id not in (select id from paid) and g.id not in (select id from blocked)
    union all
    select o.id, 'older' from older o;
end $$;
