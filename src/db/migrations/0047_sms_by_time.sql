-- The messages of an account by time, whichever the contact.
create index sms_messages_by_time on sms_messages (account_id, created_at desc, id desc);
