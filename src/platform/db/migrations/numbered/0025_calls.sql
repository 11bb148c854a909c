-- Calls: one row each, from the attempt on. It is journalled while it lasts, so that after a crash it is closed at its last beat.
create table calls (
  account_id uuid not null references accounts,
  id uuid not null,
  -- The session's identifier at whoever carries it.
  callid text not null,
  direction text not null check (direction in ('O', 'I')),
  -- Who placed or took it in a browser.
  user_id uuid,
  -- Of inbound calls: E.164, or the id of a network.
  from_number text,
  to_number text not null,
  iso_country_code text not null,
  status text not null,
  end_reason text,
  is_msgapp boolean not null,
  is_trunk boolean not null,
  caller_id uuid,
  caller_id_used text not null,
  virtual_number_id uuid,
  toll_free boolean not null default false,
  -- USD a minute at its beginning; and the minutes that are held for it.
  rate numeric(18, 6) not null default 0,
  hold_id uuid,
  held_minutes integer not null default 0,
  -- The platform's time of the last beat, and the real one: whether a process still runs it is no matter of the sandbox's clock.
  beat_at timestamptz not null default app_now(),
  alive_at timestamptz not null default now(),
  answered_at timestamptz,
  ended_at timestamptz,
  -- Seconds talked, and seconds paid.
  duration integer not null default 0,
  billed integer not null default 0,
  price numeric(18, 6) not null default 0,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  primary key (account_id, id)
) with (fillfactor = 85);
create index calls_by_time on calls (account_id, created_at desc, id desc);
create index calls_open on calls (alive_at) where ended_at is null;
