-- compatible: 20261128T000000_baseline
--
-- The secret of an account that signs requests to programs without an application, once it was rotated. Before that, it is
-- derived from the master key. The previous one signs too, until previous_until.
create table program_secrets (
  account_id uuid primary key references accounts,
  sealed_secret bytea not null,
  sealed_previous_secret bytea not null,
  previous_until timestamptz not null
);
