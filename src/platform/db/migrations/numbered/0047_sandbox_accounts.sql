-- Accounts that the sandbox has effects for, while it is on. Accounts that exist where a sandbox has run keep those effects.
alter table accounts add column sandbox boolean not null default false;
update accounts set sandbox = true where exists (select from facts where name = 'sandbox-stock');
