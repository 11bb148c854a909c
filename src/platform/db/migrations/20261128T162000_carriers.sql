-- Receipts of carriers that could not be read, for the operator: the newest of each connection.
create table sms_unparsed_receipts (
  connection_id uuid not null references connections on delete cascade,
  id uuid not null,
  received_at timestamptz not null,
  reason text not null check (reason in ('no_id', 'unknown_state')),
  source text not null,
  destination text not null,
  octets bytea not null,
  -- The labels of the octets and the optional parameters, in hexadecimal.
  fields jsonb not null,
  primary key (connection_id, id)
);
create index sms_unparsed_receipts_by_time on sms_unparsed_receipts (received_at);

-- Headers that a webhook sends, credentials among them: sealed JSON, a list of names and values. The names are not
-- secret. Null: none.
alter table webhooks add column sealed_headers bytea;
alter table webhooks add column header_names text[] not null default '{}';
