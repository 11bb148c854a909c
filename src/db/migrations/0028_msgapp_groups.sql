-- What was done within the last minute, as src/msgapp/checks/window.ts reads it: Unix milliseconds, and how many at each.
alter table msgapp_budgets drop column tokens, drop column at;
alter table msgapp_budgets
  add column times double precision[] not null default '{}',
  add column counts integer[] not null default '{}';

-- A batch of checks: `results` has an entry for each number that was checked.
alter table msgapp_batches add column extra boolean not null default false;

-- What networks told of groups: what comes twice is kept once.
create table msgapp_group_events (
  channel_id uuid not null,
  network_id text not null,
  created_at timestamptz not null,
  primary key (channel_id, network_id)
);
create index msgapp_group_events_by_time on msgapp_group_events (created_at);
