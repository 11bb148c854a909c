-- What happened to an account that it can be told of (completions.md part 9): written in the transaction of its cause.
-- `channel_id` is the uuid of the SMS channel, virtual number or messaging-app channel on which it happened, without its
-- prefix; null for what concerns the whole account. Events of one conversation are delivered in their order.
create table events (
  account_id uuid not null,
  id uuid not null,
  name text not null,
  channel_id uuid,
  conversation text,
  payload jsonb not null,
  created_at timestamptz not null,
  primary key (account_id, id)
);
