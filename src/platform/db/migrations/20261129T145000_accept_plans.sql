-- compatible: 20261128T000000_baseline
--
-- Acceptance looks for the oldest due job of an account in the order of jobs_due_by_account. Plans made after a vacuum found
-- few jobs read all due jobs of the kind by jobs_due, whose index is smaller, and sorted them: 3,000 blocks with 3,000 jobs.
alter function sms_accept_batch set enable_sort = off;
alter function sms_accept_batches set enable_sort = off;
