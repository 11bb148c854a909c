-- A call that the platform itself places, and that the process which runs the calls has still to take.
alter table calls add column queued boolean not null default false;
create index calls_queued on calls (created_at) where queued and ended_at is null;

-- The call in which a code has to be typed; null: the code was sent by SMS.
alter table caller_id_codes add column call_id uuid;
