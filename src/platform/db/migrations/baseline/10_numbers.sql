-- The number catalogue, the inventory, suppliers, and the numbers that accounts own.

-- The catalogue, shared by all accounts, imported from its files and from suppliers. Names are stored as written, and
-- folded (lower case, no accents) for search.
create table number_countries (
  iso_country_code text primary key,
  name text not null,
  -- The calling code, without `+`.
  prefix text not null,
  -- A name of the tz database: the zone in which most people live. A group without a zone has that of its country.
  timezone text
);

-- Regions; a region of England has England as its `parent_id`.
create table number_regions (
  id integer primary key,
  iso_country_code text not null,
  code text not null,
  name text not null,
  folded text not null,
  parent_id integer
);
create index number_regions_by_country on number_regions (iso_country_code, folded);

create table number_cities (
  id integer primary key,
  iso_country_code text not null,
  region_id integer,
  name text not null,
  folded text not null
);
create index number_cities_by_country on number_cities (iso_country_code, folded);

-- Ids of cities that only suppliers know. Catalogue cities have GeoNames ids, which are below 20 million.
create sequence number_city_ids as integer start 1500000000;

create table number_groups (
  id text primary key,
  iso_country_code text not null,
  type text not null check (type in ('global', 'local', 'mobile', 'national', 'sharedcost', 'tollfree')),
  prefix text not null,
  location text not null,
  region_id integer,
  city_id integer,
  -- The folded names of the location and of its city, for search.
  folded text not null,
  setup_price numeric(18, 6) not null check (setup_price >= 0),
  monthly_price numeric(18, 6) not null check (monthly_price >= 0),
  ppm numeric(18, 6) not null check (ppm >= 0),
  allow_number_selection boolean not null,
  is_eligible_for_free_number boolean not null,
  supplier text not null,
  -- False once the supplier no longer has the group: sold numbers remain, and no more are sold.
  offered boolean not null default true,
  timezone text,
  -- Features of its numbers where they differ from the rule.
  features text[],
  -- Whether the supplier asks for a registration; null: number_requirements decides.
  needs_registration boolean
);
create index number_groups_by_country on number_groups (iso_country_code, type, location) where offered;

-- How many numbers of a group are free, so that a search has constant cost. Written last in a transaction, because
-- all buyers from the group wait for the row.
create table number_stock (
  group_id text primary key,
  free bigint not null check (free >= 0)
) with (fillfactor = 50);

-- Requirements of regulators. Each row names its source and the day on which it was read.
create table number_requirements (
  id integer primary key,
  iso_country_code text not null,
  type text not null,
  kind text not null check (kind in ('identity', 'address', 'proof')),
  description text not null,
  documents text[] not null,
  source text not null,
  source_date date not null
);
create index number_requirements_by_country on number_requirements (iso_country_code, type);

-- The inventory. `shuffle` is a random position: a random free number is the next one after another random position.
-- No foreign keys, which would double the time of an import of millions.
create table numbers (
  number text primary key,
  group_id text not null,
  state text not null default 'free' check (state in ('free', 'held', 'owned', 'quarantine', 'withdrawn')),
  shuffle integer not null,
  -- The account that holds or owns the number.
  account_id uuid,
  -- When its quarantine ends.
  rests_until timestamptz,
  -- The connection that the number comes from; null: our own.
  supplier_id uuid,
  -- A number withdrawn by itself stays withdrawn when its group is restored.
  withdrawn_individually boolean not null default false,
  check ((state in ('held', 'owned')) = (account_id is not null)),
  check ((state = 'quarantine') = (rests_until is not null))
) with (fillfactor = 85);
create index numbers_free on numbers (group_id, shuffle) include (number) where state = 'free';
-- Numbers that are not free are few among many; operators search them.
create index numbers_not_free on numbers (state, number) where state <> 'free';
create index numbers_by_group on numbers (group_id, number);

-- Imports of numbers and their progress. `touched_at` is real time: an import that no process continues is over.
create table number_imports (
  id uuid primary key,
  state text not null default 'reading' check (state in ('reading', 'importing', 'done', 'refused', 'failed')),
  dry_run boolean not null,
  lines integer not null default 0,
  bad_lines integer not null default 0,
  imported integer not null default 0,
  groups integer not null default 0,
  -- The first of the bad lines.
  faults jsonb not null default '[]',
  created_at timestamptz not null default app_now(),
  touched_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
);

-- Lines that were read and are not in the inventory yet. Unlogged, as a crash ends the import. The key finds numbers
-- that occur twice in a file.
create unlogged table number_import_lines (
  import_id uuid not null,
  number text not null,
  line integer not null,
  group_no integer not null,
  primary key (import_id, number)
);

