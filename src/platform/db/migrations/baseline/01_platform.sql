-- Platform: the clock, the cache versions, and the processes that share the database.

-- The platform clock: the database clock plus the offset that the sandbox may set.
create table clock (
  single boolean primary key default true check (single),
  offset_seconds bigint not null default 0
);
insert into clock default values;

create function app_now() returns timestamptz language sql stable
as $$ select now() + make_interval(secs => (select offset_seconds from clock)) $$;

-- Versions of what processes cache. A process drops its copy within a second of a higher version.
create table changes (
  topic text primary key,
  version bigint not null default 1
);

-- Values that the installation stores about itself, such as the fingerprint of its master key.
create table installation_state (
  name text primary key,
  value jsonb not null
);

-- Processes that use this database, for settings that all of them must share. A row is valid while `seen_at` (real
-- clock) is recent.
create table processes (
  id uuid primary key,
  -- Null when unknown at the start: any free port.
  public_url text,
  media_store text not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  -- Distinguishes a missing worker from one that does not answer.
  roles text[] not null default '{}'
) with (fillfactor = 50);
