-- The state of each connection as the processes that run it know it, readable by every process. A row counts while `seen_at` (the
-- real clock) is recent.
create table connection_states (
  connection_id uuid not null references connections (id) on delete cascade,
  process_id uuid not null,
  -- For people: host and process id.
  process text not null,
  state jsonb not null,
  seen_at timestamptz not null default clock_timestamp(),
  primary key (connection_id, process_id)
) with (fillfactor = 50);

-- What a process asks of a connection that another process runs, such as a test. The asker deletes the row.
create table connection_requests (
  id uuid primary key,
  connection_id uuid not null references connections (id) on delete cascade,
  request jsonb not null,
  until timestamptz not null,
  -- The process that took it.
  process text,
  answer jsonb
);

-- So that a missing worker is told from one that does not answer.
alter table processes add column roles text[] not null default '{}';
