-- Joins rows of one number that were stored in two of its forms: contacts, opt-outs, chats with their session keys, and
-- conversations. Nothing is lost: what has no counterpart is renamed, and the rest is merged.

-- Numbers that a plan replaced. The account's own ones are renamed one by one, and one whose current form exists stays.
do $$
declare
  place record;
  found record;
begin
  -- A second channel of one number that was never connected is deleted: its network did not find it.
  update msgapp_channels c set enabled = false, deleted_at = app_now(), updated_at = app_now()
  from msgapp_channels o
  where o.account_id = c.account_id and o.id <> c.id and o.deleted_at is null and c.deleted_at is null
    and c.phone_number = current_number(o.phone_number) and o.phone_number <> c.phone_number
    and not exists (
      select from msgapp_links l
      where l.account_id = c.account_id and l.channel_id = c.id and (l.proved_at is not null or l.possessed_at is not null))
    and not exists (select from msgapp_chats h where h.account_id = c.account_id and h.channel_id = c.id);
  update caller_ids i set removed_at = app_now(), updated_at = app_now()
  from msgapp_channels c
  where c.account_id = i.account_id and c.id = i.msgapp_channel_id and c.deleted_at is not null and i.removed_at is null;

  for place in select * from (values
    ('numbers', 'number'), ('reservations', 'number'), ('virtual_numbers', 'number'), ('number_orders', 'number'),
    ('number_grants', 'phone_number'), ('sms_channels', 'phone_number'), ('caller_ids', 'phone_number'),
    ('caller_id_codes', 'phone_number'), ('msgapp_channels', 'phone_number'), ('sms_opt_outs', 'number')
  ) v (name, field) loop
    for found in execute format(
      'select ctid as place, current_number(%2$I) as number from %1$I where %2$I <> current_number(%2$I)',
      place.name, place.field) loop
      begin
        execute format('update %I set %I = $1 where ctid = $2', place.name, place.field) using found.number, found.place;
      exception when unique_violation then null;
      end;
    end loop;
  end loop;
end $$;

update sms_messages set contact = current_number(contact), number = current_number(number)
where contact <> current_number(contact) or number <> current_number(number);
update calls set from_number = current_number(from_number), to_number = current_number(to_number),
  caller_id_used = current_number(caller_id_used)
where from_number <> current_number(from_number) or to_number <> current_number(to_number)
  or caller_id_used <> current_number(caller_id_used);

-- Contacts keep each number as it was written, and are found by its canonical form.
update contact_details set match_key = canonical_number(match_key)
where type in ('PH', 'WAPH') and match_key <> canonical_number(match_key);

-- One opt-out of a person stays: one that the account made counts more than the word of the person.
delete from sms_opt_outs o using sms_opt_outs p
where p.account_id = o.account_id and p.number = o.number and p.contact <> o.contact
  and canonical_number(p.contact) = canonical_number(o.contact)
  and ((p.reason <> 'keyword', p.contact = canonical_number(p.contact)) > (o.reason <> 'keyword', o.contact = canonical_number(o.contact)));
update sms_opt_outs set contact = canonical_number(contact) where contact <> canonical_number(contact);

-- Members of groups and calls of the messaging app, and its cached checks.
delete from msgapp_group_members m using msgapp_group_members o
where m.member <> canonical_number(m.member) and o.account_id = m.account_id and o.group_id = m.group_id
  and o.member = canonical_number(m.member);
update msgapp_group_members set member = canonical_number(member) where member <> canonical_number(member);
update msgapp_calls set number = canonical_number(number) where number <> canonical_number(number);
update msgapp_messages set author = canonical_number(author) where author <> canonical_number(author);
delete from msgapp_checks where number <> current_number(number);

-- Chats: the earlier key leads to the current one, so that session keys of clients stay good. Messages are sent to the form
-- that the network gave: a number of WhatsApp is its own id.
update msgapp_chats c set dialled = case when c.remote_id ~ '^\d+$' then '+' || c.remote_id else c.number end
where c.group_id is null and c.number ~ '^\+(?:5[245]|22[59]|84)' and c.last_inbound_at is not null
  and (c.remote_id !~ '^\d+$' or canonical_number('+' || c.remote_id) = canonical_number(c.number)) is not false;
do $$
declare
  chat record;
  current text;
  known boolean;
