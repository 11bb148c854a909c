-- Structured content of messages: `message.content` of the API.

alter table msgapp_messages add column content jsonb;
comment on column msgapp_messages.content is 'The chosen button, the contacts, the order, the quoted message and the like';

create or replace view msgapp_visible_messages as
select m.account_id, m.id, m.channel_id, m.peer, m.direction, m.sent_by, m.author, m.text, m.pin, m.network_id, m.at,
  m.ack, m.failure_code, m.failure_reason, m.read_at, m.edited_at, m.reactions, m.created_at, m.updated_at,
  n.phone_number as channel_number, c.number as remote_number, c.remote_id, c.pushname, c.group_id,
  g.network_id as group_network_id, f.id as media_id, f.type as media_type, f.mime_type as media_mime_type,
  f.name as media_name, f.size as media_size, f.error as media_error, m.template, m.content
from msgapp_messages m
join msgapp_channels n on n.account_id = m.account_id and n.id = m.channel_id
join msgapp_chats c on c.account_id = m.account_id and c.channel_id = m.channel_id and c.peer = m.peer
left join msgapp_groups g on g.account_id = c.account_id and g.id = c.group_id
left join msgapp_media f on f.account_id = m.account_id and f.id = m.media_id
where m.removed is null;

create or replace function msgapp_messages_by_id(accounts uuid[], ids uuid[]) returns setof msgapp_visible_messages
language plpgsql
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    select m.account_id, m.id, m.channel_id, m.peer, m.direction, m.sent_by, m.author, m.text, m.pin, m.network_id, m.at,
      m.ack, m.failure_code, m.failure_reason, m.read_at, m.edited_at, m.reactions, m.created_at, m.updated_at,
      n.phone_number, c.number, c.remote_id, c.pushname, c.group_id, g.network_id, f.id, f.type, f.mime_type, f.name,
      f.size, f.error, m.template, m.content
    from unnest(accounts, ids) r (account_id, id)
    cross join lateral (
      select * from msgapp_messages o where o.account_id = r.account_id and o.id >= r.id and o.id <= r.id
      order by o.id limit 1) m
    cross join lateral (
      select o.phone_number from msgapp_channels o
      where o.account_id = m.account_id and o.id >= m.channel_id and o.id <= m.channel_id order by o.id limit 1) n
    cross join lateral (
      select o.number, o.remote_id, o.pushname, o.group_id from msgapp_chats o
      where o.account_id = m.account_id and o.channel_id = m.channel_id and o.peer >= m.peer and o.peer <= m.peer
      order by o.peer limit 1) c
    left join lateral (
      select o.network_id from msgapp_groups o
      where o.account_id = r.account_id and o.id >= c.group_id and o.id <= c.group_id order by o.id limit 1) g on true
    left join lateral (
      select o.id, o.type, o.mime_type, o.name, o.size, o.error from msgapp_media o
      where o.account_id = m.account_id and o.id >= m.media_id and o.id <= m.media_id order by o.id limit 1) f on true
    where m.removed is null;
end $$;
