-- compatible: 20261128T000000_baseline
--
-- The interface in the shape of Twilio: tokens of accounts, addresses of numbers, and callbacks of messages.

-- Tokens with which the libraries sign in. Each is an API key too, so its scopes, limits, use and revocation are those of
-- the key. It is sealed, because it is also the key of the signature of callbacks.
create table twilio_tokens (
  account_id uuid not null,
  key_id uuid not null,
  sealed_token bytea not null,
  created_at timestamptz not null default app_now(),
  primary key (account_id, key_id),
  foreign key (account_id, key_id) references api_keys on delete cascade
);

-- Where inbound messages of a number are posted to. Empty: nowhere.
create table twilio_numbers (
  account_id uuid not null,
  virtual_number_id uuid not null,
  sms_url text not null default '',
  sms_method text not null default 'POST' check (sms_method in ('GET', 'POST')),
  sms_fallback_url text not null default '',
  sms_fallback_method text not null default 'POST' check (sms_fallback_method in ('GET', 'POST')),
  updated_at timestamptz not null default app_now(),
  primary key (account_id, virtual_number_id),
  foreign key (account_id, virtual_number_id) references virtual_numbers
);

-- Messages that this interface no longer shows. Their rows stay, without text, for prices and receipts.
create table twilio_deleted_messages (
  account_id uuid not null,
  message_id uuid not null,
  deleted_at timestamptz not null default app_now(),
  primary key (account_id, message_id)
);

-- The address that each status of a message is reported to.
alter table sms_messages add column callback_url text;

-- A new id of a job: a UUID of version 7 with the fraction of the millisecond (RFC 9562, 6.2, method 3), so that the jobs of
-- one message run in the order of its statuses.
create function twilio_job_id() returns uuid language sql volatile set jit = off as $$
  select (
    lpad(to_hex(floor(us / 1000)::bigint), 12, '0') || '7' || lpad(to_hex(((us % 1000) * 4096 / 1000)::integer), 3, '0')
    || substr(replace(gen_random_uuid()::text, '-', ''), 17)
  )::uuid
  from (select floor(extract(epoch from clock_timestamp()) * 1000000)::bigint as us) t
$$;

-- Adds the job that reports a status. Messages without an address do not call it: the condition of the trigger is checked
-- first, and costs no call.
create function twilio_report_status() returns trigger language plpgsql set jit = off as $$
begin
  insert into jobs (id, account_id, kind, key, payload, run_at, created_at)
  values (twilio_job_id(), new.account_id, 'twilio.status', new.id::text,
    jsonb_build_object('message', new.id, 'status', new.status, 'error', new.error_code),
    (select app_now()), (select app_now()));
  return null;
end $$;
create trigger twilio_report_status after update of status on sms_messages for each row
  when (new.callback_url is not null and new.status is distinct from old.status)
  execute function twilio_report_status();

-- Adds the job that posts an inbound message to the address of its number, if it has one.
create function twilio_report_inbound() returns trigger language plpgsql set jit = off as $$
begin
  insert into jobs (id, account_id, kind, key, payload, run_at, created_at)
  select twilio_job_id(), new.account_id, 'twilio.inbound', new.channel_id::text || ' ' || md5(new.contact),
    jsonb_build_object('message', new.id), (select app_now()), (select app_now())
  from sms_channels c join twilio_numbers n on n.account_id = c.account_id and n.virtual_number_id = c.virtual_number_id
  where c.account_id = new.account_id and c.id = new.channel_id and n.sms_url <> '';
  return null;
end $$;
create trigger twilio_report_inbound after insert on sms_messages for each row
  when (new.direction = 'inbound' and new.sub_status is distinct from 'blocked')
  execute function twilio_report_inbound();
