-- Whether the file of a recording is encrypted: see src/lib/encrypted-file.ts.
alter table call_recordings add column encrypted boolean not null default false;
