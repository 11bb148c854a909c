-- Takes the schema of the numbered migrations to that of the baseline (../baseline): plain names, and no change of data.
-- Tables, columns, constraints, indexes, views, triggers and functions are renamed in the catalogue, so the time does not
-- depend on the number of rows. test/migrations/bridge.test.ts compares the result with the baseline.

alter table facts rename to installation_state;
alter table meters rename to rate_limit_usage;
alter table call_meters rename to call_usage;
alter table call_lines rename to call_timeline_entries;
alter table sms_decisions rename to sms_route_decisions;
alter table sms_inbound_seen rename to sms_inbound_fingerprints;
alter table sms_receipt_watch rename to sms_receipt_checks;
alter table event_paces rename to event_rate_limits;
alter table webhook_lanes rename to webhook_endpoint_leases;
alter table msgapp_set_aside rename to msgapp_dead_letters;
alter table msgapp_early rename to msgapp_early_receipts;
alter table msgapp_vault rename to msgapp_credentials;
alter table msgapp_budgets rename to msgapp_rate_limits;
alter table numbers rename column withdrawn_alone to withdrawn_individually;
alter table msgapp_former_peers rename column goes_on to current_peer;
alter table calls rename column tenure to epoch;

alter table installation_state rename constraint facts_pkey to installation_state_pkey;
alter table rate_limit_usage rename constraint meters_account_id_fkey to rate_limit_usage_account_id_fkey;
alter table rate_limit_usage rename constraint meters_pkey to rate_limit_usage_pkey;
alter table sms_route_decisions rename constraint sms_decisions_pkey to sms_route_decisions_pkey;
alter table sms_inbound_fingerprints rename constraint sms_inbound_seen_pkey to sms_inbound_fingerprints_pkey;
alter table sms_receipt_checks rename constraint sms_receipt_watch_pkey to sms_receipt_checks_pkey;
alter table webhook_endpoint_leases rename constraint webhook_lanes_pkey to webhook_endpoint_leases_pkey;
alter table msgapp_credentials rename constraint msgapp_vault_pkey to msgapp_credentials_pkey;
alter table msgapp_early_receipts rename constraint msgapp_early_pkey to msgapp_early_receipts_pkey;
alter table msgapp_rate_limits rename constraint msgapp_budgets_pkey to msgapp_rate_limits_pkey;
alter table call_timeline_entries rename constraint call_lines_leg_check to call_timeline_entries_leg_check;
alter table call_timeline_entries rename constraint call_lines_pkey to call_timeline_entries_pkey;
alter table call_usage rename constraint call_meters_account_id_fkey to call_usage_account_id_fkey;
alter table call_usage rename constraint call_meters_pkey to call_usage_pkey;
alter table msgapp_dead_letters rename constraint msgapp_set_aside_pkey to msgapp_dead_letters_pkey;
alter table event_rate_limits rename constraint event_paces_pkey to event_rate_limits_pkey;
alter index msgapp_former_peers_by_goal rename to msgapp_former_peers_by_current_peer;
alter index numbers_taken rename to numbers_not_free;
alter index webhook_deliveries_again rename to webhook_deliveries_retries;
alter index webhooks_once rename to webhooks_unique;
alter index caller_ids_own rename to caller_ids_unique;
alter index jobs_one_of_a_key rename to jobs_one_lease_per_key;
alter index revoked_tokens_expires_at rename to revoked_tokens_by_expiry;
alter index call_lines_by_time rename to call_timeline_entries_by_time;
alter index msgapp_early_by_time rename to msgapp_early_receipts_by_time;
alter index msgapp_set_aside_by_content rename to msgapp_dead_letters_by_content;
alter index msgapp_set_aside_by_time rename to msgapp_dead_letters_by_time;
alter index sms_inbound_seen_by_time rename to sms_inbound_fingerprints_by_time;

