-- The clock of the platform: the database's own, moved forward by what the sandbox asks (platform.md part 4).
create table clock (
  single boolean primary key default true check (single),
  offset_seconds bigint not null default 0
);
insert into clock default values;

create function app_now() returns timestamptz language sql stable
  as $$ select now() + make_interval(secs => (select offset_seconds from clock)) $$;

-- What processes keep in memory and must drop within a second when another one changes it.
create table changes (
  topic text primary key,
  version bigint not null default 1
);

-- Small things that the installation remembers about itself.
create table facts (
  name text primary key,
  value jsonb not null
);

create table accounts (
  id uuid primary key,
  name text not null,
  on_trial boolean not null default false,
  blocked boolean not null default false,
  block_reason text,
  requests_per_minute integer not null,
  max_api_requests bigint,
  max_number_checks bigint,
  a2p_us boolean not null default false,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  expires_at timestamptz
);

-- Rate and usage. `tokens` and `refilled_at` are the token bucket, by the real clock.
create table meters (
  account_id uuid primary key references accounts,
  tokens double precision not null,
  refilled_at timestamptz not null default clock_timestamp(),
  api_requests bigint not null default 0,
  number_checks bigint not null default 0
) with (fillfactor = 50);

-- Keys are kept as SHA-256 only: the secret has 256 bits, so a slow hash would buy nothing.
create table api_keys (
  account_id uuid not null references accounts,
  id uuid not null,
  label text not null,
  hash bytea not null unique,
  last_four text not null,
  created_at timestamptz not null default app_now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  primary key (account_id, id)
);

create table operator_keys (
  id uuid primary key,
  label text not null,
  hash bytea not null unique,
  last_four text not null,
  created_at timestamptz not null default app_now(),
  revoked_at timestamptz
);

create table users (
  account_id uuid not null references accounts,
  id uuid not null,
  first_name text not null,
  last_name text not null,
  email text not null,
  status text not null check (status in ('ACTIVE', 'PENDING_INVITE', 'SUSPENDED', 'DELETED')),
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  primary key (account_id, id)
);
create unique index users_by_id on users (id);

-- The private half is sealed with the installation's master key.
create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  sealed_private bytea not null,
  created_at timestamptz not null default app_now(),
  retired_at timestamptz
);

-- The ledger. A transfer moves money from one book of an account to another, so that every row is double entry by itself
-- and the sum over all books is zero at every moment. Books: `balance` (what the customer may spend), `cash` (what came in
-- from outside), `sms`, `numbers`, `calls` … (what was sold).
create table transfers (
  account_id uuid not null references accounts,
  id uuid not null,
  debit text not null,
  credit text not null,
  amount numeric(18, 6) not null check (amount > 0),
  kind text not null,
  reference text,
  note text,
  created_at timestamptz not null default app_now(),
  primary key (account_id, id),
  check (debit <> credit)
);
create index transfers_by_time on transfers (account_id, created_at desc, id desc);

-- The balance that spending is checked against; always the sum of the account's transfers into and out of `balance`.
create table balances (
  account_id uuid primary key references accounts,
  balance numeric(18, 6) not null default 0
) with (fillfactor = 50);

-- What things cost, by the longest prefix of the destination (digits, no `+`; '' is every destination).
create table prices (
  kind text not null check (kind in ('sms_out', 'sms_in', 'call_out', 'call_in')),
  prefix text not null check (prefix ~ '^[0-9]*$'),
  price numeric(18, 6) not null check (price >= 0),
  effective_at timestamptz not null default app_now(),
  primary key (kind, prefix, effective_at)
);

-- Answers kept for repeated requests, in the transaction of their effect; sealed, because some of them show a secret once.
-- Status and body are null while the first request runs.
create table idempotency (
  account_id uuid not null,
  key text not null,
  method text not null,
  path text not null,
  request_hash bytea not null,
  status smallint,
  sealed_body bytea,
  created_at timestamptz not null default app_now(),
  primary key (account_id, key, method, path)
);
create index idempotency_by_time on idempotency (created_at);

-- Connections to the outside world. Secrets among the settings are sealed and never shown again.
create table connections (
  id uuid primary key,
  kind text not null,
  name text not null unique,
  settings jsonb not null,
  sealed_secrets bytea,
  enabled boolean not null default true,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now()
);
