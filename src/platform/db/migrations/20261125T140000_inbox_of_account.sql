-- Outside of these hours browsers get no notifications: {"timezone", "days": [{"day", "from", "until"}]}. Null: none.
alter table accounts add column working_hours jsonb;

-- Days after its last item that an answered conversation is closed. Null: never.
alter table accounts add column close_after_days smallint check (close_after_days between 1 and 365);
create index accounts_by_close_after_days on accounts (id) where close_after_days is not null;
