-- compatible: 20261128T000000_baseline
--
-- What a party says to a program is recorded on one channel. Those from before have two.
alter table call_recordings add column channels smallint not null default 2 check (channels in (1, 2));
