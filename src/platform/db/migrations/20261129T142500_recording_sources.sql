-- compatible: 20261128T000000_baseline
--
-- How a recording began. record, record_call: a verb of a program. dial: a dialled call is recorded. order: the request that
-- made the call. command: a request during the call. call: a setting, or the telephone of a user. Null: from before.
alter table call_recordings add column source text
  check (source in ('record', 'record_call', 'dial', 'order', 'command', 'call'));
