-- When a recording was last tried to be mended or deleted, by the real time: what does not succeed goes to the end of the line.
alter table call_recordings add column tried_at timestamptz;
