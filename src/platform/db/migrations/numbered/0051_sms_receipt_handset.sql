-- A receipt finds a part by the carrier's id and by the handset: ids in decimal and in hexadecimal on one connection may be
-- the same number. `handsets` and `others` are the last digits of numbers (matching.ts), null where a receipt names none.
drop function sms_report(uuid[], text[], text[], text[], uuid[]);
create function sms_report(
  connections uuid[], carriers text[], states text[], errors text[], event_ids uuid[], handsets text[], others text[]
) returns table (what text, n bigint, account_id uuid, id uuid) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  today timestamptz := app_now();
  told record;
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
