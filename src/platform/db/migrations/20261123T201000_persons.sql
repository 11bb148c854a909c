-- People who sign in to the console. A person signs in; a user is that person within one account, with a role. Times are
-- real, as sandbox tenants can move app_now().
create table persons (
  id uuid primary key,
  email text not null,
  -- The address in lower case, NFKC.
  email_key text not null unique,
  name text not null,
  -- PHC string of argon2id. Null: no password yet.
  password_hash text,
  -- Rights in the installation; null for none.
  operator text check (operator in ('operator', 'observer')),
  locale text,
  timezone text,
  preferences jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  suspended_at timestamptz
);
create index persons_by_time on persons (created_at, id);

alter table users add column person_id uuid references persons;
alter table users add column role text not null default 'agent'
  check (role in ('owner', 'admin', 'agent', 'developer', 'billing'));
create index users_by_person on users (person_id) where person_id is not null;

-- Links with a token of one use, stored as its SHA-256. `invite`: makes a person, or joins one to an account. `password`:
-- sets a new password. `claim`: makes the first person.
create table invitations (
  token_hash bytea primary key,
  id uuid not null unique,
  kind text not null check (kind in ('invite', 'password', 'claim')),
  account_id uuid,
  user_id uuid,
  person_id uuid,
  -- For a person of the installation: address and rights.
  email text,
  operator text check (operator in ('operator', 'observer')),
  invited_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index invitations_by_user on invitations (user_id) where user_id is not null;
create index invitations_by_person on invitations (person_id) where person_id is not null;
create index invitations_by_expiry on invitations (expires_at);

-- A signed-in browser. The cookie holds the token, this table its SHA-256.
create table sessions (
  token_hash bytea primary key,
  id uuid not null unique,
  kind text not null check (kind in ('person', 'account-key', 'operator-key')),
  person_id uuid references persons,
  account_id uuid,
  key_id uuid,
  address text not null,
  user_agent text not null,
  created_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  -- When the person last gave the password or key.
  proved_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  revoked_at timestamptz
) with (fillfactor = 70);
create index sessions_by_person on sessions (person_id) where person_id is not null;
create index sessions_by_key on sessions (key_id) where key_id is not null;
create index sessions_by_expiry on sessions (expires_at);

-- `person`: a person within an account. `operator_person`: a person with rights in the installation, acting by them.
-- `visitor`: a refused sign-in.
alter table audit drop constraint audit_actor_kind_check;
alter table audit add constraint audit_actor_kind_check
  check (actor_kind in ('operator', 'api_key', 'system', 'person', 'operator_person', 'visitor')) not valid;
alter table audit add column session_id uuid;
