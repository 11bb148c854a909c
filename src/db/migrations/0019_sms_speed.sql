-- What happens to every text, in one round trip and one short transaction each: with some ten texts to a batch, the statements'
-- own beginnings and ends cost more than the rows.
--
-- The functions run by plans that are made once a session and find rows by index, for the reason told in 0002_jobs.sql.

-- Writes events, in the order given, and a delivery for each webhook that wants to hear of them at this moment. `to_groups` is what
-- subscribers may have asked to hear of alone, `webhooks_alone` the webhook of an event that was made for one. Gives the webhooks that
-- have something to tell.
create function events_record(
  accounts uuid[], ids uuid[], names text[], channels uuid[], conversations text[], to_groups text[], befores timestamptz[],
  webhooks_alone uuid[], payloads text[]
) returns table (account_id uuid, webhook_id uuid) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  today timestamptz := app_now();
begin
  insert into events (account_id, id, name, channel_id, conversation, payload, webhook_id, created_at)
  select g.account_id, g.id, g.name, g.channel_id, g.conversation, g.payload::json, g.webhook_id, today
  from unnest(accounts, ids, names, channels, conversations, payloads, webhooks_alone)
    g (account_id, id, name, channel_id, conversation, payload, webhook_id);

  return query
    with delivery as (
      insert into webhook_deliveries (account_id, webhook_id, event_id, conversation, next_at, created_at)
      select g.account_id, w.id, g.id, g.conversation, today, today
      from unnest(accounts, ids, names, channels, conversations, to_groups, befores, webhooks_alone)
        g (account_id, id, name, channel_id, conversation, to_group, previous_at, webhook_id)
      join webhooks w on w.account_id = g.account_id and w.event = g.name and w.enabled and w.deleted_at is null
      where (w.match_id is null or w.match_id = g.channel_id or g.webhook_id is not null)
        and (g.webhook_id is null or g.webhook_id = w.id)
        and (w.to_group is null or w.to_group = g.to_group or g.webhook_id is not null)
        and (g.name <> 'msgapp.conversation.new' or g.previous_at is null
          or g.previous_at <= today - make_interval(secs => w.quiet_seconds))
      returning account_id, webhook_id
    )
    select distinct d.account_id, d.webhook_id from delivery d;
end $$;

-- An outbound text as its events tell of it: the same as `tell` in src/sms/shown.ts, which tells of all others.
create function sms_told(m sms_messages, setup bigint, event text) returns text language sql stable
as $$
  select '{"uuid":"SMO' || m.id || '","destination":' || to_json(m.contact) || ',"source":' || to_json(m.number)
    || ',"text":' || to_json(m.text) || ',"direction":"outbound","fragments":' || m.fragments
    || ',"price":' || trim_scale(m.price) || ',"voip_number_setup_id":' || setup || ',"status":"' || m.status
    || coalesce('","error_code":' || to_json(m.error_code), '"')
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
    where j.id = g.id and j.fence = g.fence
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
    where m.account_id = e.account_id and m.id = e.id and m.status in ('queued', 'scheduled', 'sending')
    returning m.account_id, m.channel_id, m.contact, e.event_id, m as row
  )
  select (select array_agg(e.id) from ended e) as ended, array_agg(m.account_id) as accounts, array_agg(m.event_id) as ids,
    array_agg('sms.message.sent'::text) as names, array_agg(m.channel_id) as channels,
    array_agg(m.channel_id || ' ' || m.contact) as conversations,
    array_agg(sms_told(m.row, v.voip_number_setup_id, 'sms.message.sent')) as payloads
  into told
  from message m
  join sms_channels c on c.account_id = m.account_id and c.id = m.channel_id
  join virtual_numbers v on v.account_id = c.account_id and v.id = c.virtual_number_id;

  return query select 'ended', null::uuid, e from unnest(told.ended) e;
  return query select 'told', w.account_id, w.webhook_id
    from events_record(told.accounts, told.ids, told.names, told.channels, told.conversations, null, null, null, told.payloads) w;
end $$;
