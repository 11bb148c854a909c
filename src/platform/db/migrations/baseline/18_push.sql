-- Pages of members that are open. Unlogged: after a crash every page reports again within seconds.
create unlogged table presences (
  account_id uuid not null,
  socket_id uuid not null,
  user_id uuid not null,
  person_id uuid not null,
  -- The conversation that the page shows, and until when that counts without a further report.
  conversation_id uuid,
  state text check (state in ('viewing', 'typing')),
  until timestamptz,
  -- When the page was last visible; null if it never was.
  visible_at timestamptz,
  updated_at timestamptz not null,
  primary key (account_id, socket_id)
);
create index presences_by_conversation on presences (account_id, conversation_id) where conversation_id is not null;
create index presences_by_person on presences (person_id);

-- Notifications by Web Push. Times are real: push services know no sandbox clock.

-- The key pair of the installation (RFC 8292), made once. Browsers subscribe with its public key.
create table push_keys (
  id smallint primary key default 1 check (id = 1),
  public_key bytea not null,
  sealed_private bytea not null,
  created_at timestamptz not null default clock_timestamp()
);

-- Browsers of persons. The sealed target has the address of the push service and the keys of the browser.
create table push_subscriptions (
  id uuid primary key,
  person_id uuid not null references persons on delete cascade,
  -- The account in which the browser subscribed: its rules for outbound addresses apply.
  account_id uuid not null references accounts,
  -- The session that subscribed: once it is signed out, no more is sent.
  session_id uuid not null,
  sealed_target bytea not null,
  endpoint_hash bytea not null unique,
  user_agent text not null,
  created_at timestamptz not null default clock_timestamp(),
  delivered_at timestamptz,
  failed_at timestamptz,
  failure text
);
create index push_subscriptions_by_person on push_subscriptions (person_id);

-- Conversations and calls whose notification is on its way: the messages of a burst share one.
create table push_pending (
  account_id uuid not null,
  subject_id uuid not null,
  kind text not null,
  primary key (account_id, subject_id, kind)
);

-- Notifications that browsers show, until they are withdrawn.
create table push_shown (
  subscription_id uuid not null references push_subscriptions on delete cascade,
  account_id uuid not null,
  -- A conversation, or a call that rings.
  subject_id uuid not null,
  -- The item that was notified: it is withdrawn once the person has read so far.
  item_id uuid not null,
  shown_at timestamptz not null default clock_timestamp(),
  primary key (subscription_id, subject_id)
);
create index push_shown_by_subject on push_shown (account_id, subject_id);
create index push_shown_by_time on push_shown (shown_at);
