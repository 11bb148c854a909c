-- compatible: no
--
-- Programs of calls: applications, what a number runs, calls that a program dials, and the story of a program. Not
-- compatible: the last release would let the calls of a number with a program ring nowhere.

-- Stored programs. format: native or twilio, the shape of its requests. status_events: statuses of its calls that status_url
-- gets.
create table call_applications (
  account_id uuid not null references accounts,
  id uuid not null,
  name text not null,
  url text not null,
  method text not null default 'POST' check (method in ('GET', 'POST')),
  fallback_url text,
  fallback_method text not null default 'POST' check (fallback_method in ('GET', 'POST')),
  status_url text,
  status_method text not null default 'POST' check (status_method in ('GET', 'POST')),
  status_events text[] not null default '{completed}',
  format text not null default 'native' check (format in ('native', 'twilio')),
  timeout_seconds integer not null default 8 check (timeout_seconds between 1 and 15),
  -- Signs requests of the native shape.
  sealed_secret bytea not null,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  primary key (account_id, id)
);
create index call_applications_by_time on call_applications (account_id, created_at desc, id desc);

-- The program that calls to the number run: {kind: application, application, …} or {kind: url, url, …}; null: they ring
-- inbound_user_id. One of both is null.
alter table virtual_numbers add column voice jsonb,
  add constraint virtual_numbers_voice check (voice is null or inbound_user_id is null);
create index virtual_numbers_by_application on virtual_numbers (account_id, (voice ->> 'application'))
  where voice ->> 'application' is not null and released_at is null;

-- parent_id: the call whose program dialled this one. depth: the number of calls before it that way.
-- application_id: the application that the call ran first. tags: data of the program. origin: who made the call; null for
-- calls from before. forwarded: a program dialled a telephone from an inbound call.
alter table calls
  add column parent_id uuid,
  add column depth integer not null default 0,
  add column application_id uuid,
  add column tags jsonb not null default '{}',
  add column origin text check (origin in ('device', 'trunk', 'api', 'dial')),
  add column forwarded boolean not null default false;
create index calls_by_parent on calls (account_id, parent_id) where parent_id is not null;

-- Who gets the recording once it is stored: {url, method, shape}; null: nobody.
alter table call_recordings add column status_callback jsonb;

-- The story of a program: its verbs and its requests. Rows are removed with the timeline of the call.
create table call_program_steps (
  account_id uuid not null,
  call_id uuid not null,
  sequence integer not null,
  at timestamptz not null,
  -- Null for the first request.
  verb text,
  -- Null for a verb.
  request_url text,
  answer_status integer,
  ms integer not null,
  error_code text,
  primary key (account_id, call_id, sequence)
);
create index call_program_steps_by_time on call_program_steps (at);
