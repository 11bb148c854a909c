-- What a number was found to be is known to the account that asked: networks may show it to some and not to others.
drop table msgapp_checks;
create table msgapp_checks (
  account_id uuid not null,
  connection_id uuid not null,
  number text not null,
  extra boolean not null,
  found jsonb not null,
  until timestamptz not null,
  primary key (account_id, connection_id, number, extra)
);
create index msgapp_checks_by_time on msgapp_checks (until);
