-- Documents that accounts upload, and the bytes that each account stores.

-- Bytes that an account stores: message media, recordings, documents. The total is the sum of its rows; several rows,
-- so that concurrent transactions seldom wait for each other. Triggers maintain them.
create table stored_bytes (
  account_id uuid not null,
  slot smallint not null,
  bytes bigint not null,
  primary key (account_id, slot)
) with (fillfactor = 50);

create function stored_bytes_add(accounts uuid[], sizes numeric[]) returns void language sql
as $$
  insert into stored_bytes as s (account_id, slot, bytes)
  select g.account_id, pg_backend_pid() % 64, sum(g.size)
  from unnest(accounts, sizes) g (account_id, size)
  group by g.account_id having sum(g.size) <> 0 order by g.account_id
  on conflict (account_id, slot) do update set bytes = s.bytes + excluded.bytes
$$;

-- Files that an account uploads as proof of identity or address. The parts hold the content, sealed with the master
-- key.
create table documents (
  account_id uuid not null references accounts,
  id uuid not null,
  name text not null,
  kind text not null check (kind in ('identity', 'address', 'proof')),
  media_type text not null check (media_type in ('application/pdf', 'image/jpeg', 'image/png')),
  size integer not null check (size > 0),
  created_at timestamptz not null default app_now(),
  primary key (account_id, id)
);
create index documents_by_account on documents (account_id, created_at, id);

create table document_parts (
  account_id uuid not null,
  document_id uuid not null,
  part integer not null,
  sealed bytea not null,
  primary key (account_id, document_id, part),
  foreign key (account_id, document_id) references documents on delete cascade
);

-- Sealed bytes do not compress.
alter table document_parts alter column sealed set storage external;

-- Counts the bytes of documents.
create function documents_count_bytes() returns trigger language plpgsql
set jit = off
as $$
begin
  if tg_op = 'INSERT' then
    perform stored_bytes_add(array_agg(account_id), array_agg(size::bigint))
    from new_rows where size::bigint <> 0 having count(*) > 0;
  elsif tg_op = 'DELETE' then
    perform stored_bytes_add(array_agg(account_id), array_agg(-size::bigint))
    from old_rows where size::bigint <> 0 having count(*) > 0;
  else
    perform stored_bytes_add(array_agg(changed.account_id), array_agg(changed.size)) from (
      select account_id, sum(size) as size from (
        select account_id, size::bigint as size from new_rows
        union all
        select account_id, -size::bigint from old_rows
      ) signed group by account_id having sum(size) <> 0
    ) changed having count(*) > 0;
  end if;
  return null;
end $$;

create trigger documents_count_inserted after insert on documents referencing new table as new_rows
  for each statement execute function documents_count_bytes();
create trigger documents_count_deleted after delete on documents referencing old table as old_rows
  for each statement execute function documents_count_bytes();
create trigger documents_count_updated after update on documents referencing old table as old_rows new table as new_rows
  for each statement execute function documents_count_bytes();
