-- Requests of accounts by API key: refused ones, and a sample of the others. Times are those of the machine.
create table api_requests (
  account_id uuid not null,
  id uuid not null,
  at timestamptz not null,
  request_id text not null,
  key_id uuid not null,
  method text not null,
  route text not null,
  status smallint not null,
  error_code text,
  ms integer not null,
  primary key (account_id, id)
);
create index api_requests_by_time on api_requests (at);
