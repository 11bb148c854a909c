-- Plans of events, deliveries, jobs and the messaging app that depend on no statistics: see 20261123T200000_sms_plans.sql.

-- Records events, as in baseline/06_webhooks.sql.
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

-- Creates deliveries from an account's backlog, as in baseline/06_webhooks.sql.
create or replace function events_fan_out(
  account uuid, rate double precision, burst double precision, most integer
) returns table (webhook_id uuid, wait double precision) language plpgsql
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan
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
    select n.name, (select count(*) from (
      select from webhooks w
      where w.account_id = account and w.event >= n.name and w.event <= n.name and w.enabled and w.deleted_at is null
      order by w.event offset 0) w) as subscribers
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
      where account_id = account and event >= o.name and event <= o.name and enabled and deleted_at is null
        and created_at <= e.created_at
      order by event offset 0) w
      on (w.match_id is null or w.match_id = e.channel_id)
        and (w.to_group is null or w.to_group = e.payload ->> 'group_uuid')
        and (o.name <> 'msgapp.conversation.new' or e.payload ->> 'previous_message_at' is null
          or (e.payload ->> 'previous_message_at')::timestamptz
            <= e.created_at - make_interval(secs => w.quiet_seconds))
  ), counted as materialized (
    select p.name, p.event_id, sum(count(p.hook)) over (order by p.place, p.event_id) - count(p.hook) as before
    from pair p group by p.name, p.event_id, p.place
  ), dequeued as materialized (
    delete from event_backlog b using (
      select x.place from counted c cross join lateral (
        select ctid as place from event_backlog
        where account_id = account and name = c.name and event_id >= c.event_id and event_id <= c.event_id
        order by event_id limit 1) x
      where c.before < budget offset 0) f
    where b.ctid = f.place
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

-- Records the results of attempts, as in baseline/06_webhooks.sql. Measured on PostgreSQL 15 with 15,000 deliveries of a
-- webhook: 3 blocks for each row instead of 163. A delivery that another transaction changed meanwhile fails the
-- statement, which the caller repeats.
create or replace function webhooks_record_attempts(
  worker uuid, accounts uuid[], webhooks uuid[], events uuid[], whats text[], delays double precision[], tried text[],
  heads uuid[]
) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  platform_now timestamptz := app_now();
  expected bigint;
  changed bigint;
begin
  with found as materialized (
    select g.*, p.place
    from unnest(accounts, webhooks, events, whats, delays, tried, heads)
      g (account_id, webhook_id, event_id, what, seconds, attempt, head)
    cross join lateral (
      select ctid as place, next_at from webhook_deliveries
      where account_id = g.account_id and webhook_id = g.webhook_id and event_id >= g.event_id
        and event_id <= g.event_id
      order by event_id limit 1) p
    where p.next_at is not null
      and (select l.owner from webhook_endpoint_leases l where l.account_id = g.account_id
        and l.webhook_id = g.webhook_id) = worker
  ), written as (
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
    from found g where d.ctid = g.place and d.next_at is not null
    returning 1
  )
  select (select count(distinct g.place) from found g), (select count(*) from written) into expected, changed;
  if expected > changed then
    raise exception 'a delivery changed meanwhile' using errcode = 'serialization_failure';
  end if;
end $$;

-- Makes jobs due now that wait for one of the given events.
create or replace function jobs_promote(of_kind text, waits text[]) returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set enable_incremental_sort = off set jit = off
as $$
declare
  promoted integer;
begin
  update jobs set run_at = app_now(), waits_for = null
  where leased_until is null and id = any (array(
    select j.id from unnest(waits) w (name)
    cross join lateral (
      select id from jobs where kind = of_kind and waits_for >= w.name and waits_for <= w.name and leased_until is null
      order by waits_for offset 0) j));
  get diagnostics promoted = row_count;
  return promoted;
end $$;

-- Unparks jobs that no other job of their key blocks, as in baseline/04_jobs.sql.
create or replace function jobs_unpark_missed() returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  heads uuid[];
  unparked integer;
begin
  with recursive head as (
    (select j.kind, j.key, j.id from jobs j where j.parked order by j.kind, j.key, j.id limit 1)
    union all
    select n.kind, n.key, n.id from head h cross join lateral (
      select j.kind, j.key, j.id from jobs j where j.parked and (j.kind, j.key) > (h.kind, h.key)
      order by j.kind, j.key, j.id limit 1) n
  )
  select array_agg(h.id) into heads from head h
  where not exists (select from jobs b where b.kind = h.kind and b.key = h.key and b.id < h.id)
    and not exists (select from jobs b where b.kind = h.kind and b.key = h.key and b.leased_until is not null);
  update jobs set parked = false where id = any (heads) and parked;
  get diagnostics unparked = row_count;
  return unparked;
end $$;
