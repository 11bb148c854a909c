-- Every list reads along an index, and every filter of a tenant's list has one that leads with the account. Decision
-- 0037 names the filters, and the ones that have no index of their own.

-- Accounts, by time, name, part of the name, and state.
create index accounts_by_time on accounts (created_at, id);
create index accounts_by_name on accounts (lower(name), created_at, id);
create index accounts_by_state on accounts
  ((case when closed_at is not null then 'closed' when blocked then 'blocked' else 'open' end), created_at, id);

-- Parts of up to three characters of a name, without regard to case. A name that contains a text has all of its parts.
create function account_name_grams(name text) returns text[] language sql immutable strict parallel safe
set jit = off
as $$
  select coalesce(array_agg(distinct substr(lower(name), i, n)), '{}')
  from generate_series(1, length(lower(name))) i, generate_series(1, 3) n
$$;
create index accounts_by_name_gram on accounts using gin (account_name_grams(name));

create index users_by_time on users (account_id, created_at, id);
create index users_by_status on users (account_id, status, created_at, id);

-- The audit trail of an account by action, key, label, and kind of actor; that of the installation by label.
create index audit_by_account_and_action on audit (account_id, action, at desc, id desc) where account_id is not null;
create index audit_by_account_and_actor on audit (account_id, actor_id, at desc, id desc) where account_id is not null;
create index audit_by_account_and_label on audit (account_id, actor_label, at desc, id desc)
  where account_id is not null;
create index audit_by_account_and_kind on audit (account_id, actor_kind, at desc, id desc) where account_id is not null;
create index audit_by_label on audit (actor_label, at desc, id desc);

create index transfers_by_kind on transfers (account_id, kind, created_at desc, id desc);
create index holds_by_account on holds (account_id, created_at, id);

-- Calls that have ended: the heartbeats of an open call would write these indexes too.
create index calls_by_direction on calls (account_id, direction, created_at desc, id desc) where ended_at is not null;
create index calls_by_status on calls (account_id, status, created_at desc, id desc) where ended_at is not null;
create index calls_by_callee on calls (account_id, to_number, created_at desc, id desc)
  where direction = 'O' and ended_at is not null;
create index calls_by_caller on calls (account_id, from_number, created_at desc, id desc)
  where direction = 'I' and ended_at is not null;

create index sms_channels_by_time on sms_channels (account_id, created_at, id);

create index msgapp_channels_by_time on msgapp_channels (account_id, created_at desc, id desc)
  where deleted_at is null;
create unique index msgapp_dead_letters_by_id on msgapp_dead_letters (id);

-- Operators: registrations of every state; numbers of a group, in their order; numbers sold to an account, in a
-- country, or in a state.
create index registrations_by_time on registrations (created_at, virtual_number_id);
create index numbers_by_group on numbers (group_id, number);
create index virtual_numbers_by_account_and_id on virtual_numbers (account_id, id) where released_at is null;
create index virtual_numbers_by_country on virtual_numbers (iso_country_code, id) where released_at is null;
create index virtual_numbers_by_status on virtual_numbers (status_text, id) where released_at is null;

-- Metrics: webhooks that are disabled or failing are few among many.
create index webhooks_disabled on webhooks (created_at, account_id, id) where not enabled and deleted_at is null;
create index webhook_endpoint_leases_failing on webhook_endpoint_leases (failing_since, account_id, webhook_id)
  where failures > 0;
create index dead_jobs_by_kind on dead_jobs (kind);
