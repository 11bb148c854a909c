-- Quotas of accounts (src/lib/quotas.ts): what an operator changed, {"webhooks": 500}. Everything else has its default.
alter table accounts add column quotas jsonb not null default '{}';

-- Imports of contacts under way, by the real clock: a process renews its rows, and a row that nobody renewed counts no more.
create unlogged table contact_imports (
  account_id uuid not null,
  id uuid not null,
  renewed_at timestamptz not null default clock_timestamp(),
  primary key (account_id, id)
);

-- Counts contacts that came or went, and returns how many there are; null, with nothing changed, where more than `most` would be.
--
-- Adders far from the limit do not wait for each other: they share a lock, and each adds a row or two before it commits. Near the
-- limit, and for many rows, the lock is exclusive: the sum is then exact, as every other adder has committed. Those that delete need
-- no lock. A share that meets the limit after all, since an import ended in between, becomes exclusive; of two that do so at once
-- PostgreSQL ends one.
create function contacts_count(account uuid, more bigint, most bigint) returns bigint language plpgsql set jit = off
as $$
declare
  margin constant bigint := 2000;
  key bigint := hashtextextended('quota contacts', 0) # hashtextextended(account::text, 0);
  there bigint;
begin
  if more > 0 then
    select coalesce(sum(contacts), 0) into there from contact_counts where account_id = account;
    if more = 1 and there + margin <= most then
      perform pg_advisory_xact_lock_shared(key);
      select coalesce(sum(contacts), 0) into there from contact_counts where account_id = account;
    end if;
    if more <> 1 or there + margin > most then
      perform pg_advisory_xact_lock(key);
      select coalesce(sum(contacts), 0) into there from contact_counts where account_id = account;
    end if;
    if there + more > most then return null; end if;
  end if;
  insert into contact_counts as c (account_id, slot, contacts) values (account, pg_backend_pid() % 16, more)
  on conflict (account_id, slot) do update set contacts = c.contacts + excluded.contacts;
  return coalesce(there, 0) + more;
end $$;

-- Bytes that an account keeps: message media, recordings, documents. The sum of its rows; several, so that transactions that
-- change them at a time seldom wait for each other. Triggers keep them, whatever adds, deletes or ages a file.
create table stored_bytes (
  account_id uuid not null,
  slot smallint not null,
  bytes bigint not null,
  primary key (account_id, slot)
) with (fillfactor = 50);

create function stored_bytes_add(accounts uuid[], sizes numeric[]) returns void language sql
as $$
  insert into stored_bytes as s (account_id, slot, bytes)
  select g.account_id, pg_backend_pid() % 64, sum(g.size)
  from unnest(accounts, sizes) g (account_id, size)
  group by g.account_id having sum(g.size) <> 0 order by g.account_id
  on conflict (account_id, slot) do update set bytes = s.bytes + excluded.bytes
$$;

-- A trigger for each table, by what a row of it counts for. A file of a message counts while it can be read.
do $do$
declare
  stored record;
begin
  for stored in select * from (values
    ('msgapp_media', 'case when key is not null and error is null then coalesce(size, 0) else 0 end'),
    ('call_recordings', 'coalesce(bytes, 0)'),
    ('documents', 'size::bigint')) v (name, size)
  loop
    execute format($make$
      create function %1$s_stored() returns trigger language plpgsql set jit = off as $body$
      begin
        if tg_op = 'INSERT' then
          perform stored_bytes_add(array_agg(account_id), array_agg(%2$s)) from new_rows where (%2$s) <> 0 having count(*) > 0;
        elsif tg_op = 'DELETE' then
          perform stored_bytes_add(array_agg(account_id), array_agg(-(%2$s))) from old_rows where (%2$s) <> 0 having count(*) > 0;
        else
          perform stored_bytes_add(array_agg(c.account_id), array_agg(c.size)) from (
            select account_id, sum(size) as size from (
              select account_id, %2$s as size from new_rows union all select account_id, -(%2$s) from old_rows) b
            group by account_id having sum(size) <> 0) c
          having count(*) > 0;
        end if;
        return null;
      end $body$;
      create trigger %1$s_added after insert on %1$s referencing new table as new_rows
        for each statement execute function %1$s_stored();
      create trigger %1$s_removed after delete on %1$s referencing old table as old_rows
        for each statement execute function %1$s_stored();
      create trigger %1$s_changed after update on %1$s referencing old table as old_rows new table as new_rows
        for each statement execute function %1$s_stored();
    $make$, stored.name, stored.size);
  end loop;
end $do$;

insert into stored_bytes (account_id, slot, bytes)
select account_id, 0, sum(size) from (
  select account_id, size from msgapp_media where key is not null and error is null
  union all select account_id, bytes from call_recordings
  union all select account_id, size from documents
) stored group by account_id having sum(size) <> 0;

