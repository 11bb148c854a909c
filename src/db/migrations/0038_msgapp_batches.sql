-- Batches of checks are kept for thirty days.
create index msgapp_batches_by_time on msgapp_batches (created_at);