-- PostgreSQL 18 names NOT NULL constraints after the table and the column, and a rename changes neither.
do $$
declare
  renamed record;
begin
  for renamed in
    select r.relname as table_name, c.conname as old_name, r.relname || '_' || a.attname || '_not_null' as new_name
    from pg_constraint c
    join pg_class r on r.oid = c.conrelid
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.connamespace = current_schema()::regnamespace and c.contype = 'n'
      and c.conname <> r.relname || '_' || a.attname || '_not_null'
  loop
    execute format('alter table %I rename constraint %I to %I', renamed.table_name, renamed.old_name, renamed.new_name);
  end loop;
end $$;

alter view msgapp_standing rename to msgapp_channel_status;
alter view msgapp_shown rename to msgapp_visible_messages;
alter view connection_standing rename to connections_with_accounts;
alter view caller_id_standing rename to caller_id_status;
alter trigger call_recordings_added on call_recordings rename to call_recordings_count_inserted;
alter trigger call_recordings_removed on call_recordings rename to call_recordings_count_deleted;
alter trigger call_recordings_changed on call_recordings rename to call_recordings_count_updated;
alter trigger documents_added on documents rename to documents_count_inserted;
alter trigger documents_removed on documents rename to documents_count_deleted;
alter trigger documents_changed on documents rename to documents_count_updated;
alter trigger msgapp_media_added on msgapp_media rename to msgapp_media_count_inserted;
alter trigger msgapp_media_removed on msgapp_media rename to msgapp_media_count_deleted;
alter trigger msgapp_media_changed on msgapp_media rename to msgapp_media_count_updated;
alter function jobs_turn rename to jobs_complete_and_claim;
alter function jobs_bury rename to jobs_move_to_dead_letter;
alter function jobs_hasten rename to jobs_promote;
alter function jobs_reclaim rename to jobs_recover_orphans;
alter function jobs_return rename to jobs_reschedule;
alter function jobs_sweep rename to jobs_unpark_missed;
alter function sms_told rename to sms_event_payload;
alter function sms_settle rename to sms_complete_submits;
alter function sms_report rename to sms_apply_receipts;
alter function events_behind rename to events_backlogged_accounts;
alter function webhooks_settle rename to webhooks_record_attempts;
alter function contacts_found rename to contacts_search;
alter function contacts_count rename to contacts_adjust_count;
alter function is_only_user rename to connection_has_only_account;
alter function call_recordings_stored rename to call_recordings_count_bytes;
alter function documents_stored rename to documents_count_bytes;
alter function msgapp_media_stored rename to msgapp_media_count_bytes;

-- Function bodies name tables, columns and functions as text. They are those of the baseline.

