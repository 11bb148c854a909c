-- The deliveries of a webhook that wait, or that failed, newest first: often few among many. Those that wait are written here
-- too when they are made, which costs 1 to 2 µs each.
create index webhook_deliveries_pending on webhook_deliveries (account_id, webhook_id, event_id) where state = 'pending';
create index webhook_deliveries_failed on webhook_deliveries (account_id, webhook_id, event_id) where state = 'failed';
