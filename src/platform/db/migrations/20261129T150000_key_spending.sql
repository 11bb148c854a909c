-- compatible: no
--
-- What a key of an account may spend in a day (UTC). Not compatible: the last release would not count what such a key spends.

-- limited_keys: keys with a limit that count what this key spends: itself, and those that it was made with, so that no key
-- gets more by making others. Null: none.
alter table api_keys
  add column spend_per_day numeric(18, 6) check (spend_per_day >= 0),
  add column limited_keys uuid[];

-- What such keys paid on their last day of payments. What is held for them counts as long as it is held.
create table key_spending (
  account_id uuid not null,
  key_id uuid not null,
  day date not null,
  spent numeric(18, 6) not null,
  primary key (account_id, key_id),
  foreign key (account_id, key_id) references api_keys on delete cascade
) with (fillfactor = 50);

-- The keys that count a hold and its capture, and a call and those that its program dials; null: none.
alter table holds add column limited_keys uuid[];
alter table calls add column limited_keys uuid[];

-- What a key with a limit has paid today, and what is held for it. A later day than that of the transaction: it began before
-- midnight, and others have paid since.
create function key_spent_today(account uuid, key uuid) returns numeric language plpgsql stable
set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  today date := (app_now() at time zone 'UTC')::date;
begin
  return coalesce((select s.spent from key_spending s where s.account_id = account and s.key_id = key and s.day >= today), 0)
    + (select coalesce(sum(h.amount), 0) from holds h where h.account_id = account and h.limited_keys @> array[key]);
end $$;

-- Returns the lowest limit of these keys that a further amount would exceed; null: none. Locks the balance, so that
-- concurrent spenders of the account wait, and read what this one has added.
create function key_limit_exceeded(account uuid, keys uuid[], amount numeric) returns numeric language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  perform from balances b where b.account_id = account for update;
  return (
    select min(k.spend_per_day) from unnest(keys) g (id) join api_keys k on k.account_id = account and k.id = g.id
    where key_spent_today(account, g.id) + amount > k.spend_per_day);
end $$;