create or replace function jobs_complete_and_claim(
  ended_ids uuid[], ended_fences integer[], wanted_kind text, wanted integer, worker uuid,
  lease_seconds double precision, after_account uuid
) returns table (
  what text, id uuid, account_id uuid, key text, payload jsonb, run_at timestamptz, created_at timestamptz,
  fence integer, attempts integer
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  ended uuid[];
  kinds text[];
  keys text[];
  due uuid[];
  blocked boolean[];
  visited uuid[];
  platform_now timestamptz;
begin
  if cardinality(ended_ids) > 0 then
    with deleted as (
      delete from jobs j using unnest(ended_ids, ended_fences) e (id, fence)
      where j.id = e.id and j.fence = e.fence
      returning j.id, j.kind, j.key
    )
    select array_agg(g.id), array_agg(g.kind) filter (where g.key is not null),
      array_agg(g.key) filter (where g.key is not null)
    into ended, kinds, keys from deleted g;
    if kinds is not null then perform jobs_unpark(kinds, keys); end if;
    return query select 'ended', e, null::uuid, null, null::jsonb, null::timestamptz, null::timestamptz,
      null::integer, null::integer
      from unnest(ended) e;
  end if;

  if wanted <= 0 then return; end if;
  platform_now := app_now();

  if after_account is null then
    select array_agg(d.id order by d.run_at, d.id), array_agg(d.blocked order by d.run_at, d.id)
    into due, blocked from (
      select j.id, j.run_at, j.key is not null and (
        exists (select from jobs b where b.kind = j.kind and b.key = j.key and b.id < j.id)
        or exists (select from jobs b where b.kind = j.kind and b.key = j.key and b.leased_until is not null))
          as blocked
      from jobs j
      where j.kind = wanted_kind and j.leased_until is null and not j.parked and j.run_at <= platform_now
      order by j.run_at, j.id limit wanted for update skip locked
    ) d;
  else
    with recursive next_accounts as (
      (select j.account_id, 1 as place from jobs j
       where j.kind = wanted_kind and j.leased_until is null and not j.parked and j.account_id is not null
         and j.account_id > after_account
       order by j.account_id limit 1)
      union all
      select n.account_id, r.place + 1 from next_accounts r cross join lateral (
        select j.account_id from jobs j
        where j.kind = wanted_kind and j.leased_until is null and not j.parked and j.account_id is not null
          and j.account_id > r.account_id
        order by j.account_id limit 1) n
      where r.place < 16
    )
    select array_agg(r.account_id order by r.account_id) into visited from next_accounts r;
    if cardinality(visited) = 16 then
      return query select 'account', visited[16], null::uuid, null, null::jsonb, null::timestamptz,
        null::timestamptz, null::integer, null::integer;
    end if;
    select array_agg(d.id order by d.run_at, d.id), array_agg(d.blocked order by d.run_at, d.id)
    into due, blocked
    from (
      select t.id, t.run_at, t.blocked from unnest(visited) v (account_id) cross join lateral (
        select j.id, j.run_at, j.key is not null and (
          exists (select from jobs b where b.kind = j.kind and b.key = j.key and b.id < j.id)
          or exists (select from jobs b where b.kind = j.kind and b.key = j.key and b.leased_until is not null))
            as blocked
        from jobs j
        where j.kind = wanted_kind and j.leased_until is null and not j.parked and j.account_id = v.account_id
          and j.run_at <= platform_now
        order by j.run_at, j.id limit greatest(1, wanted / cardinality(visited)) for update skip locked
      ) t limit wanted
    ) d;
  end if;
  if due is null then return; end if;

  return query
    with claimed as (
      update jobs j set
        parked = d.blocked,
        leased_until = case when d.blocked then null else clock_timestamp() + make_interval(secs => lease_seconds) end,
        owner = case when d.blocked then null else worker end,
        fence = j.fence + case when d.blocked then 0 else 1 end,
        attempts = j.attempts + case when d.blocked then 0 else 1 end
      from unnest(due, blocked) d (id, blocked) where j.id = d.id
      returning d.blocked, j.*
    )
    select case when c.blocked then 'parked' else 'claimed' end, c.id, c.account_id, c.key,
      case when c.blocked then null else c.payload end, c.run_at, c.created_at, c.fence, c.attempts
    from claimed c order by c.run_at, c.id;
end $$;

create or replace function jobs_reschedule(
  ids uuid[], fences integer[], delays double precision[], errors text[], counted boolean[], waits text[] default null
) returns setof uuid language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  platform_now timestamptz := app_now();
begin
  return query
    update jobs j set leased_until = null, owner = null, run_at = platform_now + make_interval(secs => r.delay),
      attempts = j.attempts - case when r.counted then 0 else 1 end, last_error = coalesce(r.error, j.last_error),
      waits_for = r.wait
    from unnest(ids, fences, delays, errors, counted, waits) r (id, fence, delay, error, counted, wait)
    where j.id = r.id and j.fence = r.fence
    returning j.id;
end $$;

create or replace function jobs_promote(of_kind text, waits text[]) returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  promoted integer;
begin
  update jobs j set run_at = app_now(), waits_for = null
  from unnest(waits) w (name)
  where j.kind = of_kind and j.waits_for = w.name and j.waits_for is not null and j.leased_until is null;
  get diagnostics promoted = row_count;
  return promoted;
end $$;

create or replace function jobs_move_to_dead_letter(
  ids uuid[], fences integer[], errors text[]
) returns setof uuid language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  moved uuid[];
  kinds text[];
  keys text[];
begin
  with deleted as (
    delete from jobs j using unnest(ids, fences, errors) d (id, fence, error)
    where j.id = d.id and j.fence = d.fence
    returning j.*, d.error
  ), inserted as (
    insert into dead_jobs (id, account_id, kind, key, payload, run_at, fence, attempts, created_at, last_error, died_at)
    select id, account_id, kind, key, payload, run_at, fence, attempts, created_at, error, app_now() from deleted
    on conflict (id) do update set fence = excluded.fence, attempts = excluded.attempts, payload = excluded.payload,
      last_error = excluded.last_error, died_at = excluded.died_at
  )
  select array_agg(g.id), array_agg(g.kind) filter (where g.key is not null),
    array_agg(g.key) filter (where g.key is not null)
  into moved, kinds, keys from deleted g;
  if kinds is not null then perform jobs_unpark(kinds, keys); end if;
  return query select unnest(moved);
end $$;

create or replace function jobs_poll(kinds text[]) returns table (kind text, due_in double precision) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
begin
  update jobs set leased_until = null, owner = null
  where id in (select j.id from jobs j where j.leased_until < statement_timestamp() for update skip locked);
  return query
    select k.kind, extract(epoch from n.run_at - platform_now)::double precision
    from unnest(kinds) k (kind) cross join lateral (
      select j.run_at from jobs j where j.kind = k.kind and j.leased_until is null and not j.parked
      order by j.run_at, j.id limit 1) n;
end $$;

create or replace function jobs_unpark_missed() returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  unparked integer;
begin
  with recursive head as (
    (select j.kind, j.key, j.id from jobs j where j.parked order by j.kind, j.key, j.id limit 1)
    union all
    select n.kind, n.key, n.id from head h cross join lateral (
      select j.kind, j.key, j.id from jobs j where j.parked and (j.kind, j.key) > (h.kind, h.key)
      order by j.kind, j.key, j.id limit 1) n
  )
  update jobs j set parked = false from head h
  where j.id = h.id and j.parked
    and not exists (select from jobs b where b.kind = h.kind and b.key = h.key and b.id < h.id)
    and not exists (select from jobs b where b.kind = h.kind and b.key = h.key and b.leased_until is not null);
  get diagnostics unparked = row_count;
  return unparked;
end $$;

create or replace function events_record(
  accounts uuid[], ids uuid[], names text[], channels uuid[], conversations text[], to_groups text[],
  befores timestamptz[], webhooks_alone uuid[], payloads text[], bulk boolean default false
) returns table (account_id uuid, webhook_id uuid) language plpgsql
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  -- The time of this statement: a transaction that waited for another one records its events after those of the other.
  platform_now timestamptz := app_now() + (clock_timestamp() - now());
  began bigint := extract(epoch from clock_timestamp()) * 1000000;
  event_ids uuid[];
  is_paced boolean;
begin
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
      select from webhooks where account_id = g.account_id and event = g.name and enabled and deleted_at is null
      offset 16 limit 1) w);

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
          where account_id = g.account_id and event = g.name and enabled and deleted_at is null offset 0) w
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
        where account_id = g.account_id and event = g.name and enabled and deleted_at is null offset 0) w
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

