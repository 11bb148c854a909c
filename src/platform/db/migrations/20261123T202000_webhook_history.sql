-- The time of the last disabling or pause. It stays when the webhook is enabled again: a replay begins there.
alter table webhooks add column disabled_at timestamptz;
update webhooks set disabled_at = updated_at where not enabled;

-- The newest replay of each webhook.
create table webhook_replays (
  account_id uuid not null,
  webhook_id uuid not null,
  id uuid not null,
  since timestamptz not null,
  until timestamptz not null,
  resends_all boolean not null,
  sent integer not null default 0,
  -- Time of the last event that was looked at.
  reached_at timestamptz,
  started_at timestamptz not null,
  finished_at timestamptz,
  primary key (account_id, webhook_id)
);

-- Attempts of a webhook by hour. `latencies` counts them by duration: src/domains/webhooks/history/latencies.ts has the
-- bounds. A narrow row for each hour with a call, so that statistics never read the deliveries.
create table webhook_stats (
  account_id uuid not null,
  webhook_id uuid not null,
  hour timestamptz not null,
  delivered integer not null,
  failed integer not null,
  latencies integer[] not null,
  primary key (account_id, webhook_id, hour)
) with (fillfactor = 70);
create index webhook_stats_by_hour on webhook_stats (hour);
