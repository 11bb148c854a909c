-- Mails of the installation: state, and until their end the sealed values of their template, which hold links.
create table mails (
  id uuid primary key,
  -- Null: a mail of the installation, such as a password link.
  account_id uuid references accounts,
  recipient text not null,
  -- One form of all spellings of the mailbox, for limits.
  recipient_key text not null,
  template text not null,
  -- Null once the mail was sent or has failed.
  sealed_values bytea,
  state text not null default 'queued' check (state in ('queued', 'sent', 'failed')),
  attempts integer not null default 0,
  -- The reply of the server, or the error of the last attempt.
  outcome text,
  created_at timestamptz not null default app_now(),
  ended_at timestamptz
);
create index mails_by_time on mails (created_at, id);
create index mails_by_state on mails (state, created_at, id);
create index mails_by_account on mails (account_id, created_at) where account_id is not null;
create index mails_by_recipient on mails (recipient_key, created_at, id);
