-- Up to where a conversation of the messaging app was read here: the time of the newest message that was looked at.
alter table msgapp_chats add column read_to timestamptz;
