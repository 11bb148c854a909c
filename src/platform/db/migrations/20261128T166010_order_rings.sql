-- The user whom an ordered number rings, once it is delivered. Null: no user.
alter table number_orders add column inbound_user_id uuid;
