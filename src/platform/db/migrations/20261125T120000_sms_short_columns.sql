-- Accepting a batch with shorter parameters.

-- As before, but a column whose values are all equal may have one element: channels, senders, encodings, fragment counts,
-- prices and decisions. Most messages of a batch have the same.
create or replace function sms_accept_batch(
  batch uuid, account uuid, payload jsonb, worker uuid, lease_seconds double precision, honours_opt_out boolean,
  total numeric, ids uuid[], channels uuid[], senders text[], recipients text[], texts text[], encodings text[],
  fragment_counts smallint[], prices numeric[], decision_ids uuid[]
) returns text language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  platform_now timestamptz := app_now();
  leased boolean := false;
begin
  if honours_opt_out and exists (select from sms_opt_outs o where o.account_id = account) and exists (
    select from unnest(senders, recipients) g (number, contact) cross join lateral (
      select from sms_opt_outs o
      where o.account_id = account and o.number = coalesce(g.number, senders[1]) and o.contact = g.contact
      limit 1) found) then
    return 'refused';
  end if;

  if total > 0 then
    update balances b set balance = b.balance - total where b.account_id = account and b.balance >= total;
    if not found then return 'refused'; end if;
    insert into transfers (account_id, id, debit, credit, amount, kind, reference, note, created_at)
    values (account, batch, 'balance', 'sms', total, 'sms', 'SMO' || ids[1], cardinality(ids) || ' sent', platform_now);
  elsif not exists (select from balances b where b.account_id = account and b.balance >= 0) then
    return 'refused';
  end if;

  insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price,
    transfer_id, status, decision_id, created_at, updated_at)
  select account, g.id, coalesce(g.channel_id, channels[1]), 'outbound', g.contact, coalesce(g.number, senders[1]), g.text,
    coalesce(g.encoding, encodings[1]), coalesce(g.fragments, fragment_counts[1]), coalesce(g.price, prices[1]),
    case when coalesce(g.price, prices[1]) > 0 then batch end, 'queued', coalesce(g.decision_id, decision_ids[1]),
    platform_now, platform_now
  from unnest(ids, channels, recipients, senders, texts, encodings, fragment_counts, prices, decision_ids)
    g (id, channel_id, contact, number, text, encoding, fragments, price, decision_id);

  if worker is not null then
    -- One step in jobs_due_by_account for each kind. With `account_id = account`, the planner may read all due jobs.
    leased := not exists (
      select from (values ('sms.batch'), ('sms.submit')) k (kind) cross join lateral (
        select j.account_id, j.run_at from jobs j
        where j.kind = k.kind and j.leased_until is null and not j.parked and j.account_id >= account
        order by j.account_id, j.run_at, j.id limit 1) j
      where j.account_id = account and j.run_at <= platform_now);
  end if;
  insert into jobs (id, account_id, kind, payload, run_at, created_at, leased_until, owner, fence, attempts)
  values (batch, account, 'sms.batch', payload, platform_now, platform_now,
    case when leased then clock_timestamp() + make_interval(secs => lease_seconds) end,
    case when leased then worker end, leased::integer, leased::integer);
  return case when leased then 'leased' else 'queued' end;
end $$;
