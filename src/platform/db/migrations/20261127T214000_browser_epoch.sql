-- Cookies of browsers that know the person have this number in their signature: a higher one ends them all.
alter table persons add column browser_epoch integer not null default 0;
