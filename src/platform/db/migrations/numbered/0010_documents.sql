-- Files that an account uploads as proof of who and where it is. What is in them lies in the parts, each sealed with the
-- installation's key for its place (src/documents/ops.ts); what a person sees in lists stands here.
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
-- What is sealed cannot be compressed.
alter table document_parts alter column sealed set storage external;

-- What the regulator asks of who takes a number, and how far it is met: one for each number of a country and type that asks
-- for something.
create table registrations (
  account_id uuid not null,
  virtual_number_id uuid not null,
  state text not null default 'awaiting' check (state in ('awaiting', 'approved', 'refused')),
  -- Why it was refused.
  reason text check ((state = 'refused') = (reason is not null)),
  -- When the number is suspended if something is still missing.
  due_at timestamptz not null,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default app_now(),
  primary key (account_id, virtual_number_id),
  foreign key (account_id, virtual_number_id) references virtual_numbers
);
-- Operators name a number without its account.
create unique index registrations_by_number on registrations (virtual_number_id);
create index registrations_by_state on registrations (state, created_at, virtual_number_id);

-- What was given for each requirement: a document, or words (sealed: they are addresses and numbers of passports).
create table registration_answers (
  account_id uuid not null,
  virtual_number_id uuid not null,
  requirement_id integer not null,
  document_id uuid,
  sealed_value bytea,
  primary key (account_id, virtual_number_id, requirement_id),
  foreign key (account_id, virtual_number_id) references registrations on delete cascade,
  foreign key (account_id, document_id) references documents on delete cascade,
  check ((document_id is null) <> (sealed_value is null))
);
create index registration_answers_by_document on registration_answers (account_id, document_id);
