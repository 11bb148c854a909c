-- compatible: 20261128T000000_baseline
--
-- Upgrades without a stop: a migration says which processes bear it, and each process says which schema it knows.

-- The migrations that processes of an earlier version bear. `since`: a process must know this one.
create table schema_compatibility (
  name text primary key,
  since text not null
);

-- Null in the rows of earlier versions. `newest_migration`: the newest that the process knows.
alter table processes
  add column version text,
  add column host text,
  add column pid integer,
  add column newest_migration text;
