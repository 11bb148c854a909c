-- What an account may call, where an operator wants something else than the settings say (null: as they say).
create table call_limits (
  account_id uuid primary key references accounts,
  calls_at_a_time integer,
  attempts_per_minute integer,
  spend_per_day numeric(18, 6),
  -- Leading digits of the destinations that may be called; '' is every one. Null: every one but those that are costly.
  destinations text[]
);

-- What it has called: attempts of a minute, and USD of a day (UTC), by the platform's clock. Its lock makes the calls of an
-- account begin one after the other, so that no limit is passed by several at once.
create table call_meters (
  account_id uuid primary key references accounts,
  minute timestamptz not null,
  attempts integer not null,
  day date not null,
  spent numeric(18, 6) not null default 0
) with (fillfactor = 50);
create index calls_open_by_account on calls (account_id) where ended_at is null;
