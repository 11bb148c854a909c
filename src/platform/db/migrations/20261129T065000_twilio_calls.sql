-- compatible: no
--
-- Calls that the interface in the shape of Twilio no longer shows. Their rows stay, for prices and the call history.
create table twilio_deleted_calls (
  account_id uuid not null,
  call_id uuid not null,
  deleted_at timestamptz not null default app_now(),
  primary key (account_id, call_id)
);

-- Lists of the recordings of an account, newest first.
create index call_recordings_by_account on call_recordings (account_id, created_at desc, id desc) where ready_at is not null;
