-- Money set aside for what is not over yet, such as a call: moved from the book `balance` to the book `held`, and at the end
-- from there to the book of what was sold, the rest back. A row is an open hold, and goes with its end; the transfers stay.
create table holds (
  account_id uuid not null references accounts,
  id uuid not null,
  -- The book, kind and reference of the transfer that a capture makes.
  book text not null,
  kind text not null,
  reference text not null,
  -- What is set aside at this moment.
  amount numeric(18, 6) not null check (amount >= 0),
  created_at timestamptz not null default app_now(),
  primary key (account_id, id)
);
create index holds_by_age on holds (book, created_at, id);

-- Below `low_balance` an account is told, once until it was above it again: null never. `is_low` is what the last look saw, and
-- so a new account is not told of its empty balance. No index: one over `balance` would cost every SMS.
alter table balances
  add column low_balance numeric(18, 6) default 5 check (low_balance > 0),
  add column is_low boolean not null default true;