create or replace function events_fan_out(
  account uuid, rate double precision, burst double precision, most integer
) returns table (webhook_id uuid, wait double precision) language plpgsql
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  available double precision;
  budget integer;
  webhook_ids uuid[];
  created integer;
begin
  insert into event_rate_limits (account_id, tokens, refilled_at) values (account, burst, clock_timestamp())
  on conflict (account_id) do nothing;
  select least(burst, p.tokens + rate * extract(epoch from clock_timestamp() - p.refilled_at)::double precision)
    into available
  from event_rate_limits p where p.account_id = account for update skip locked;
  if available is null then
    return query select null::uuid, 0.5::double precision;
    return;
  end if;
  if available < 1 then
    return query select null::uuid, case when rate > 0 then least(1, (1 - available) / rate) else 1 end;
    return;
  end if;
  budget := least(available, most);

  with recursive named as (
    (select b.name from event_backlog b where b.account_id = account order by b.name limit 1)
    union all
    select n.name from named w cross join lateral (
      select b.name from event_backlog b where b.account_id = account and b.name > w.name order by b.name limit 1) n
  ), subscribed as materialized (
    select n.name, (select count(*) from webhooks w
      where w.account_id = account and w.event = n.name and w.enabled and w.deleted_at is null) as subscribers
    from named n
  ), oldest as materialized (
    select o.name, o.event_id, o.place from subscribed w cross join lateral (
      select b.name, b.event_id, row_number() over (order by b.event_id) as place from (
        select name, event_id from event_backlog where account_id = account and name = w.name
        order by event_id
        limit greatest(1, case when w.subscribers = 0 then most else ceil(budget::float8 / w.subscribers) end)) b) o
  ), pair as materialized (
    select o.name, o.event_id, o.place, e.conversation, e.created_at, w.id as hook
    from oldest o
    left join lateral (select * from events where account_id = account and id = o.event_id offset 0) e on true
    left join lateral (
      select id, match_id, to_group, quiet_seconds from webhooks
      where account_id = account and event = o.name and enabled and deleted_at is null
        and created_at <= e.created_at offset 0) w
      on (w.match_id is null or w.match_id = e.channel_id)
        and (w.to_group is null or w.to_group = e.payload ->> 'group_uuid')
        and (o.name <> 'msgapp.conversation.new' or e.payload ->> 'previous_message_at' is null
          or (e.payload ->> 'previous_message_at')::timestamptz
            <= e.created_at - make_interval(secs => w.quiet_seconds))
  ), counted as materialized (
    select p.name, p.event_id, sum(count(p.hook)) over (order by p.place, p.event_id) - count(p.hook) as before
    from pair p group by p.name, p.event_id, p.place
  ), dequeued as materialized (
    delete from event_backlog b using counted c
    where c.before < budget and b.account_id = account and b.name = c.name and b.event_id = c.event_id
    returning b.event_id
  ), delivery as (
    insert into webhook_deliveries (account_id, webhook_id, event_id, conversation, next_at, created_at)
    select account, p.hook, p.event_id, p.conversation, p.created_at, p.created_at
    from pair p join dequeued t on t.event_id = p.event_id where p.hook is not null
    on conflict (account_id, webhook_id, event_id) do nothing
    returning webhook_id
  )
  select array_agg(distinct d.webhook_id), count(*) into webhook_ids, created from delivery d;

  available := available - created;
  update event_rate_limits set tokens = available, refilled_at = clock_timestamp() where account_id = account;
  return query select t, null::double precision from unnest(webhook_ids) t;
  return query select null::uuid, case
    when not exists (select from event_backlog b where b.account_id = account) then null
    when available >= 1 then 0
    when rate > 0 then least(1, (1 - available) / rate) else 1 end;
