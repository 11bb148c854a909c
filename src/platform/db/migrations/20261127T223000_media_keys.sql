-- The key of a file is a path in the media store, and a restored row may come from anyone: only forms that the platform
-- makes are stored. Rows of today are not checked.
alter table msgapp_media add constraint msgapp_media_key_form
  check (key ~ '^[0-9a-f-]{36}/[0-9a-f]{2}/[0-9a-f]{64}(\.enc)?$' and starts_with(key, account_id::text || '/')) not valid;
