-- Usage by day, counted from the ledger off the hot path.
--
-- Each transfer of something sold, refunded or corrected notes itself in usage_pending in its own transaction. A worker
-- takes noted transfers, adds them to usage_days, and deletes the notes, in one transaction: each transfer counts once,
-- however late it committed and whenever the worker was killed. A report adds what is still noted.

-- Sums of a UTC day. `by`: the way the usage is split; the rows of each way add up to the same sums. `by` is
-- 'adjustment' for credits, debits, corrections and write-offs, which are no usage.
create table usage_days (
  account_id uuid not null,
  by text not null,
  day date not null,
  -- The country, the channel … by which it is split.
  value text not null,
  -- The kind of the transfers.
  kind text not null,
  n bigint not null,
  units bigint not null,
  -- Negative for refunds, and for adjustments that took money.
  amount numeric(20, 6) not null,
  primary key (account_id, by, day, value, kind)
) with (fillfactor = 50);

create table usage_pending (
  account_id uuid not null,
  transfer_id uuid not null,
  primary key (account_id, transfer_id)
);

create function usage_note_transfer() returns trigger language plpgsql
set jit = off
as $$ begin
  insert into usage_pending (account_id, transfer_id) values (new.account_id, new.id);
  return null;
end $$;

-- Money that moves into and out of a hold is no usage; its capture is.
create trigger transfers_note_usage after insert on transfers for each row
  when (new.kind not in ('hold', 'release')) execute function usage_note_transfer();

-- Counts the usage of an account again, or of all accounts for null. Reports wait for the worker meanwhile.
create function usage_rebuild(account uuid) returns bigint language plpgsql
set jit = off
as $$
declare
  noted bigint;
begin
  -- Until the end of the transaction no transfer is added, and none is counted.
  lock table transfers, usage_pending in share row exclusive mode;
  delete from usage_days where account is null or account_id = account;
  insert into usage_pending (account_id, transfer_id)
  select account_id, id from transfers
  where kind not in ('hold', 'release') and (account is null or account_id = account)
  on conflict do nothing;
  get diagnostics noted = row_count;
  return noted;
end $$;
