-- Messages of the messaging app: what is told of them, reactions, calls.

-- When something was written before the last message: whether a conversation is new is told by it.
alter table msgapp_chats add column previous_at timestamptz;

-- By who reacted (E.164, or the network's id): {"emoji", "at"}; the emoji is null once it was taken back.
alter table msgapp_messages add column reactions jsonb;

create table msgapp_calls (
  account_id uuid not null,
  id uuid not null,
  channel_id uuid not null,
  -- The network's id: what is told twice is kept once.
  network_id text not null,
  number text,
  remote_id text not null,
  group_network_id text,
  is_video boolean not null,
  at timestamptz not null,
  ended_at timestamptz,
  created_at timestamptz not null,
  primary key (account_id, id)
);
create unique index msgapp_calls_by_network_id on msgapp_calls (channel_id, network_id);

-- Messages as they are shown: with their conversation and their file. Those that were deleted are not.
create view msgapp_shown as
select m.account_id, m.id, m.channel_id, m.peer, m.direction, m.sent_by, m.author, m.text, m.pin, m.network_id, m.at, m.ack,
  m.failure_code, m.failure_reason, m.read_at, m.edited_at, m.reactions, m.created_at, m.updated_at,
  n.phone_number as channel_number, c.number as remote_number, c.remote_id, c.pushname, c.group_id, g.network_id as group_network_id,
  f.id as media_id, f.type as media_type, f.mime_type as media_mime_type, f.name as media_name, f.size as media_size,
  f.error as media_error
from msgapp_messages m
join msgapp_channels n on n.account_id = m.account_id and n.id = m.channel_id
join msgapp_chats c on c.account_id = m.account_id and c.channel_id = m.channel_id and c.peer = m.peer
left join msgapp_groups g on g.account_id = c.account_id and g.id = c.group_id
left join msgapp_media f on f.account_id = m.account_id and f.id = m.media_id
where m.removed is null;
