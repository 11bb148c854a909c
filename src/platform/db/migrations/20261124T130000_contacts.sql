-- Blocked contacts, the order of contacts by name, and messages of blocked contacts.

-- Null: not blocked.
alter table contacts add column blocked_at timestamptz;

-- The beginning of the name in the order of lists: without case and accents. Contacts with equal keys may be one person
-- twice. An entry of an index has at most 2,700 bytes, and some characters become 18.
create function contacts_name_key(first_name text, last_name text) returns text language sql immutable strict parallel safe
set jit = off
as $$
  select left(lower(regexp_replace(normalize(btrim(first_name || ' ' || last_name), NFKD), '[\u0300-\u036f]', '', 'g')), 100)
$$;

create index contacts_by_name on contacts (account_id, (contacts_name_key(first_name, last_name) collate "C"), id);
create index contacts_by_channel_and_name
  on contacts (account_id, channel_id, (contacts_name_key(first_name, last_name) collate "C"), id) where channel_id is not null;
create index contacts_blocked on contacts (account_id, id) where blocked_at is not null;
create index contacts_blocked_by_name
  on contacts (account_id, (contacts_name_key(first_name, last_name) collate "C"), id) where blocked_at is not null;

-- True: the sender was blocked, so the message is in no conversation and had no event.
alter table msgapp_messages add column blocked boolean;
