-- compatible: no
--
-- Recordings have ids: a call may have several. A recording from before has the id of its call, so its file, its object in
-- the store, the place that its encryption names and its links stay as they are. Not compatible: the last release looks for
-- the files of new recordings under their calls.
alter table call_recordings add column id uuid;
update call_recordings set id = call_id;
alter table call_recordings alter column id set not null,
  drop constraint call_recordings_pkey, add primary key (account_id, id);
create index call_recordings_by_call on call_recordings (account_id, call_id);