-- Prices of numbers from a time on. Among the matching prices in force, one that names the group wins, else the longest
-- prefix; without a match the group has the price of its supplier.
create table number_prices (
  iso_country_code text not null,
  type text not null,
  -- Leading digits of the group's prefix; '' for every group.
  prefix text not null default '' check (prefix ~ '^[0-9]*$'),
  -- '' for every group.
  group_id text not null default '',
  setup_price numeric(18, 6) not null check (setup_price >= 0),
  monthly_price numeric(18, 6) not null check (monthly_price >= 0),
  ppm numeric(18, 6) not null check (ppm >= 0),
  effective_at timestamptz not null default app_now(),
  primary key (iso_country_code, type, prefix, group_id, effective_at),
  check (prefix = '' or group_id = '')
);

-- The current price of each group.
create view number_group_prices as
select g.id, coalesce(p.setup_price, g.setup_price) as setup_price,
  coalesce(p.monthly_price, g.monthly_price) as monthly_price, coalesce(p.ppm, g.ppm) as ppm
from number_groups g
left join lateral (
  select n.setup_price, n.monthly_price, n.ppm from number_prices n
  where n.iso_country_code = g.iso_country_code and n.type = g.type
    and (n.group_id = g.id or n.group_id = '' and starts_with(g.prefix, n.prefix))
    and n.effective_at <= (select app_now())
  order by n.group_id <> '' desc, length(n.prefix) desc, n.effective_at desc limit 1
) p on true;

