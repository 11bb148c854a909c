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
