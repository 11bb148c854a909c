-- Indexes for the log of messages. A message that is sent and delivered writes neither of them: their conditions are of
-- columns that do not change then, so its updates stay out of the indexes.

-- Messages with an error code. Filters by code and by a status of failure read along it.
create index sms_messages_failed on sms_messages (account_id, created_at desc, id desc) where error_code is not null;

-- Inbound messages, among many more outbound ones.
create index sms_messages_inbound on sms_messages (account_id, created_at desc, id desc) where direction = 'inbound';
