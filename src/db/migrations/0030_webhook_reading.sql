-- What processes ask again and again of webhooks, by plans that are made once a session, as in 0020: a plan made anew for each
-- question cost more than its answer (0.35 ms of CPU for what is due in a lane, 0.1 ms this way).

-- What is due in lanes, oldest first, but for what is in hand: that stands first in the index, and is read over. Without nested
-- loops the list of what is in hand is hashed; what has to be a loop stays one.
create function webhooks_load(accounts uuid[], webhooks uuid[], mosts integer[], held_webhooks uuid[], held_events uuid[])
returns table (webhook_id uuid, event_id uuid, conversation text, tries smallint, body text) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  today timestamptz := app_now();
begin
  return query
    select d.webhook_id, d.event_id, d.conversation, d.tries, e.payload::text
    from unnest(accounts, webhooks, mosts) w (account_id, webhook_id, most)
    cross join lateral (
      select d.account_id, d.webhook_id, d.event_id, d.conversation, d.tries from webhook_deliveries d
      where d.account_id = w.account_id and d.webhook_id = w.webhook_id and d.state = 'pending' and d.next_at <= today
      order by d.next_at, d.event_id limit w.most
    ) d
    cross join lateral (select payload from events where account_id = d.account_id and id = d.event_id offset 0) e
    where not exists (
      select from unnest(held_webhooks, held_events) h (webhook_id, event_id)
      where h.webhook_id = d.webhook_id and h.event_id = d.event_id)
    order by d.event_id;
end $$;
