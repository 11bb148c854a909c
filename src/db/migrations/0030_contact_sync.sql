-- How far a contact is on the account of its channel: null where it is on none.
alter table contacts
  add column sync_state text check (sync_state in ('queued', 'synced', 'failed', 'not_supported')),
  add column sync_error text,
  add column synced_at timestamptz;
