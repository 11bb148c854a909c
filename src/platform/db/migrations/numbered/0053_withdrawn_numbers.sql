-- A number that was withdrawn by itself stays withdrawn when its group is restored.
alter table numbers add column withdrawn_alone boolean not null default false;
