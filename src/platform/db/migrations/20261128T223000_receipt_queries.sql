-- compatible: 20261128T000000_baseline
--
-- Parts whose receipt is missing, for which their carrier is asked (SMPP: query_sm). A schedule adds parts that are
-- without a final receipt 15 minutes after their submit, and removes them an hour after their validity. Acceptance,
-- submits and receipts do not touch these tables.
create table sms_receipt_queries (
  account_id uuid not null,
  message_id uuid not null,
  part smallint not null,
  connection_id uuid not null,
  sent_at timestamptz not null,
  -- Times that the carrier was asked.
  asked smallint not null default 0,
  next_at timestamptz not null,
  -- The last state or reason that was recorded.
  answer text,
  primary key (account_id, message_id, part)
);
create index sms_receipt_queries_due on sms_receipt_queries (connection_id, next_at);

-- The send time up to which the schedule has looked for such parts: one row.
create table sms_receipt_query_progress (
  is_only boolean primary key default true check (is_only),
  until timestamptz not null
);
insert into sms_receipt_query_progress (until) select app_now() - interval '2 days';

-- When a carrier refused such questions: it is not asked for a day.
alter table sms_receipt_checks add column queries_refused_at timestamptz;
-- Messages that were marked as without a receipt.
alter table sms_receipt_checks add column without_receipt bigint not null default 0;
-- When its connection was found deleted: the row goes once none of its parts waits for a receipt.
alter table sms_receipt_checks add column gone_at timestamptz;

-- The search reads the parts of one minute. Without a summary of new pages, it would read all since the last vacuum.
alter index sms_parts_by_time set (autosummarize = on);
