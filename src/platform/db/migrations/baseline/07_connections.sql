-- Connections to carriers, number suppliers and messaging networks.

-- Connections to the outside. Secret settings are sealed and never shown again.
create table connections (
  id uuid primary key,
  kind text not null,
  name text not null unique,
  settings jsonb not null,
  sealed_secrets bytea,
  enabled boolean not null default true,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  -- Whether every account may use the connection; otherwise only those in connection_accounts.
  shared boolean not null default false
);

-- Accounts that may use a connection which is not shared.
create table connection_accounts (
  account_id uuid not null references accounts,
  connection_id uuid not null references connections on delete cascade,
  primary key (account_id, connection_id)
);
create index connection_accounts_by_connection on connection_accounts (connection_id);

-- Connections with the ids of their accounts.
create view connections_with_accounts as
select c.id, c.kind, c.name, c.settings, c.sealed_secrets, c.enabled, c.shared, c.created_at, c.updated_at,
  array(
    select a.account_id::text from connection_accounts a where a.connection_id = c.id order by a.account_id
  ) as accounts
from connections c;

-- Whether a connection belongs to one account alone. The numbers that its business account lists are then that
-- account's.
create function connection_has_only_account(connection uuid, account uuid) returns boolean language sql stable
as $$
  select exists (select from connections n where n.id = connection and not n.shared)
    and (select array_agg(a.account_id) = array[account] from connection_accounts a where a.connection_id = connection)
$$;

-- The state of each connection as the processes that run it report it. A row is valid while `seen_at` (real clock) is
-- recent.
create table connection_states (
  connection_id uuid not null references connections on delete cascade,
  process_id uuid not null,
  -- Host and process id, for people.
  process text not null,
  state jsonb not null,
  seen_at timestamptz not null default clock_timestamp(),
  primary key (connection_id, process_id)
) with (fillfactor = 50);

-- Requests to the process that runs a connection, such as a test. The requester deletes the row.
create table connection_requests (
  id uuid primary key,
  connection_id uuid not null references connections on delete cascade,
  request jsonb not null,
  until timestamptz not null,
  -- The process that accepted the request.
  process text,
  answer jsonb
);
