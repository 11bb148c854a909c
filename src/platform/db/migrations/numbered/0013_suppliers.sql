-- Numbers of suppliers elsewhere: connections that sell to us. Their groups stand in number_groups like all others (`supplier`
-- is the connection's id there), and are read anew from time to time; their numbers stand in `numbers` only while
-- somebody here holds or has them.
create table suppliers (
  connection_id uuid primary key,
  -- The last time at which the whole catalogue was read, and what was wrong the last time.
  synced_at timestamptz,
  error text
);

create table supplier_groups (
  group_id text primary key,
  connection_id uuid not null,
  -- The supplier's ids of the group, and of the offer that is sold.
  external_id text not null,
  sku text not null,
  -- What the supplier takes, before the operator's markup.
  setup_cost numeric(18, 6) not null,
  monthly_cost numeric(18, 6) not null,
  -- In the supplier's words: what its numbers can do, and what the regulator asks.
  features text[] not null,
  registration text,
  seen_at timestamptz not null
);
create index supplier_groups_by_connection on supplier_groups (connection_id, seen_at);

-- A supplier knows what it must be told of its numbers; null: number_requirements says it.
alter table number_groups add column needs_registration boolean;

-- Cities that only suppliers know. Ids of the catalogue's cities are GeoNames', below 20 million.
create sequence number_city_ids as integer start 1500000000;

-- The connection that a number comes from; null: it is our own.
alter table numbers add column supplier_id uuid;

-- The supplier's id of a number that is held there, and of the hold, which may be missing: it holds few at a time.
alter table reservations add column supplier_number text, add column supplier_reservation text;

-- Orders at suppliers. The id is what the supplier is told as our reference. `wanted`: nothing was sent, or what was sent did
-- not come; `sending`: it may have come, so it is looked for before it is sent again; `ordered`: the supplier has it;
-- `completed` and `failed` are ends, in one transaction with the number and the money.
create table number_orders (
  account_id uuid not null references accounts,
  id uuid not null,
  connection_id uuid not null,
  group_id text not null,
  sku text not null,
  -- What is ordered: {"reservation": …}, {"number": …}, or {} for any number of the group.
  item jsonb not null,
  -- Known from the beginning, or from the delivery on.
  number text,
  virtual_number_id uuid,
  friendly_name text,
  -- The money that is set aside until the end.
  hold_id uuid not null,
  amount numeric(18, 6) not null,
  -- The Idempotency-Key of the request.
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
  primary key (account_id, id)
);
create unique index number_orders_by_request on number_orders (account_id, request_key) where request_key is not null;
create index number_orders_by_virtual_number on number_orders (account_id, virtual_number_id);
create index number_orders_by_external on number_orders (connection_id, external_id) where external_id is not null;
create index number_orders_open on number_orders (connection_id) where state in ('wanted', 'sending', 'ordered');
