-- Names of the tz database. A country's is that in which the most people live; a group without one takes its country's.
alter table number_countries add column timezone text;
alter table number_groups add column timezone text;
