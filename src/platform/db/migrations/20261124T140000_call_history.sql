-- Quality of each side of a call: {"caller": {mos, loss_percent, jitter_ms, round_trip_ms}, "callee": …}.
alter table calls add column quality jsonb;

-- Filters of the call history. As before, the indexes contain calls that have ended.
create index calls_by_user on calls (account_id, user_id, created_at desc, id desc)
  where user_id is not null and ended_at is not null;
create index calls_by_other_number on calls
  (account_id, (case direction when 'O' then to_number else from_number end), created_at desc, id desc)
  where ended_at is not null;
create index calls_by_own_number on calls
  (account_id, (case direction when 'O' then caller_id_used else to_number end), created_at desc, id desc)
  where ended_at is not null;
create index calls_recorded on calls (account_id, created_at desc, id desc) where recorded_at is not null;
