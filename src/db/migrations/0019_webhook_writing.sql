-- Writes events, in the order given, and a delivery for each webhook that wants to hear of them at this moment. `to_groups` is what
-- subscribers may have asked to hear of alone, `webhooks_alone` the webhook of an event that was made for one. Gives the webhooks that
-- have something to tell.
--
-- The functions run by plans that are made once a session and find rows by index, for the reason told in 0002_jobs.sql. The webhooks
-- of each event are looked up by its account and name, whatever the planner believes: a plan that was made once for few webhooks
-- read all of them, of all accounts, for every event (measured with 1,100: 0.9 ms an event, 0.04 ms this way). `offset 0` keeps the
-- planner from turning the join around.
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
-- The plan is made anew each time, and may only look each of them up by its key: one made for a small table, or taken from
-- statistics of a moment ago, read all that a webhook had pending for each row (measured: 60 ms to 1.7 s for 200 rows; this
-- way 16 µs a row, and a loop of single updates 31 µs). Pending is what has a `next_at`, by the table's check; by `state` the
-- index of what is due would look as good as the key.
create function webhooks_settle(
  worker uuid, accounts uuid[], webhooks uuid[], events uuid[], whats text[], delays double precision[], tried text[], heads uuid[]
) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
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
        || (jsonb_build_object('at', today - make_interval(secs => (g.attempt::jsonb ->> 'latency_ms')::integer / 1000.0))
          || g.attempt::jsonb) end
  from unnest(accounts, webhooks, events, whats, delays, tried, heads)
    g (account_id, webhook_id, event_id, what, seconds, attempt, head)
  where d.account_id = g.account_id and d.webhook_id = g.webhook_id and d.event_id = g.event_id and d.next_at is not null
    and (select l.owner from webhook_lanes l where l.account_id = g.account_id and l.webhook_id = g.webhook_id) = worker;
end $$;

-- The deliveries of a webhook that wait, or that failed, newest first: often few among many. Those that wait are written here
-- too when they are made, which costs 1 to 2 µs each.
create index webhook_deliveries_pending on webhook_deliveries (account_id, webhook_id, event_id) where state = 'pending';
create index webhook_deliveries_failed on webhook_deliveries (account_id, webhook_id, event_id) where state = 'failed';
