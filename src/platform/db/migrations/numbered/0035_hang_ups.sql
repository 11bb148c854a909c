-- When an operator asked for the end of a call: whichever process runs it looks for these.
alter table calls add column hang_up_at timestamptz;
create index calls_to_hang_up on calls (hang_up_at) where hang_up_at is not null and ended_at is null;
