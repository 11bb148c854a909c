-- Accounts, users, keys and tokens, request limits, idempotency, and the log of requests.

-- Every list reads along an index, and every filter of a tenant's list has one that leads with the account. Decision
-- 0037 names the filters, and the ones that have no index of their own.

-- Parts of up to three characters of a name, without regard to case. A name that contains a text has all of its parts.
create function account_name_grams(name text) returns text[] language sql immutable strict parallel safe
set jit = off
as $$
  select coalesce(array_agg(distinct substr(lower(name), i, n)), '{}')
  from generate_series(1, length(lower(name))) i, generate_series(1, 3) n
$$;

-- The longest parts of a text that a name is searched for. A name that has these has the shorter ones too. The planner takes
-- parts for independent: with all of them it expected 181 accounts where 11,111 matched, and read and sorted those.
create function account_name_terms(part text) returns text[] language sql immutable strict parallel safe
set jit = off
as $$
  select coalesce(array_agg(distinct term), '{}')
  from generate_series(1, greatest(1, length(lower(part)) - 2)) i cross join lateral substr(lower(part), i, 3) term
  where term <> ''
$$;

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
  -- False: agents see only conversations that are theirs, or that have no assignee.
  agents_see_all boolean not null default true,
  -- Whether notifications may name the sender. False: they have a count only.
  push_names boolean not null default false,
  -- True: agents also get the right read_only, so that they see numbers, logs and timelines.
  agents_see_log boolean not null default false,
  -- True: members without an authenticator app or a passkey have no rights in the account until they set one up.
  second_factor_required boolean not null default false,
  -- Outside of these hours browsers get no notifications: {"timezone", "days": [{"day", "from", "until"}]}. Null: none.
  working_hours jsonb,
  -- Days after its last item that an answered conversation is closed. Null: never.
  close_after_days smallint check (close_after_days between 1 and 365),
  constraint accounts_closed_is_blocked check (closed_at is null or blocked)
);
create index accounts_by_time on accounts (created_at, id);
create index accounts_by_name on accounts (lower(name), created_at, id);
create index accounts_by_state on accounts
  ((case when closed_at is not null then 'closed' when blocked then 'blocked' else 'open' end), created_at, id);
create index accounts_by_name_gram on accounts using gin (account_name_grams(name));
create index accounts_by_close_after_days on accounts (id) where close_after_days is not null;

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
  -- The user of the account who made the key in the console. Null: a key, an operator or an earlier version made it.
  made_by uuid,
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

-- Users of an account: members who sign in as a person, and users who only call from browsers.
create table users (
  account_id uuid not null references accounts,
  id uuid not null,
  first_name text not null,
  last_name text not null,
  email text not null,
  status text not null check (status in ('ACTIVE', 'PENDING_INVITE', 'SUSPENDED', 'DELETED')),
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  -- Null: no person.
  person_id uuid references persons,
  role text not null default 'agent' check (role in ('owner', 'admin', 'agent', 'developer', 'billing')),
  -- Whether the user takes conversations and calls, and since when.
  availability text not null default 'available' check (availability in ('available', 'away')),
  availability_since timestamptz,
  primary key (account_id, id)
);
create unique index users_by_id on users (id);
create index users_by_time on users (account_id, created_at, id);
create index users_by_status on users (account_id, status, created_at, id);
create index users_by_person on users (person_id) where person_id is not null;

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

-- Requests of accounts by API key: refused ones, and a sample of the others. Times are those of the machine.
create table api_requests (
  account_id uuid not null,
  id uuid not null,
  at timestamptz not null,
  request_id text not null,
  key_id uuid not null,
  method text not null,
  route text not null,
  status smallint not null,
  error_code text,
  ms integer not null,
  primary key (account_id, id)
);
create index api_requests_by_time on api_requests (at);
