-- An operator's own numbers. What numbers of a group can do, where that is not what the rule says (src/numbers/features.ts).
alter table number_groups add column features text[];

-- What the operator looks for: numbers that are not free are few among many.
create index numbers_taken on numbers (state, number) where state <> 'free';

-- Imports, so that others see how far one has come. `touched_at` is real time: one that nobody goes on with is over.
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

-- Lines that were read and are not in the inventory yet. Unlogged: they are worth nothing once the import is over, and
-- after a crash it is. The key finds numbers that stand twice in a file.
create unlogged table number_import_lines (
  import_id uuid not null,
  number text not null,
  line integer not null,
  group_no integer not null,
  primary key (import_id, number)
);

-- What numbers cost, from a day on. Of the prices in force that fit a group that one counts which names the group itself,
-- else the one with the longest prefix; without one, the group keeps the price of its supplier.
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

-- What numbers of each group cost now.
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
