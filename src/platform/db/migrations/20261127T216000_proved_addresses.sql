-- An e-mail address is proved when a mail reached it, or an operator vouched for it. Unproved addresses are no longer
-- unique: an account cannot take an address away from its owner. Times are real.
alter table persons add column email_proved_at timestamptz;
alter table persons drop constraint persons_email_key_key;
create index persons_by_email on persons (email_key);
create unique index persons_by_proved_email on persons (email_key) where email_proved_at is not null;

-- An operator gave them their rights.
update persons set email_proved_at = clock_timestamp() where operator is not null;

-- How the link reached its reader. `mail`: only the mailbox of the address has the token. `link`: the caller saw it.
alter table invitations add column delivery text not null default 'link' check (delivery in ('link', 'mail'));
-- `proof`: proves the address of the person. A password link has the account whose administrator made it, if one did.
alter table invitations drop constraint invitations_kind_check;
alter table invitations add constraint invitations_kind_check
  check (kind in ('invite', 'password', 'claim', 'proof'));
