-- Files that are in the store, by age: those older than TRUNKLINE_RETENTION_DAYS_MEDIA leave it.
create index msgapp_media_by_time on msgapp_media (created_at) where key is not null and error is null;
