-- compatible: 20261128T000000_baseline
--
-- Messages with files (MMS): the files are rows of msgapp_media, as those of the messaging app are.

-- Files of a message, in order; null without any.
alter table sms_messages add column media_ids uuid[];

-- A message with files has a price of its own.
alter table prices drop constraint prices_kind_check;
alter table prices add constraint prices_kind_check
  check (kind in ('sms_out', 'sms_in', 'call_out', 'call_in', 'mms_out'));
