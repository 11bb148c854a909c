-- The contacts that are kept on the account of a channel too.
create index contacts_by_channel on contacts (account_id, channel_id, id) where channel_id is not null;
