-- compatible: 20261128T000000_baseline
--
-- When a lease was last given up because its owner could not reach the carrier, by the real clock. It is free for another
-- process if that was the end of the lease.
alter table carrier_leases add column given_up_at timestamptz;
