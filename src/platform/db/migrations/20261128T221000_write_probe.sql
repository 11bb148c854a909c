-- compatible: 20261128T000000_baseline
--
-- The one row that /readyz writes to prove that the database takes writes: see write-probe.ts.
create table write_probe (
  id boolean primary key default true check (id),
  written_at timestamptz not null
) with (fillfactor = 50);

-- The id in the folder of files, so that processes notice when one setting leads to different folders. Null: a bucket, or
-- a process of an earlier version.
alter table processes add column media_folder text;
