-- The Devices that users have made for their browsers, counted: the newest registration wins, and an old one cannot fight back.
create table device_generations (
  account_id uuid not null,
  user_id uuid not null,
  generation bigint not null,
  primary key (account_id, user_id),
  foreign key (account_id, user_id) references users
) with (fillfactor = 50);
