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
    join sms_messages m on m.account_id = p.account_id and m.id = p.message_id
    where p.parts = 1 and p.status in ('sent', 'enroute', 'accepted', 'unknown') and m.status = 'sent'
    -- In one order, so that two batches cannot wait for each other.
    order by p.account_id, p.message_id
  ), part as (
    update sms_parts p set status = f.state, error_code = f.error, updated_at = today
    from found f
    where p.account_id = f.account_id and p.message_id = f.message_id and p.part = f.part
      and p.status in ('sent', 'enroute', 'accepted', 'unknown')
    returning f.*
  ), message as (
    update sms_messages m set status = p.state, sub_status = null,
      error_code = case when p.state <> 'delivered' then p.error end, updated_at = today
    from part p where m.account_id = p.account_id and m.id = p.message_id
    returning p.n, p.event_id, case p.state when 'delivered' then 'sms.message.delivered' else 'sms.message.failed' end as name,
      m.account_id, m.channel_id, m.contact, m as row
  )
  select array_agg(m.n) as done, array_agg(m.account_id) as accounts, array_agg(m.event_id) as ids,
    array_agg(m.name) as names, array_agg(m.channel_id) as channels,
    array_agg(m.channel_id || ' ' || m.contact) as conversations,
    array_agg(sms_told(m.row, v.voip_number_setup_id, m.name)) as payloads
  into told
  from message m
  join sms_channels c on c.account_id = m.account_id and c.id = m.channel_id
  join virtual_numbers v on v.account_id = c.account_id and v.id = c.virtual_number_id;

  return query select 'done', d, null::uuid, null::uuid from unnest(told.done) d;
  return query select 'told', null::bigint, w.account_id, w.webhook_id
    from events_record(told.accounts, told.ids, told.names, told.channels, told.conversations, null, null, null, told.payloads) w;
end $$;
