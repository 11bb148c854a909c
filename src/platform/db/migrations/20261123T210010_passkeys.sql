-- Passkeys of persons (W3C WebAuthn, level 3). Times are real.
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
