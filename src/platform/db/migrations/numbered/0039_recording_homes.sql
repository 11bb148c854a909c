-- The folder that a recording begins in, by the id that lies in it: only who has that folder can make the recording whole, move it,
-- and delete it. Null until the machine that has the file has found it, of recordings made before folders had ids.
alter table call_recordings add column home uuid;
