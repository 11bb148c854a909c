-- Accounts, users, keys and tokens, request limits, idempotency, and the audit trail.

-- Customers. A closed account stays closed and is blocked too, so every rule for blocked accounts covers it.
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
  expires_at timestamptz,
  -- Quotas that an operator changed, such as {"webhooks": 500}; all others have their default.
  quotas jsonb not null default '{}',
  -- Whether the sandbox has effects for the account.
  sandbox boolean not null default false,
  closed_at timestamptz,
  close_reason text,
  constraint accounts_closed_is_blocked check (closed_at is null or blocked)
);

-- Request limits and usage. `tokens` and `refilled_at` form the token bucket of requests, by the real clock.
create table rate_limit_usage (
  account_id uuid primary key references accounts,
  tokens double precision not null,
  refilled_at timestamptz not null default clock_timestamp(),
  api_requests bigint not null default 0,
  number_checks bigint not null default 0
) with (fillfactor = 50);

-- API keys, stored as SHA-256 only: a secret has 256 bits, so a slow hash adds nothing. Null limits: all scopes, no
-- expiry, every address. `expires_at` is compared with the real clock, which the sandbox does not move.
create table api_keys (
  account_id uuid not null references accounts,
  id uuid not null,
  label text not null,
  hash bytea not null unique,
  last_four text not null,
  created_at timestamptz not null default app_now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  scopes text[],
  expires_at timestamptz,
  allowed_addresses text[],
  primary key (account_id, id)
);

-- Keys of operators, stored as those of accounts.
create table operator_keys (
  id uuid primary key,
  label text not null,
  hash bytea not null unique,
  last_four text not null,
  created_at timestamptz not null default app_now(),
  revoked_at timestamptz,
  role text not null default 'operator' check (role in ('operator', 'observer'))
);

-- Users of an account, who call from browsers.
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

-- Keys that sign voice tokens. The private half is sealed with the master key of the installation.
create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  sealed_private bytea not null,
  created_at timestamptz not null default app_now(),
  retired_at timestamptz
);

-- How often all voice tokens of a user were revoked. Tokens and SIP credentials of an earlier epoch are refused.
create table token_epochs (
  account_id uuid not null,
  user_id uuid not null,
  epoch integer not null,
  primary key (account_id, user_id),
  foreign key (account_id, user_id) references users
);

-- Voice tokens that were revoked one by one, identified by user and expiry (real clock). A row is needed until that
-- expiry. The SIP credentials derived from a token have the same two values.
create table revoked_tokens (
  account_id uuid not null,
  user_id uuid not null,
  expires_at timestamptz not null,
  primary key (account_id, user_id, expires_at),
  foreign key (account_id, user_id) references users
);
create index revoked_tokens_by_expiry on revoked_tokens (expires_at);

-- Browser registrations of a user, counted. The newest one wins, and an older one cannot replace it.
create table device_generations (
  account_id uuid not null,
  user_id uuid not null,
  generation bigint not null,
  primary key (account_id, user_id),
  foreign key (account_id, user_id) references users
) with (fillfactor = 50);

-- Responses stored for repeated requests, in the transaction of their effect. Bodies are sealed because some contain
-- a secret that is shown once. Status and body are null while the first request runs.
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

-- The audit trail: one row for each act of an operator, and for acts of accounts that their contracts mark. Times are
-- real, as sandbox tenants can move app_now(). Rows reference neither accounts nor keys and outlive both.
create table audit (
  -- Null: the act concerns the installation.
  account_id uuid,
  id uuid primary key,
  at timestamptz not null default clock_timestamp(),
  actor_kind text not null check (actor_kind in ('operator', 'api_key', 'system')),
  actor_id uuid,
  actor_label text not null,
  actor_last_four text,
  address text,
  user_agent text,
  request_id text,
  action text not null,
  targets text[] not null,
  changes jsonb not null
);
create index audit_by_time on audit (at desc, id desc);
create index audit_by_account on audit (account_id, at desc, id desc) where account_id is not null;
create index audit_by_actor on audit (actor_id, at desc, id desc);
create index audit_by_action on audit (action, at desc, id desc);
create index audit_by_target on audit using gin (targets);

-- Rejects every change except the deletion of rows older than 30 days, the shortest retention.
create function audit_append_only() returns trigger language plpgsql
set jit = off
as $$
begin
  if tg_op = 'DELETE' and old.at < now() - interval '30 days' then
    return old;
  end if;
  raise exception 'audit is append-only: % refused', tg_op;
end
$$;

create trigger audit_rows_append_only before update or delete on audit
  for each row execute function audit_append_only();
create trigger audit_append_only before truncate on audit for each statement execute function audit_append_only();
