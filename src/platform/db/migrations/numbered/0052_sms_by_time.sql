-- no transaction
-- The messages of an account by time, whichever the contact.
drop index concurrently if exists sms_messages_by_time;
create index concurrently sms_messages_by_time on sms_messages (account_id, created_at desc, id desc);
