-- The operator's look-up of a message by its id alone. Ids ascend with time and messages are never deleted, so ranges of
-- 64 pages (about 3,000 messages) have few other ids. The ranges keep outliers apart: a message that was updated late lies
-- among younger ones. New pages are summarised in the background, and accepting a message writes nothing here.
create index sms_messages_by_id_range on sms_messages
  using brin (id uuid_minmax_multi_ops (values_per_range = 16)) with (pages_per_range = 64, autosummarize = on);
