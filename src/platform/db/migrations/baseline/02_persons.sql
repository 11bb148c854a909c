-- Persons: people who sign in to the console, their invitations, sessions and second factors. Times are real, as sandbox
-- tenants can move app_now().

-- A person signs in; a user is that person within one account, with a role. An e-mail address is proved when a mail
-- reached it, or an operator vouched for it. Only proved addresses are unique: an account cannot take an address away
-- from its owner.
create table persons (
  id uuid primary key,
  email text not null,
  -- The address in lower case, NFKC.
  email_key text not null,
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
  suspended_at timestamptz,
  -- Cookies of browsers that know the person have this number in their signature: a higher one ends them all.
  browser_epoch integer not null default 0,
  email_proved_at timestamptz
);
create index persons_by_time on persons (created_at, id);
create index persons_by_email on persons (email_key);
create unique index persons_by_proved_email on persons (email_key) where email_proved_at is not null;

-- Links with a token of one use, stored as its SHA-256. `invite`: makes a person, or joins one to an account. `password`:
-- sets a new password. `claim`: makes the first person. `proof`: proves the address of the person. A password link has the
-- account whose administrator made it, if one did.
create table invitations (
  token_hash bytea primary key,
  id uuid not null unique,
  kind text not null check (kind in ('invite', 'password', 'claim', 'proof')),
  account_id uuid,
  user_id uuid,
  person_id uuid,
  -- For a person of the installation: address and rights.
  email text,
  operator text check (operator in ('operator', 'observer')),
  invited_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  used_at timestamptz,
  -- How the link reached its reader. `mail`: only the mailbox of the address has the token. `link`: the caller saw it.
  delivery text not null default 'link' check (delivery in ('link', 'mail'))
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

-- The second factor of a person: the secret of an authenticator app (RFC 6238).
create table person_totp (
  person_id uuid primary key references persons on delete cascade,
  sealed_secret bytea not null,
  -- Null: set up, and no code entered yet.
  activated_at timestamptz,
  -- Time step of the last accepted code: a code counts once.
  last_step bigint not null default 0,
  created_at timestamptz not null default clock_timestamp()
);

-- Codes for a person whose app is lost, stored as their SHA-256. Each works once, and is deleted by its use.
create table recovery_codes (
  person_id uuid not null references person_totp on delete cascade,
  code_hash bytea not null,
  primary key (person_id, code_hash)
);

-- Passkeys of persons (W3C WebAuthn, level 3).
create table passkeys (
  id uuid primary key,
  person_id uuid not null references persons on delete cascade,
  credential_id bytea not null unique,
  -- COSE key.
  public_key bytea not null,
  -- Signatures that the device counted; zero if it does not count.
  sign_count bigint not null,
  transports text[] not null,
  name text not null,
  created_at timestamptz not null default clock_timestamp(),
  used_at timestamptz
);
create index passkeys_by_person on passkeys (person_id, created_at);

-- Challenges that a passkey answered, as their SHA-256: each counts once. Unanswered ones take no row.
create table passkey_challenges (
  digest bytea primary key,
  expires_at timestamptz not null
);
create index passkey_challenges_by_expiry on passkey_challenges (expires_at);

create function has_second_factor(person uuid) returns boolean language sql stable
as $$
  select exists (select from person_totp t where t.person_id = person and t.activated_at is not null)
    or exists (select from passkeys p where p.person_id = person)
$$;