end $$;

create or replace function webhooks_due(
  worker uuid, most integer
) returns table (account_id uuid, webhook_id uuid, failures integer) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
begin
  return query
    with recursive pending as (
      (select d.account_id, d.webhook_id from webhook_deliveries d where d.state = 'pending'
       order by d.account_id, d.webhook_id limit 1)
      union all
      select n.account_id, n.webhook_id from pending p cross join lateral (
        select d.account_id, d.webhook_id from webhook_deliveries d
        where d.state = 'pending' and (d.account_id, d.webhook_id) > (p.account_id, p.webhook_id)
        order by d.account_id, d.webhook_id limit 1) n
    )
    select l.account_id, l.webhook_id, l.failures
    from pending p
    join webhook_endpoint_leases l on l.account_id = p.account_id and l.webhook_id = p.webhook_id
    cross join lateral (
      select d.next_at from webhook_deliveries d
      where d.account_id = p.account_id and d.webhook_id = p.webhook_id and d.state = 'pending'
      order by d.next_at limit 1) first
    where first.next_at <= platform_now and (l.hold_until is null or l.hold_until <= platform_now)
      and (l.owner is null or l.owner = worker or l.leased_until < clock_timestamp())
    order by l.failures > 0, first.next_at limit most;
end $$;

create or replace function webhooks_load(
  accounts uuid[], webhooks uuid[], mosts integer[], held_webhooks uuid[], held_events uuid[]
) returns table (webhook_id uuid, event_id uuid, conversation text, tries smallint, body text) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
begin
  return query
    select d.webhook_id, d.event_id, d.conversation, d.tries, e.payload::text
    from unnest(accounts, webhooks, mosts) w (account_id, webhook_id, most)
    cross join lateral (
      select d.account_id, d.webhook_id, d.event_id, d.conversation, d.tries from webhook_deliveries d
      where d.account_id = w.account_id and d.webhook_id = w.webhook_id and d.state = 'pending'
        and d.next_at <= platform_now
      order by d.next_at, d.event_id limit w.most
    ) d
    cross join lateral (select payload from events where account_id = d.account_id and id = d.event_id offset 0) e
    where not exists (
      select from unnest(held_webhooks, held_events) h (webhook_id, event_id)
      where h.webhook_id = d.webhook_id and h.event_id = d.event_id)
    order by d.event_id;
