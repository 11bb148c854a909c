-- Files by what is in them: once no message has one any more, its bytes leave the store.
create index msgapp_media_by_digest on msgapp_media (account_id, digest) where digest is not null and error is null;
