-- Where a recording is: on the disk of the process that made it, in the store as well, or in the store alone.
alter table call_recordings add column kept text not null default 'disk' check (kept in ('disk', 'both', 'store'));
create index call_recordings_to_move on call_recordings (tried_at nulls first) where ready_at is not null and kept <> 'store';