end $$;

create or replace function webhooks_record_attempts(
  worker uuid, accounts uuid[], webhooks uuid[], events uuid[], whats text[], delays double precision[], tried text[],
  heads uuid[]
) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  platform_now timestamptz := app_now();
begin
  update webhook_deliveries d set
    state = case when g.what in ('delivered', 'failed') then g.what else 'pending' end,
    tries = d.tries + case when g.what in ('delivered', 'failed', 'again') then 1 else 0 end,
    next_at = case when g.what = 'called' then d.next_at
      when g.head is not null then coalesce((
        select h.next_at + interval '10 milliseconds' from webhook_deliveries h
        where h.account_id = g.account_id and h.webhook_id = g.webhook_id and h.event_id = g.head), platform_now)
      when g.what in ('again', 'parked') then platform_now + make_interval(secs => g.seconds) end,
    attempts = case when g.attempt is null then d.attempts
      else case when jsonb_array_length(d.attempts) < 20 then d.attempts else d.attempts - 0 end
        || ('{"at":'
          || to_json(platform_now - make_interval(secs => (g.attempt::json ->> 'latency_ms')::integer / 1000.0))
          || ',' || substr(g.attempt, 2))::jsonb end
  from unnest(accounts, webhooks, events, whats, delays, tried, heads)
    g (account_id, webhook_id, event_id, what, seconds, attempt, head)
  where (d.account_id, d.webhook_id, d.event_id) >= (g.account_id, g.webhook_id, g.event_id)
    and (d.account_id, d.webhook_id, d.event_id) <= (g.account_id, g.webhook_id, g.event_id) and d.next_at is not null
    and (select l.owner from webhook_endpoint_leases l where l.account_id = g.account_id
      and l.webhook_id = g.webhook_id) = worker;
end $$;

