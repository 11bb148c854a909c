-- Who runs the calls: one process at a time. It lets `beats` grow while it does; whoever sees them stand still for long enough
-- takes over, and lets `fence` grow. Times are not compared: clocks differ, and an outage of the database is nobody's death.
create table voice_lease (
  is_one boolean primary key default true check (is_one),
  fence bigint not null default 0,
  beats bigint not null default 0,
  -- Machine and process, for people. Null: nobody runs them.
  holder text
) with (fillfactor = 50);
insert into voice_lease default values;
-- The fence of the lease under which a call was begun: under a later one, nobody runs it any more. Null on the messaging app.
alter table calls add column tenure bigint;
