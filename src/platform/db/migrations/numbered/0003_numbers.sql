-- The catalogue: shared by all accounts, imported from src/numbers/catalogue and from suppliers. Names stand here as they
-- are written, and folded (lower case, no accents; src/numbers/rows.ts) for finding.
create table number_countries (
  iso_country_code text primary key,
  name text not null,
  -- The calling code, without `+`.
  prefix text not null
);

-- A region of England is a part of England: `parent_id`.
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

create table number_groups (
  id text primary key,
  iso_country_code text not null,
  type text not null check (type in ('global', 'local', 'mobile', 'national', 'sharedcost', 'tollfree')),
  prefix text not null,
  location text not null,
  region_id integer,
  city_id integer,
  -- The folded names of the location and of its city, for finding.
  folded text not null,
  setup_price numeric(18, 6) not null check (setup_price >= 0),
  monthly_price numeric(18, 6) not null check (monthly_price >= 0),
  ppm numeric(18, 6) not null check (ppm >= 0),
  allow_number_selection boolean not null,
  is_eligible_for_free_number boolean not null,
  supplier text not null,
  -- False once its supplier no longer has it: what was sold stays, and nothing more is.
  offered boolean not null default true
);
create index number_groups_by_country on number_groups (iso_country_code, type, location) where offered;

-- How many numbers of a group are free, so that a search costs the same however many there are. Written last in a
-- transaction, because everybody who buys from the group waits for the row.
create table number_stock (
  group_id text primary key,
  free bigint not null check (free >= 0)
) with (fillfactor = 50);

-- What regulators ask. Each row names its source and the day on which it was read.
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

-- The inventory. `shuffle` is a random place: a free number by chance is the next one after another random place.
-- No foreign keys: they would double the time of an import of millions.
create table numbers (
  number text primary key,
  group_id text not null,
  state text not null default 'free' check (state in ('free', 'held', 'owned', 'quarantine', 'withdrawn')),
  shuffle integer not null,
  -- Who holds or owns it.
  account_id uuid,
  -- When its quarantine ends.
  rests_until timestamptz,
  check ((state in ('held', 'owned')) = (account_id is not null)),
  check ((state = 'quarantine') = (rests_until is not null))
) with (fillfactor = 85);
create index numbers_free on numbers (group_id, shuffle) include (number) where state = 'free';

create table reservations (
  account_id uuid not null references accounts,
  id uuid not null,
  number text not null,
  group_id text not null,
  state text not null default 'active' check (state in ('active', 'purchased', 'cancelled', 'expired')),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (account_id, id)
);
-- One holder at a time, whatever the code does.
create unique index reservations_active on reservations (number) where state = 'active';
create index reservations_by_account on reservations (account_id, created_at, id) where state = 'active';

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
  -- Whose browser rings when the number is called.
  inbound_user_id uuid,
  monthly_price numeric(18, 6) not null,
  ppm numeric(18, 6) not null,
  status_text text not null check (status_text in
    ('ACTIVE', 'AWAITING_REGISTRATION', 'PENDING_ACTIVATION', 'SUSPENDED', 'PENDING_CANCELLATION', 'RELEASED')),
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  -- End of the paid month.
  expires_at timestamptz not null,
  released_at timestamptz,
  primary key (account_id, id),
  check ((status_text = 'RELEASED') = (released_at is not null))
);
create index virtual_numbers_by_account on virtual_numbers (account_id, created_at, id) where released_at is null;
-- One owner at a time, whatever the code does; and calls find whom they are for.
create unique index virtual_numbers_in_use on virtual_numbers (number) where released_at is null;

create table sms_channels (
  account_id uuid not null,
  id uuid not null,
  virtual_number_id uuid not null,
  phone_number text not null,
  friendly_name text not null,
  iso_country_code text not null,
  supports_sms_in boolean not null,
  supports_sms_out boolean not null,
  enabled boolean not null default true,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  primary key (account_id, id),
  foreign key (account_id, virtual_number_id) references virtual_numbers
);
create index sms_channels_by_virtual_number on sms_channels (account_id, virtual_number_id);
create unique index sms_channels_in_use on sms_channels (phone_number) where enabled;

-- What calls may show. `VN` a virtual number of ours, `CI` and `WW` numbers that the account proved to be its own.
create table caller_ids (
  account_id uuid not null references accounts,
  id uuid not null,
  virtual_number_id uuid,
  phone_number text not null,
  friendly_name text not null,
  iso_country_code text not null,
  type text not null check (type in ('VN', 'WW', 'CI')),
  verified boolean not null default false,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  -- Calls of the past still name it.
  removed_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, virtual_number_id) references virtual_numbers
);
create index caller_ids_in_use on caller_ids (account_id, phone_number) where removed_at is null;