-- Connections to number suppliers. Their groups are in number_groups (`supplier` is the connection's id) and are
-- refreshed periodically. Their numbers are in `numbers` only while an account holds or owns them.
create table suppliers (
  connection_id uuid primary key,
  -- The last time at which the whole catalogue was read, and the last error.
  synced_at timestamptz,
  error text
);

create table supplier_groups (
  group_id text primary key,
  connection_id uuid not null,
  -- The supplier's ids of the group and of the offer.
  external_id text not null,
  sku text not null,
  -- The supplier's prices, before the operator's markup.
  setup_cost numeric(18, 6) not null,
  monthly_cost numeric(18, 6) not null,
  -- The features and the registration in the supplier's terms.
  features text[] not null,
  registration text,
  seen_at timestamptz not null
);
create index supplier_groups_by_connection on supplier_groups (connection_id, seen_at);

create table reservations (
  account_id uuid not null references accounts,
  id uuid not null,
  number text not null,
  group_id text not null,
  state text not null default 'active' check (state in ('active', 'purchased', 'cancelled', 'expired')),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- The supplier's ids of the number and of its reservation. The latter may be missing: a supplier reserves few at a
  -- time.
  supplier_number text,
  supplier_reservation text,
  primary key (account_id, id)
);

-- At most one holder of a number.
create unique index reservations_active on reservations (number) where state = 'active';
create index reservations_by_account on reservations (account_id, created_at, id) where state = 'active';

-- Numbers that accounts own or owned.
create table virtual_numbers (
  account_id uuid not null references accounts,
  id uuid not null,
  voip_number_setup_id bigint generated always as identity,
  number text not null,
  group_id text not null,
  iso_country_code text not null,
  region_name text not null,
  type text not null,
  friendly_name text not null,
  record_inbound boolean not null default false,
  timezone text not null default 'UTC',
  -- The user whose browser rings when the number is called.
  inbound_user_id uuid,
  monthly_price numeric(18, 6) not null,
  ppm numeric(18, 6) not null,
  status_text text not null
    check (status_text in
      ('ACTIVE', 'AWAITING_REGISTRATION', 'PENDING_ACTIVATION', 'SUSPENDED', 'PENDING_CANCELLATION', 'RELEASED')),
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  -- End of the paid month.
  expires_at timestamptz not null,
  released_at timestamptz,
  -- When its first paid month began. Later months count from here: a number of the 31st does not stay on the 28th
  -- after its first February.
  months_from timestamptz not null default app_now(),
  primary key (account_id, id),
  check ((status_text = 'RELEASED') = (released_at is not null))
);
create index virtual_numbers_by_account on virtual_numbers (account_id, created_at, id) where released_at is null;
-- At most one owner of a number; calls find the owner by it.
create unique index virtual_numbers_in_use on virtual_numbers (number) where released_at is null;

-- The owner of a number at a given time: the sandbox shows an account only what arrived while it owned the number.
create index virtual_numbers_by_number on virtual_numbers (number, id);
-- Operators list the numbers of all accounts, newest purchase first: ids ascend with time.
create index virtual_numbers_by_id on virtual_numbers (id) where released_at is null;
create index virtual_numbers_by_account_and_id on virtual_numbers (account_id, id) where released_at is null;
create index virtual_numbers_by_country on virtual_numbers (iso_country_code, id) where released_at is null;
create index virtual_numbers_by_status on virtual_numbers (status_text, id) where released_at is null;

-- Orders at suppliers. The supplier receives the id as our reference. `wanted`: the order was not sent, or did not
-- arrive; `sending`: it may have arrived and is looked up before it is sent again; `ordered`: the supplier has it;
-- `completed` and `failed` are final, in one transaction with the number and the money.
create table number_orders (
  account_id uuid not null references accounts,
  id uuid not null,
  connection_id uuid not null,
  group_id text not null,
  sku text not null,
  -- The ordered item: {"reservation": …}, {"number": …}, or {} for any number of the group.
  item jsonb not null,
  -- Known from the beginning, or from the delivery on.
  number text,
  virtual_number_id uuid,
  friendly_name text,
  -- The money held until the end.
  hold_id uuid not null,
  amount numeric(18, 6) not null,
  -- The Idempotency-Key of the request; `request_digest` is the digest of its body.
  request_key text,
  job_id uuid not null,
  state text not null default 'wanted' check (state in ('wanted', 'sending', 'ordered', 'completed', 'failed')),
  -- The supplier's ids of the order and of the number.
  external_id text,
  delivery_id text,
  reason text,
  sent_at timestamptz,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  request_digest bytea,
  -- Answers for the registration of the number: [{requirement, document, sealed}], sealed in base64. Its registration
  -- begins with the delivery.
  answers jsonb not null default '[]',
  primary key (account_id, id)
);
create unique index number_orders_by_request on number_orders (account_id, request_key) where request_key is not null;
create index number_orders_by_virtual_number on number_orders (account_id, virtual_number_id);
create index number_orders_by_external on number_orders (connection_id, external_id) where external_id is not null;
create index number_orders_open on number_orders (connection_id) where state in ('wanted', 'sending', 'ordered');

-- Suspended numbers, with the state that each returns to. A row exists while the suspension lasts.
create table number_suspensions (
  account_id uuid not null,
  virtual_number_id uuid not null,
  -- `registration`: the requirements were not met in time; `operator`: an operator decided so.
  cause text not null check (cause in ('registration', 'operator')),
  reason text not null,
  status_text text not null,
  supports_sms_in boolean not null default false,
  supports_sms_out boolean not null default false,
  created_at timestamptz not null default app_now(),
  primary key (account_id, virtual_number_id),
  foreign key (account_id, virtual_number_id) references virtual_numbers
);

-- The regulator's requirements for the owner of a number, and their state: one for each number of a country and type
-- that has requirements.
create table registrations (
  account_id uuid not null,
  virtual_number_id uuid not null,
  state text not null default 'awaiting' check (state in ('awaiting', 'approved', 'refused')),
  -- Why it was refused.
  reason text,
  -- When the number is suspended if an answer is still missing.
  due_at timestamptz not null,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  primary key (account_id, virtual_number_id),
  foreign key (account_id, virtual_number_id) references virtual_numbers,
  check ((state = 'refused') = (reason is not null))
);

-- Operators name a number without its account.
create unique index registrations_by_number on registrations (virtual_number_id);
create index registrations_by_state on registrations (state, created_at, virtual_number_id);
-- Operators: registrations of every state; numbers of a group, in their order; numbers sold to an account, in a
-- country, or in a state.
create index registrations_by_time on registrations (created_at, virtual_number_id);

-- The answer to each requirement: a document, or sealed text such as an address or a passport number.
create table registration_answers (
  account_id uuid not null,
  virtual_number_id uuid not null,
  requirement_id integer not null,
  document_id uuid,
  sealed_value bytea,
  primary key (account_id, virtual_number_id, requirement_id),
  foreign key (account_id, document_id) references documents on delete cascade,
  foreign key (account_id, virtual_number_id) references registrations on delete cascade,
  check ((document_id is null) <> (sealed_value is null))
);
create index registration_answers_by_document on registration_answers (account_id, document_id);

-- Numbers that an operator has granted to an account without further proof.
create table number_grants (
  account_id uuid not null references accounts,
  phone_number text not null,
  note text not null default '',
  created_at timestamptz not null default app_now(),
  primary key (account_id, phone_number)
);
create index number_grants_by_number on number_grants (phone_number);
