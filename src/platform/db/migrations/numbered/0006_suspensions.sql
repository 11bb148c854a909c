-- Numbers that are suspended: why, and what each goes back to. A row is there for as long as the suspension lasts.
create table number_suspensions (
  account_id uuid not null,
  virtual_number_id uuid not null,
  -- `registration`: what the regulator asks was not given in time; `operator`: somebody decided so.
  cause text not null check (cause in ('registration', 'operator')),
  reason text not null,
  status_text text not null,
  supports_sms_in boolean not null default false,
  supports_sms_out boolean not null default false,
  created_at timestamptz not null default app_now(),
  primary key (account_id, virtual_number_id),
  foreign key (account_id, virtual_number_id) references virtual_numbers
);
