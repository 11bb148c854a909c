-- Webhooks: who wants to be told of what, what is still to be told, and how that went. `src/webhooks/engine.ts` delivers.

-- As text, so that every attempt sends the same bytes.
alter table events alter column payload type json using payload::json;
-- An event made to try one webhook: nobody else is told of it.
alter table events add column webhook_id uuid;

create table webhooks (
  account_id uuid not null references accounts,
  id uuid not null,
  -- The event's own name; `event_name` is the one by which it was subscribed to, which may be another spelling.
  event text not null,
  event_name text not null,
  -- The second spelling of `msgapp` (TRUNKLINE_MSGAPP_NAME), when it was subscribed in that one.
  msgapp_name text,
  -- The channel as it was named, and the `channel_id` of the events that happen on it: a virtual number and its SMS channel
  -- stand for each other. Null: every channel of the account.
  channel_kind text check (channel_kind in ('WPN', 'DID', 'SMS')),
  channel_id uuid,
  match_id uuid,
  hook_url text not null,
  to_group text,
  time_period text,
  -- Of `time_period`: so long nothing must have been written for a conversation to be new. Null: ever.
  quiet_seconds integer,
  enabled boolean not null default true,
  disabled_reason text check (disabled_reason in ('paused', 'gone', 'failing')),
  sealed_secret bytea not null,
  -- Signs beside the new one until then.
  sealed_previous_secret bytea,
  previous_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, id),
  check (enabled = (disabled_reason is null)),
  check ((channel_kind is null) = (channel_id is null) and (match_id is null) = (channel_id is null))
);
create index webhooks_by_event on webhooks (account_id, event) where enabled and deleted_at is null;
create unique index webhooks_once on webhooks
  (account_id, event_name, msgapp_name, channel_id, md5(hook_url), to_group, time_period) nulls not distinct
  where deleted_at is null;

-- One for each webhook: which process delivers for it (by the real clock, so that a moved one ends no lease), and how its
-- receiver is doing. Apart from `webhooks`, which are read for every event.
create table webhook_lanes (
  account_id uuid not null,
  webhook_id uuid not null,
  owner uuid,
  leased_until timestamptz,
  -- Attempts that failed since the last one that did not.
  failures integer not null default 0,
  failing_since timestamptz,
  succeeded_at timestamptz,
  -- Nothing is attempted before.
  hold_until timestamptz,
  primary key (account_id, webhook_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- An event for a webhook. `tries` is how far it has come on the schedule; `attempts` tells of each call, newest last.
create table webhook_deliveries (
  account_id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,
  conversation text,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  tries smallint not null default 0,
  next_at timestamptz,
  attempts jsonb not null default '[]',
  created_at timestamptz not null,
  primary key (account_id, webhook_id, event_id),
  check ((state = 'pending') = (next_at is not null))
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
create index webhook_deliveries_due on webhook_deliveries (account_id, webhook_id, next_at, event_id) where state = 'pending';
create index webhook_deliveries_again on webhook_deliveries (account_id, webhook_id, next_at)
  where state = 'pending' and tries > 0;

-- The webhooks for which something is due, those whose receivers are well first. Two steps in an index for each webhook
-- that has anything pending, however much that is. Sequential scans are off for the reason told in 0002_jobs.sql.
create function webhooks_due(worker uuid, most integer)
returns table (account_id uuid, webhook_id uuid, failures integer) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  today timestamptz := app_now();
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
    join webhook_lanes l on l.account_id = p.account_id and l.webhook_id = p.webhook_id
    cross join lateral (
      select d.next_at from webhook_deliveries d
      where d.account_id = p.account_id and d.webhook_id = p.webhook_id and d.state = 'pending'
      order by d.next_at limit 1) first
    where first.next_at <= today and (l.hold_until is null or l.hold_until <= today)
      and (l.owner is null or l.owner = worker or l.leased_until < clock_timestamp())
    order by l.failures > 0, first.next_at limit most;
end $$;
