-- The ledger. All amounts are in USD.
--
-- A transfer moves money from one book of an account to another. Each row is double entry by itself, so the sum over
-- all books is always zero. Books: `balance` (what the customer may spend), `cash` (payments from outside), `held`
-- (open holds), and one book for each product sold, such as `sms`, `numbers` and `calls`.

create table transfers (
  account_id uuid not null references accounts,
  id uuid not null,
  debit text not null,
  credit text not null,
  amount numeric(18, 6) not null check (amount > 0),
  kind text not null,
  reference text,
  note text,
  created_at timestamptz not null default app_now(),
  -- The API key or operator key that caused the transfer; null: the platform itself, such as a renewal. Keys may be
  -- deleted, so the column references no table.
  made_by uuid,
  -- The transfer that this correction or refund adjusts, so that its adjustments never exceed it. The correction of a
  -- correction has that of the first one.
  adjusts uuid,
  -- Net change of the balance by the corrections and refunds of this transfer; null: none.
  adjusted numeric(18, 6),
  primary key (account_id, id),
  check (debit <> credit)
);
create index transfers_by_time on transfers (account_id, created_at desc, id desc);
create index transfers_by_kind on transfers (account_id, kind, created_at desc, id desc);

-- The balance that spending is checked against: always the sum of the account's transfers into and out of `balance`.
-- No index on `balance`, which would cost every SMS.
create table balances (
  account_id uuid primary key references accounts,
  balance numeric(18, 6) not null default 0,
  -- The account is notified once when its balance falls below; null: never.
  low_balance numeric(18, 6) default 5 check (low_balance > 0),
  -- The last observation. True at first, so a new account gets no notice of its empty balance.
  is_low boolean not null default true
) with (fillfactor = 50);

-- Money reserved for something unfinished, such as a call: moved from the book `balance` to `held`, and at the end to
-- the book of the product, with the rest returned. A row is an open hold and is deleted at its end; the transfers
-- remain.
create table holds (
  account_id uuid not null references accounts,
  id uuid not null,
  -- The book, kind and reference of the transfer that a capture makes.
  book text not null,
  kind text not null,
  reference text not null,
  -- The amount reserved now.
  amount numeric(18, 6) not null check (amount >= 0),
  created_at timestamptz not null default app_now(),
  -- Copied to the transfer of the capture.
  made_by uuid,
  primary key (account_id, id)
);
create index holds_by_age on holds (book, created_at, id);
create index holds_by_account on holds (account_id, created_at, id);

-- Prices by the longest matching prefix of the destination (digits without `+`; '' matches every destination).
create table prices (
  kind text not null check (kind in ('sms_out', 'sms_in', 'call_out', 'call_in')),
  prefix text not null check (prefix ~ '^[0-9]*$'),
  price numeric(18, 6) not null check (price >= 0),
  effective_at timestamptz not null default app_now(),
  primary key (kind, prefix, effective_at)
);
