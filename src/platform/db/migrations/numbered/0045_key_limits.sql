-- Limits of API keys. Null: all scopes (also those of later versions), no end, every address.
-- expires_at is judged by the machine's clock, not by app_now(): the sandbox does not move it.
alter table api_keys
  add column scopes text[],
  add column expires_at timestamptz,
  add column allowed_addresses text[];

-- Voice tokens that were revoked one by one, by their user and end, until that end (the machine's clock). The same two name the
-- SIP credentials that are made of a token.
create table revoked_tokens (
  account_id uuid not null,
  user_id uuid not null,
  expires_at timestamptz not null,
  primary key (account_id, user_id, expires_at),
  foreign key (account_id, user_id) references users (account_id, id)
);
create index revoked_tokens_expires_at on revoked_tokens (expires_at);

-- How often all voice tokens of a user were revoked. Tokens and SIP credentials of an earlier epoch are refused.
create table token_epochs (
  account_id uuid not null,
  user_id uuid not null,
  epoch integer not null,
  primary key (account_id, user_id),
  foreign key (account_id, user_id) references users (account_id, id)
);
