-- Ids that were told of a message before it was known to be the one that was being sent: it answers to them for good.
create table msgapp_aliases (
  account_id uuid not null,
  id uuid not null,
  message_id uuid not null,
  primary key (account_id, id)
);
