-- A switch of the account: agents also get the right read_only, so that they see numbers, logs and timelines.
alter table accounts add column agents_see_log boolean not null default false;

-- The user of the account who made the key in the console. Null: a key, an operator or an earlier version made it.
alter table api_keys add column made_by uuid;