create or replace function documents_count_bytes() returns trigger language plpgsql
set jit = off
as $$
begin
  if tg_op = 'INSERT' then
    perform stored_bytes_add(array_agg(account_id), array_agg(size::bigint))
    from new_rows where size::bigint <> 0 having count(*) > 0;
  elsif tg_op = 'DELETE' then
    perform stored_bytes_add(array_agg(account_id), array_agg(-size::bigint))
    from old_rows where size::bigint <> 0 having count(*) > 0;
  else
    perform stored_bytes_add(array_agg(changed.account_id), array_agg(changed.size)) from (
      select account_id, sum(size) as size from (
        select account_id, size::bigint as size from new_rows
        union all
        select account_id, -size::bigint from old_rows
      ) signed group by account_id having sum(size) <> 0
    ) changed having count(*) > 0;
  end if;
  return null;
end $$;

create or replace function sms_event_payload(m sms_messages, setup bigint, event text) returns text language sql stable
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

create or replace function sms_accept(
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

create or replace function sms_complete_submits(
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

create or replace function sms_apply_receipts(
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

create or replace function contacts_adjust_count(account uuid, more bigint, most bigint) returns bigint language plpgsql
set jit = off
as $$
declare
  margin constant bigint := 2000;
  key bigint := hashtextextended('quota contacts', 0) # hashtextextended(account::text, 0);
  total bigint;
begin
  if more > 0 then
    select coalesce(sum(contacts), 0) into total from contact_counts where account_id = account;
    if more = 1 and total + margin <= most then
      perform pg_advisory_xact_lock_shared(key);
      select coalesce(sum(contacts), 0) into total from contact_counts where account_id = account;
    end if;
    if more <> 1 or total + margin > most then
      perform pg_advisory_xact_lock(key);
      select coalesce(sum(contacts), 0) into total from contact_counts where account_id = account;
    end if;
    if total + more > most then return null; end if;
  end if;
  insert into contact_counts as c (account_id, slot, contacts) values (account, pg_backend_pid() % 16, more)
  on conflict (account_id, slot) do update set contacts = c.contacts + excluded.contacts;
  return coalesce(total, 0) + more;
end $$;

create or replace function msgapp_media_count_bytes() returns trigger language plpgsql
set jit = off
as $$
begin
  if tg_op = 'INSERT' then
    perform stored_bytes_add(array_agg(account_id), array_agg(size))
    from new_rows where key is not null and error is null and size <> 0 having count(*) > 0;
  elsif tg_op = 'DELETE' then
    perform stored_bytes_add(array_agg(account_id), array_agg(-size))
    from old_rows where key is not null and error is null and size <> 0 having count(*) > 0;
  else
    perform stored_bytes_add(array_agg(changed.account_id), array_agg(changed.size)) from (
      select account_id, sum(size) as size from (
        select account_id, size from new_rows where key is not null and error is null
        union all
        select account_id, -size from old_rows where key is not null and error is null
      ) signed group by account_id having sum(size) <> 0
    ) changed having count(*) > 0;
  end if;
  return null;
end $$;

create or replace function call_recordings_count_bytes() returns trigger language plpgsql
set jit = off
as $$
begin
  if tg_op = 'INSERT' then
    perform stored_bytes_add(array_agg(account_id), array_agg(coalesce(bytes, 0)))
    from new_rows where coalesce(bytes, 0) <> 0 having count(*) > 0;
  elsif tg_op = 'DELETE' then
    perform stored_bytes_add(array_agg(account_id), array_agg(-coalesce(bytes, 0)))
    from old_rows where coalesce(bytes, 0) <> 0 having count(*) > 0;
  else
    perform stored_bytes_add(array_agg(changed.account_id), array_agg(changed.size)) from (
      select account_id, sum(size) as size from (
        select account_id, coalesce(bytes, 0) as size from new_rows
        union all
        select account_id, -coalesce(bytes, 0) from old_rows
      ) signed group by account_id having sum(size) <> 0
    ) changed having count(*) > 0;
  end if;
  return null;
end $$;
