-- compatible: 20261128T000000_baseline
--
-- Media streams that were reported as started, until their end is reported. The process that closes the calls of a dead one
-- reports the end of theirs.

-- callback: who gets the report: {url, method, shape, application}.
create table call_streams (
  account_id uuid not null,
  call_id uuid not null,
  id uuid not null,
  name text,
  callback jsonb not null,
  started_at timestamptz not null default app_now(),
  primary key (account_id, call_id, id),
  foreign key (account_id, call_id) references calls
);
