-- Messages that are templates of a network: {"name", "language", "parameters", "components"}.
alter table msgapp_messages add column template jsonb;

create or replace view msgapp_shown as
select m.account_id, m.id, m.channel_id, m.peer, m.direction, m.sent_by, m.author, m.text, m.pin, m.network_id, m.at, m.ack,
  m.failure_code, m.failure_reason, m.read_at, m.edited_at, m.reactions, m.created_at, m.updated_at,
  n.phone_number as channel_number, c.number as remote_number, c.remote_id, c.pushname, c.group_id, g.network_id as group_network_id,
  f.id as media_id, f.type as media_type, f.mime_type as media_mime_type, f.name as media_name, f.size as media_size,
  f.error as media_error, m.template
from msgapp_messages m
join msgapp_channels n on n.account_id = m.account_id and n.id = m.channel_id
join msgapp_chats c on c.account_id = m.account_id and c.channel_id = m.channel_id and c.peer = m.peer
left join msgapp_groups g on g.account_id = c.account_id and g.id = c.group_id
left join msgapp_media f on f.account_id = m.account_id and f.id = m.media_id
where m.removed is null;
