-- Writes events, in the order given, and a delivery for each webhook that wants to hear of them at this moment. `to_groups` is what
-- subscribers may have asked to hear of alone, `webhooks_alone` the webhook of an event that was made for one. Gives the webhooks that
-- have something to tell.
--
-- The functions run by plans that are made once a session and find rows by index, for the reason told in 0002_jobs.sql. The webhooks
-- of each event are looked up by its account and name, whatever the planner believes: a plan that was made once for few webhooks
-- read all of them, of all accounts, for every event (measured with 1,100: 0.9 ms an event, 0.04 ms this way). `offset 0` keeps the
-- planner from turning the join around.
--
-- The ids say which event of a conversation comes first. Their time is this database's, as of the statement that records them:
-- whatever follows from what was committed comes after it, in whichever process and by whichever clock of another machine. A
-- microsecond to each keeps the order in which they were given; their random half is the given one's. An event for one webhook
-- alone keeps the id that its caller knows.
create function events_record(
  accounts uuid[], ids uuid[], names text[], channels uuid[], conversations text[], to_groups text[], befores timestamptz[],
  webhooks_alone uuid[], payloads text[]
) returns table (account_id uuid, webhook_id uuid) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  -- As of this statement too: of two that go by the one's transaction having waited for the other's, the order is that of the ids.
  today timestamptz := app_now() + (clock_timestamp() - now());
  began bigint := extract(epoch from clock_timestamp()) * 1000000;
  made uuid[];
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
end $$;

-- What became of deliveries, those of many webhooks by one statement. What a process does whose lease was lost changes nothing.
-- Each delivery is looked up by its whole key, in the form of 0020: a plan made for a small table, or taken from statistics of a
-- moment ago, read all that a webhook had pending for each row (measured: 60 ms to 1.7 s for 200 rows; this way 16 µs a row, and a
-- loop of single updates 31 µs); one made anew for each batch cost more than the rows of a small one. Pending is what has a
-- `next_at`, by the table's check; by `state` the index of what is due would look as good as the key.
create function webhooks_settle(
  worker uuid, accounts uuid[], webhooks uuid[], events uuid[], whats text[], delays double precision[], tried text[], heads uuid[]
) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set plan_cache_mode = force_generic_plan
as $$
declare
  today timestamptz := app_now();
begin
  update webhook_deliveries d set
    state = case when g.what in ('delivered', 'failed') then g.what else 'pending' end,
    tries = d.tries + case when g.what in ('delivered', 'failed', 'again') then 1 else 0 end,
    next_at = case when g.what = 'called' then d.next_at
      when g.head is not null then coalesce((
        select h.next_at + interval '10 milliseconds' from webhook_deliveries h
        where h.account_id = g.account_id and h.webhook_id = g.webhook_id and h.event_id = g.head), today)
      when g.what in ('again', 'parked') then today + make_interval(secs => g.seconds) end,
    attempts = case when g.attempt is null then d.attempts
      else case when jsonb_array_length(d.attempts) < 20 then d.attempts else d.attempts - 0 end
        || ('{"at":' || to_json(today - make_interval(secs => (g.attempt::json ->> 'latency_ms')::integer / 1000.0))
          || ',' || substr(g.attempt, 2))::jsonb end
  from unnest(accounts, webhooks, events, whats, delays, tried, heads)
    g (account_id, webhook_id, event_id, what, seconds, attempt, head)
  where (d.account_id, d.webhook_id, d.event_id) >= (g.account_id, g.webhook_id, g.event_id)
    and (d.account_id, d.webhook_id, d.event_id) <= (g.account_id, g.webhook_id, g.event_id) and d.next_at is not null
    and (select l.owner from webhook_lanes l where l.account_id = g.account_id and l.webhook_id = g.webhook_id) = worker;
end $$;

-- What is due in lanes, oldest first, but for what is in hand: that stands first in the index, and is read over. Asked again and
-- again: by a plan made anew it cost 0.35 ms of CPU, 0.1 ms this way. Without nested loops the list of what is in hand is hashed;
-- what has to be a loop stays one.
create function webhooks_load(accounts uuid[], webhooks uuid[], mosts integer[], held_webhooks uuid[], held_events uuid[])
returns table (webhook_id uuid, event_id uuid, conversation text, tries smallint, body text) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  today timestamptz := app_now();
begin
  return query
    select d.webhook_id, d.event_id, d.conversation, d.tries, e.payload::text
    from unnest(accounts, webhooks, mosts) w (account_id, webhook_id, most)
    cross join lateral (
      select d.account_id, d.webhook_id, d.event_id, d.conversation, d.tries from webhook_deliveries d
      where d.account_id = w.account_id and d.webhook_id = w.webhook_id and d.state = 'pending' and d.next_at <= today
      order by d.next_at, d.event_id limit w.most
    ) d
    cross join lateral (select payload from events where account_id = d.account_id and id = d.event_id offset 0) e
    where not exists (
      select from unnest(held_webhooks, held_events) h (webhook_id, event_id)
      where h.webhook_id = d.webhook_id and h.event_id = d.event_id)
    order by d.event_id;
end $$;

-- The deliveries of a webhook that wait, or that failed, newest first: often few among many. Those that wait are written here
-- too when they are made, which costs 1 to 2 µs each.
create index webhook_deliveries_pending on webhook_deliveries (account_id, webhook_id, event_id) where state = 'pending';
create index webhook_deliveries_failed on webhook_deliveries (account_id, webhook_id, event_id) where state = 'failed';
