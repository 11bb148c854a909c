-- Processes that run on this database, for the settings that all of them must share. A row counts while `seen_at` (the real
-- clock) is recent.
create table processes (
  id uuid primary key,
  -- Null where it is not known at the start: any free port.
  public_url text,
  media_store text not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
