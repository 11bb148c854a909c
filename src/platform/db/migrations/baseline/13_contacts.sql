-- The contact directory of each account.

-- The beginning of the name in the order of lists: without case and accents. Contacts with equal keys may be one person
-- twice. An entry of an index has at most 2,700 bytes, and some characters become 18.
create function contacts_name_key(first_name text, last_name text) returns text language sql immutable strict parallel safe
set jit = off
as $$
  select left(lower(regexp_replace(normalize(btrim(first_name || ' ' || last_name), NFKD), '[\u0300-\u036f]', '', 'g')), 100)
$$;

create table contacts (
  account_id uuid not null references accounts,
  id uuid not null,
  first_name text not null,
  last_name text not null,
  profile_pic_url text,
  -- A messaging channel whose address book has the contact too, and the state of that copy; null: none.
  channel_id uuid,
  sync_state text check (sync_state in ('queued', 'synced', 'failed', 'not_supported')),
  sync_error text,
  synced_at timestamptz,
  -- Hashes of the account and of parts of names, numbers and addresses.
  grams integer[] not null,
  -- The text that a search compares: the digits of its numbers and its e-mail addresses, each after a space.
  numbers text not null default '',
  emails text not null default '',
  created_at timestamptz not null,
  updated_at timestamptz,
  -- Null: not blocked.
  blocked_at timestamptz,
  primary key (account_id, id)
);

-- Without a list of pending entries, which every search would have to read.
create index contacts_by_gram on contacts using gin (grams) with (fastupdate = off);
create index contacts_by_channel on contacts (account_id, channel_id, id) where channel_id is not null;

-- Statistics of hashes help no plan.
alter table contacts alter column grams set statistics 0;
create index contacts_by_name on contacts (account_id, (contacts_name_key(first_name, last_name) collate "C"), id);
create index contacts_by_channel_and_name
  on contacts (account_id, channel_id, (contacts_name_key(first_name, last_name) collate "C"), id) where channel_id is not null;
create index contacts_blocked on contacts (account_id, id) where blocked_at is not null;
create index contacts_blocked_by_name
  on contacts (account_id, (contacts_name_key(first_name, last_name) collate "C"), id) where blocked_at is not null;

-- Numbers and addresses of contacts.
create table contact_details (
  account_id uuid not null,
  contact_id uuid not null,
  id bigint generated always as identity,
  type text not null check (type in ('E', 'A', 'PH', 'WAPH')),
  value text not null,
  -- Details with equal keys are the same: the number, or the folded e-mail address. Null for details that identify no
  -- person.
  match_key text,
  created_at timestamptz not null,
  updated_at timestamptz,
  primary key (account_id, contact_id, id),
  foreign key (account_id, contact_id) references contacts on delete cascade
);
create index contact_details_by_key on contact_details (account_id, match_key) where match_key is not null;

-- How many contacts an account has: the sum of its rows. Several rows, so that concurrent inserts do not wait for
-- each other.
create table contact_counts (
  account_id uuid not null,
  slot smallint not null,
  contacts bigint not null,
  primary key (account_id, slot)
) with (fillfactor = 50);

-- Imports in progress, by the real clock. A process renews its rows; a row that is not renewed no longer counts.
create unlogged table contact_imports (
  account_id uuid not null,
  id uuid not null,
  renewed_at timestamptz not null default clock_timestamp(),
  primary key (account_id, id)
);

-- Contacts of files that are still being read. Unlogged, as a crash ends the import.
create unlogged table contact_import_entries (
  account_id uuid not null,
  import_id uuid not null,
  line integer not null,
  entry json not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (account_id, import_id, line)
);

-- Adds to or subtracts from the number of contacts. Returns the new number; null, with no change, where it would
-- exceed `most`.
--
-- Inserts far from the limit share a lock, and each adds a row or two before it commits. Near the limit, and for many
-- rows, the lock is exclusive: the sum is then exact, as every other insert has committed. Deletes need no lock. A
-- shared lock that meets the limit after all, because an import ended meanwhile, becomes exclusive; PostgreSQL aborts
-- one of two that do so at once.
create function contacts_adjust_count(account uuid, more bigint, most bigint) returns bigint language plpgsql
set jit = off
as $$
declare
  margin constant bigint := 2000;
  key bigint := hashtextextended('quota contacts', 0) # hashtextextended(account::text, 0);
  total bigint;
begin
  if more > 0 then
    select coalesce(sum(contacts), 0) into total from contact_counts where account_id = account;
    if more = 1 and total + margin <= most then
      perform pg_advisory_xact_lock_shared(key);
      select coalesce(sum(contacts), 0) into total from contact_counts where account_id = account;
    end if;
    if more <> 1 or total + margin > most then
      perform pg_advisory_xact_lock(key);
      select coalesce(sum(contacts), 0) into total from contact_counts where account_id = account;
    end if;
    if total + more > most then return null; end if;
  end if;
  insert into contact_counts as c (account_id, slot, contacts) values (account, pg_backend_pid() % 16, more)
  on conflict (account_id, slot) do update set contacts = c.contacts + excluded.contacts;
  return coalesce(total, 0) + more;
end $$;

-- Contacts that have all hashes of one list, and at least one of each further list. The sample is searched first, and
-- all contacts where it yields too few. The statement is built as text, because a condition without values must not
-- be in the plan. The settings replace what the planner cannot know: how rare a hash is. Materialised, so that the
-- limit does not shape the plan.
create function contacts_search(
  account uuid, whole integer[], one integer[], two integer[], three integer[], sample_whole integer[],
  sample_one integer[], sample_two integer[], sample_three integer[], most integer
) returns table (id uuid, first_name text, last_name text, numbers text, emails text) language plpgsql stable
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
