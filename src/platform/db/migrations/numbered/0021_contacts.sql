-- The contact directory of each account.
create table contacts (
  account_id uuid not null references accounts,
  id uuid not null,
  first_name text not null,
  last_name text not null,
  profile_pic_url text,
  -- A channel of the messaging app on whose account the contact is kept too, and how far it is there; null where it is on none.
  channel_id uuid,
  sync_state text check (sync_state in ('queued', 'synced', 'failed', 'not_supported')),
  sync_error text,
  synced_at timestamptz,
  -- What it is found by: hashes of the account and of parts of names, numbers and addresses (src/contacts/keys.ts).
  grams integer[] not null,
  -- What a search looks at, so that one look brings it: the digits of its numbers and its e-mail addresses, each after a space.
  numbers text not null default '',
  emails text not null default '',
  created_at timestamptz not null,
  updated_at timestamptz,
  primary key (account_id, id)
);
-- Without a list of pending entries, which every search would have to walk through.
create index contacts_by_gram on contacts using gin (grams) with (fastupdate = off);
-- Hashes of an account have no common ones that would be worth counting.
alter table contacts alter column grams set statistics 0;
-- The contacts that are kept on the account of a channel too.
create index contacts_by_channel on contacts (account_id, channel_id, id) where channel_id is not null;

create table contact_details (
  account_id uuid not null,
  contact_id uuid not null,
  id bigint generated always as identity,
  type text not null check (type in ('E', 'A', 'PH', 'WAPH')),
  value text not null,
  -- Two details with one key are the same: the number, the folded e-mail address. Null for what says nothing of who it is.
  match_key text,
  created_at timestamptz not null,
  updated_at timestamptz,
  primary key (account_id, contact_id, id),
  foreign key (account_id, contact_id) references contacts on delete cascade
);
create index contact_details_by_key on contact_details (account_id, match_key) where match_key is not null;

-- How many contacts an account has: the sum of its rows. Several, so that those who add at a time do not wait for each other.
create table contact_counts (
  account_id uuid not null,
  slot smallint not null,
  contacts bigint not null,
  primary key (account_id, slot)
) with (fillfactor = 50);

-- Contacts of files that are still being read. Unlogged: they are worth nothing once the import is over, and after a crash
-- it is.
create unlogged table contact_import_entries (
  account_id uuid not null,
  import_id uuid not null,
  line integer not null,
  entry json not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (account_id, import_id, line)
);

-- Contacts that have all of one list of grams, and of each further list one or more: of the sample at most so many and, where
-- these are fewer, of all. Built as text, since a condition that is not there must not be in the plan. The settings are there
-- because the planner knows nothing of how rare a hash is. Materialized, so that it does not plan for the limit either.
create function contacts_found(
  account uuid, whole integer[], one integer[], two integer[], three integer[],
  sample_whole integer[], sample_one integer[], sample_two integer[], sample_three integer[], most integer)
returns table (id uuid, first_name text, last_name text, numbers text, emails text) language plpgsql stable
set enable_seqscan = off set jit = off set max_parallel_workers_per_gather = 0
as $$
declare
  found_ones integer;
  statement text :=
    'with found as materialized (select account_id, id, first_name, last_name, numbers, emails from contacts where '
    || concat_ws(' and ',
      case when cardinality(whole) > 0 then 'grams @> $2' end,
      case when cardinality(one) > 0 then 'grams && $3' end,
      case when cardinality(two) > 0 then 'grams && $4' end,
      case when cardinality(three) > 0 then 'grams && $5' end)
    || ') select id, first_name, last_name, numbers, emails from found where account_id = $1 limit $6';
begin
  return query execute statement using account, sample_whole, sample_one, sample_two, sample_three, most;
  get diagnostics found_ones = row_count;
  if found_ones < most then
    return query execute statement using account, whole, one, two, three, most;
  end if;
end $$;
