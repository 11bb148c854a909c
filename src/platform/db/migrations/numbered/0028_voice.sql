-- The SIP dialogs of calls that were answered, so that after a crash the other side gets its BYE. Gone when the call ends as it should.
create table call_dialogs (
  account_id uuid not null,
  call_id uuid not null,
  dialogs jsonb not null,
  primary key (account_id, call_id),
  foreign key (account_id, call_id) references calls
);