begin
  for chat in
    select * from msgapp_chats
    where group_id is null and (number <> canonical_number(number)
      or (peer ~ '^\d+@c\.us$' and '+' || split_part(peer, '@', 1) <> canonical_number('+' || split_part(peer, '@', 1))))
    order by account_id, channel_id, peer
  loop
    current := ltrim(canonical_number('+' || split_part(chat.peer, '@', 1)), '+') || '@c.us';
    if chat.peer !~ '^\d+@c\.us$' or current = chat.peer then
      update msgapp_chats set number = canonical_number(number)
      where account_id = chat.account_id and channel_id = chat.channel_id and peer = chat.peer;
      continue;
    end if;
    known := exists (
      select from msgapp_chats where account_id = chat.account_id and channel_id = chat.channel_id and peer = current);
    delete from msgapp_former_peers
    where account_id = chat.account_id and channel_id = chat.channel_id and peer = current;
    update msgapp_former_peers set current_peer = current
    where account_id = chat.account_id and channel_id = chat.channel_id and current_peer = chat.peer;
    insert into msgapp_former_peers (account_id, channel_id, peer, current_peer)
    values (chat.account_id, chat.channel_id, chat.peer, current)
    on conflict (account_id, channel_id, peer) do update set current_peer = excluded.current_peer;
    update msgapp_messages set peer = current
    where account_id = chat.account_id and channel_id = chat.channel_id and peer = chat.peer;
    if not known then
      update msgapp_chats set peer = current, number = canonical_number(number)
      where account_id = chat.account_id and channel_id = chat.channel_id and peer = chat.peer;
    else
      delete from msgapp_chats
      where account_id = chat.account_id and channel_id = chat.channel_id and peer = chat.peer;
      update msgapp_chats c set unread = c.unread + chat.unread, pushname = coalesce(c.pushname, chat.pushname),
        remote_id = coalesce(c.remote_id, chat.remote_id), dialled = coalesce(c.dialled, chat.dialled),
        read_to = case when c.read_to is not null and chat.read_to is not null then least(c.read_to, chat.read_to) end,
        last_message_id = case when chat.last_at > c.last_at then chat.last_message_id else c.last_message_id end,
        last_at = greatest(c.last_at, chat.last_at), last_inbound_at = greatest(c.last_inbound_at, chat.last_inbound_at)
      where c.account_id = chat.account_id and c.channel_id = chat.channel_id and c.peer = current;
    end if;
  end loop;
end $$;

-- Takes a conversation into another one of the same person, with everything that it has. The result is open if one of
-- them is, waits for the earlier answer, and shows the later item.
create function conversations_join(account uuid, own_id uuid, other_id uuid) returns void language plpgsql
set jit = off
as $$
declare
  own conversations;
  other conversations;
  is_later boolean;