-- Events whose deliveries are still to be made: `events_fan_out` makes them at the pace of the account.
create table event_backlog (
  account_id uuid not null,
  name text not null,
  event_id uuid not null,
  primary key (account_id, name, event_id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- A token bucket for each account that had such events, by the real clock. A row is locked by the process that makes deliveries.
create table event_paces (
  account_id uuid primary key,
  tokens double precision not null,
  refilled_at timestamptz not null
) with (fillfactor = 50);

-- As in 0019, but for events that would become many deliveries: those for more than sixteen webhooks, and those of `bulk` work. They go
-- into the backlog, and so do later ones of the same account and name while any of these waits there: what is of one conversation
-- keeps its order. A row without a webhook tells of an account with such events.
drop function events_record;
create function events_record(
  accounts uuid[], ids uuid[], names text[], channels uuid[], conversations text[], to_groups text[], befores timestamptz[],
  webhooks_alone uuid[], payloads text[], bulk boolean default false
) returns table (account_id uuid, webhook_id uuid) language plpgsql set jit = off
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  -- As of this statement too: of two that go by the one's transaction having waited for the other's, the order is that of the ids.
  today timestamptz := app_now() + (clock_timestamp() - now());
  began bigint := extract(epoch from clock_timestamp()) * 1000000;
  made uuid[];
  is_paced boolean;
begin
  select array_agg(case when g.webhook_id is not null then g.id else (
      lpad(to_hex((began + g.n) / 1000), 12, '0') || '7' || lpad(to_hex((began + g.n) % 1000 * 4), 3, '0')
      || substr(g.id::text, 20))::uuid end order by g.n)
  into made
  from unnest(ids, webhooks_alone) with ordinality g (id, webhook_id, n);

  insert into events (account_id, id, name, channel_id, conversation, payload, webhook_id, created_at)
  select g.account_id, g.id, g.name, g.channel_id, g.conversation, replace(g.payload, g.given::text, g.id::text)::json,
    g.webhook_id, today
  from unnest(accounts, made, ids, names, channels, conversations, payloads, webhooks_alone)
    g (account_id, id, given, name, channel_id, conversation, payload, webhook_id);

  is_paced := bulk or exists (select from event_backlog) or exists (
    select from (select distinct g.account_id, g.name from unnest(accounts, names) g (account_id, name)) g
    cross join lateral (
      select from webhooks where account_id = g.account_id and event = g.name and enabled and deleted_at is null
      offset 16 limit 1) w);

  -- Nearly always: no event can become many deliveries, and none has to wait. Apart, since the statement below costs a fifth more.
  if not is_paced then
    return query
      with delivery as (
        insert into webhook_deliveries (account_id, webhook_id, event_id, conversation, next_at, created_at)
        select g.account_id, w.id, g.id, g.conversation, today, today
        from unnest(accounts, made, names, channels, conversations, to_groups, befores, webhooks_alone)
          g (account_id, id, name, channel_id, conversation, to_group, previous_at, webhook_id)
        cross join lateral (
          select id, match_id, to_group, quiet_seconds from webhooks
          where account_id = g.account_id and event = g.name and enabled and deleted_at is null offset 0) w
        where (w.match_id is null or w.match_id = g.channel_id or g.webhook_id is not null)
          and (g.webhook_id is null or g.webhook_id = w.id)
          and (w.to_group is null or w.to_group = g.to_group or g.webhook_id is not null)
          and (g.name <> 'msgapp.conversation.new' or g.previous_at is null
            or g.previous_at <= today - make_interval(secs => w.quiet_seconds))
        returning account_id, webhook_id
      )
      select distinct d.account_id, d.webhook_id from delivery d;
    return;
  end if;

  return query
    with wanted as materialized (
      select g.account_id, g.id, g.name, g.conversation, g.webhook_id as alone, w.id as hook, count(*) over (partition by g.n) as width
      from unnest(accounts, made, names, channels, conversations, to_groups, befores, webhooks_alone) with ordinality
        g (account_id, id, name, channel_id, conversation, to_group, previous_at, webhook_id, n)
      cross join lateral (
        select id, match_id, to_group, quiet_seconds from webhooks
        where account_id = g.account_id and event = g.name and enabled and deleted_at is null offset 0) w
      where (w.match_id is null or w.match_id = g.channel_id or g.webhook_id is not null)
        and (g.webhook_id is null or g.webhook_id = w.id)
        and (w.to_group is null or w.to_group = g.to_group or g.webhook_id is not null)
        and (g.name <> 'msgapp.conversation.new' or g.previous_at is null
          or g.previous_at <= today - make_interval(secs => w.quiet_seconds))
    ), judged as materialized (
      select w.*, w.alone is null and (bulk or w.width > 16 or exists (
        select from event_backlog b where b.account_id = w.account_id and b.name = w.name)) as waits
      from wanted w
    ), delivery as (
      insert into webhook_deliveries (account_id, webhook_id, event_id, conversation, next_at, created_at)
      select j.account_id, j.hook, j.id, j.conversation, today, today from judged j where not j.waits
      returning account_id, webhook_id
    ), later as (
      insert into event_backlog (account_id, name, event_id)
      select distinct j.account_id, j.name, j.id from judged j where j.waits
      returning account_id
    )
    select distinct d.account_id, d.webhook_id from delivery d
    union all
    select distinct l.account_id, null::uuid from later l;
end $$;

-- The accounts behind one with events in the backlog, one step in the index for each.
create function events_behind(behind uuid, most integer) returns setof uuid language sql stable
set enable_seqscan = off set enable_bitmapscan = off
as $$
  with recursive waiting as (
    (select b.account_id from event_backlog b where b.account_id > behind order by b.account_id limit 1)
    union all
    select n.account_id from waiting w cross join lateral (
      select b.account_id from event_backlog b where b.account_id > w.account_id order by b.account_id limit 1) n
  )
  select account_id from waiting limit most
$$;

-- Makes deliveries of an account's events that wait, the oldest of each name in turn: at most `most` rows, and what the account's pace
-- allows. The events of one account are in one process's hands at a time. Delivers to the webhooks that there were at the event.
-- Rows: webhooks that have something to tell; last, without a webhook, the seconds until more may be made, null when nothing waits.
create function events_fan_out(account uuid, rate double precision, burst double precision, most integer)
returns table (webhook_id uuid, wait double precision) language plpgsql set jit = off
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  left_over double precision;
  budget integer;
  told uuid[];
  made integer;
begin
  insert into event_paces (account_id, tokens, refilled_at) values (account, burst, clock_timestamp())
  on conflict (account_id) do nothing;
  select least(burst, p.tokens + rate * extract(epoch from clock_timestamp() - p.refilled_at)::double precision) into left_over
  from event_paces p where p.account_id = account for update skip locked;
  if left_over is null then
    return query select null::uuid, 0.5::double precision;
    return;
  end if;
  if left_over < 1 then
    return query select null::uuid, case when rate > 0 then least(1, (1 - left_over) / rate) else 1 end;
    return;
  end if;
  budget := least(left_over, most);

  with recursive named as (
    (select b.name from event_backlog b where b.account_id = account order by b.name limit 1)
    union all
    select n.name from named w cross join lateral (
      select b.name from event_backlog b where b.account_id = account and b.name > w.name order by b.name limit 1) n
  ), wide as materialized (
    select n.name, (select count(*) from webhooks w
      where w.account_id = account and w.event = n.name and w.enabled and w.deleted_at is null) as hooks
    from named n
  ), oldest as materialized (
    select o.name, o.event_id, o.place from wide w cross join lateral (
      select b.name, b.event_id, row_number() over (order by b.event_id) as place from (
        select name, event_id from event_backlog where account_id = account and name = w.name
        order by event_id limit greatest(1, case when w.hooks = 0 then most else ceil(budget::float8 / w.hooks) end)) b) o
  ), pair as materialized (
    select o.name, o.event_id, o.place, e.conversation, e.created_at, w.id as hook
    from oldest o
    left join lateral (select * from events where account_id = account and id = o.event_id offset 0) e on true
    left join lateral (
      select id, match_id, to_group, quiet_seconds from webhooks
      where account_id = account and event = o.name and enabled and deleted_at is null and created_at <= e.created_at offset 0) w
      on (w.match_id is null or w.match_id = e.channel_id)
        and (w.to_group is null or w.to_group = e.payload ->> 'group_uuid')
        and (o.name <> 'msgapp.conversation.new' or e.payload ->> 'previous_message_at' is null
          or (e.payload ->> 'previous_message_at')::timestamptz <= e.created_at - make_interval(secs => w.quiet_seconds))
  ), counted as materialized (
    select p.name, p.event_id, sum(count(p.hook)) over (order by p.place, p.event_id) - count(p.hook) as before
    from pair p group by p.name, p.event_id, p.place
  ), taken as materialized (
    delete from event_backlog b using counted c
    where c.before < budget and b.account_id = account and b.name = c.name and b.event_id = c.event_id
    returning b.event_id
  ), delivery as (
    insert into webhook_deliveries (account_id, webhook_id, event_id, conversation, next_at, created_at)
    select account, p.hook, p.event_id, p.conversation, p.created_at, p.created_at
    from pair p join taken t on t.event_id = p.event_id where p.hook is not null
    on conflict (account_id, webhook_id, event_id) do nothing
    returning webhook_id
  )
  select array_agg(distinct d.webhook_id), count(*) into told, made from delivery d;

  left_over := left_over - made;
  update event_paces set tokens = left_over, refilled_at = clock_timestamp() where account_id = account;
  return query select t, null::double precision from unnest(told) t;
  return query select null::uuid, case
    when not exists (select from event_backlog b where b.account_id = account) then null
    when left_over >= 1 then 0
    when rate > 0 then least(1, (1 - left_over) / rate) else 1 end;
end $$;
