-- The second factor of a person: the secret of an authenticator app (RFC 6238). Times are real.
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