begin
  select * into strict own from conversations where account_id = account and id = own_id;
  select * into strict other from conversations where account_id = account and id = other_id;
  is_later := other.last_at > own.last_at;
  update conversation_items set conversation_id = own.id
  where account_id = own.account_id and conversation_id = other.id;
  update conversation_notes set conversation_id = own.id
  where account_id = own.account_id and conversation_id = other.id;
  update conversation_words w set words = w.words || array(
      select o.words from (select unnest(words) as words from conversation_words
        where account_id = own.account_id and id = other.id) o where o.words <> all (w.words))
  where w.account_id = own.account_id and w.id = own.id;
  delete from conversation_words where account_id = own.account_id and id = other.id;
  update conversation_words set conversation_id = own.id
  where account_id = own.account_id and conversation_id = other.id;
  insert into conversation_reads as r (account_id, user_id, conversation_id, read_until)
  select account_id, user_id, own.id, read_until from conversation_reads
  where account_id = own.account_id and conversation_id = other.id
  on conflict (account_id, user_id, conversation_id) do update set read_until = least(r.read_until, excluded.read_until);
  delete from conversation_reads where account_id = own.account_id and conversation_id = other.id;
  insert into conversation_drafts as d (account_id, user_id, conversation_id, kind, text, channel_id, reply_to, updated_at)
  select account_id, user_id, own.id, kind, text, channel_id, reply_to, updated_at from conversation_drafts
  where account_id = own.account_id and conversation_id = other.id
  on conflict (account_id, user_id, conversation_id, kind) do update set text = d.text || E'\n' || excluded.text;
  delete from conversation_drafts where account_id = own.account_id and conversation_id = other.id;
  delete from bulk_change_rows r where account_id = own.account_id and conversation_id = other.id
    and exists (select from bulk_change_rows o
      where o.account_id = r.account_id and o.job_id = r.job_id and o.conversation_id = own.id);
  update bulk_change_rows set conversation_id = own.id
  where account_id = own.account_id and conversation_id = other.id;
  delete from conversations where account_id = own.account_id and id = other.id;
  update conversations set
    contact_id = coalesce(own.contact_id, other.contact_id),
    name = case when own.contact_id is null and (other.contact_id is not null or own.name = own.counterpart)
        and other.name <> other.counterpart then other.name else own.name end,
    status = case when 'open' in (own.status, other.status) then 'open'
      when 'snoozed' in (own.status, other.status) then 'snoozed' else 'closed' end,
    assignee_id = coalesce(own.assignee_id, other.assignee_id),
    priority = greatest(own.priority, other.priority),
    tags = own.tags || array(select t from unnest(other.tags) t where t <> all (own.tags)),
    snoozed_until = case when 'open' in (own.status, other.status) then null
      else least(own.snoozed_until, other.snoozed_until) end,
    snoozed_till_reply = (own.snoozed_till_reply or other.snoozed_till_reply)
      and 'open' not in (own.status, other.status),
    last_at = case when is_later then other.last_at else own.last_at end,
    last_item = case when is_later then other.last_item else own.last_item end,
    last_kind = case when is_later then other.last_kind else own.last_kind end,
    last_direction = case when is_later then other.last_direction else own.last_direction end,
    last_text = case when is_later then other.last_text else own.last_text end,
    last_channel = case when is_later then other.last_channel else own.last_channel end,
    last_inbound = case when own.last_inbound is null or other.last_inbound > own.last_inbound then other.last_inbound
      else own.last_inbound end,
    waiting_since = least(own.waiting_since, other.waiting_since),
    closed_at = case when own.closed_at is not null and other.closed_at is not null
      then greatest(own.closed_at, other.closed_at) end,
    -- Whatever is missing is taken in again, which changes nothing twice.
    items_before = case when own.items_before is not null or other.items_before is not null
      then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid end,
    number = case when is_later then other.number else own.number end,
    version = greatest(own.version, other.version) + 1,
    created_at = least(own.created_at, other.created_at)
  where account_id = own.account_id and id = own.id;
end $$;

create temporary table joined_conversations (account_id uuid, own_id uuid, other_id uuid) on commit drop;
do $$
declare
  other record;
  own uuid;
begin
  -- The form that was dialled stays so.
  update conversations set number = counterpart
  where counterpart like '+54%' and counterpart <> canonical_number(counterpart);
  for other in
    select account_id, id, counterpart from conversations
    where counterpart like '+%' and counterpart <> canonical_number(counterpart) order by account_id, id
  loop
    select id into own from conversations
    where account_id = other.account_id and counterpart = canonical_number(other.counterpart);
    if own is not null then
      perform conversations_join(other.account_id, own, other.id);
      insert into joined_conversations values (other.account_id, own, other.id);
    else
      update conversations set counterpart = canonical_number(counterpart), version = version + 1,
        name = case when name = counterpart then canonical_number(counterpart) else name end
      where account_id = other.account_id and id = other.id;
    end if;
  end loop;
  if exists (select from joined_conversations) then
    update events e set conversation = 'inbox ' || j.own_id from joined_conversations j
    where e.account_id = j.account_id and e.conversation = 'inbox ' || j.other_id;
  end if;
end $$;
drop table joined_conversations;

-- Conversations have the names of contacts that were saved in another form.
update conversations v set contact_id = f.id, name = f.name, version = version + 1
from (
  select distinct on (d.account_id, d.match_key) d.account_id, d.match_key, c.id,
    trim(c.first_name || ' ' || c.last_name) as name
  from contact_details d join contacts c on c.account_id = d.account_id and c.id = d.contact_id
  where d.type in ('PH', 'WAPH') and d.match_key ~ '^\+(?:5[245]|22[59]|84)'
  order by d.account_id, d.match_key, c.id) f
where v.account_id = f.account_id and v.counterpart = f.match_key and v.contact_id is null and v.group_id is null
  and f.name <> '';
