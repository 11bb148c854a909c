-- Accepts outbound texts: in one statement each text, its debit and its job, or none of them. A text to a contact who opted out
-- is left out, and one whose account cannot pay for it and for those before it. The first `lease_count` of those due at once are
-- added leased to a worker, unless older ones wait.
--
-- Here for the sake of its plan: prepared by a connection it was planned anew for each batch if the first five were small, which
-- took longer than the batch. Every look into a table goes through an index however the table grows.
-- Rows: a text that was left out, with the reason, and an older one that waits.
create function sms_accept(
  accounts uuid[], ids uuid[], channels uuid[], senders text[], recipients text[], texts text[], encodings text[],
  fragment_counts smallint[], prices numeric[], transfer_ids uuid[], send_ats timestamptz[], decision_ids uuid[], longs text[],
  honours_opt_out boolean, lease_count integer, lease_seconds double precision, worker uuid
) returns table (id uuid, note text) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  today timestamptz := app_now();
begin
  return query
    with given as materialized (
      select * from unnest(accounts, ids, channels, senders, recipients, texts, encodings, fragment_counts, prices, transfer_ids,
        send_ats, decision_ids, longs) with ordinality
        g (account_id, id, channel_id, number, contact, text, encoding, fragments, price, transfer_id, send_at, decision_id, long, n)
    ), older as materialized (
      -- Texts that another process accepted, or that wait for a carrier, go first: nothing is leased beside them.
      select j.id from jobs j
      where lease_count > 0 and j.kind = 'sms.submit' and j.leased_until is null and not j.parked and j.run_at <= today
      order by j.run_at, j.id limit 1
    ), blocked as materialized (
      select g.id from given g cross join lateral (
        select from sms_opt_outs o
        where o.account_id = g.account_id and o.number = g.number and o.contact = g.contact and honours_opt_out
        limit 1) as found
    ), purse as materialized (
      -- In one order, so that two batches cannot wait for each other.
      select a.account_id, b.balance from (select distinct g.account_id from given g order by g.account_id) a
      cross join lateral (select balance from balances where account_id = a.account_id limit 1 for update) b
    ), paid as materialized (
      select * from (
        select g.*, p.balance - sum(g.price) over (partition by g.account_id order by g.n) as rest
        from given g join purse p using (account_id)
        where g.id not in (select id from blocked)
      ) as summed where rest >= 0
    ), bill as materialized (
      select p.account_id, p.transfer_id, sum(p.price) as total, count(*) as messages, min(p.id::text) as first
      from paid p group by p.account_id, p.transfer_id
    ), debit as (
      update balances b set balance = b.balance - bill.total
      from bill where b.account_id = bill.account_id and bill.total > 0
    ), transfer as (
      insert into transfers (account_id, id, debit, credit, amount, kind, reference, note, created_at)
      select account_id, transfer_id, 'balance', 'sms', total, 'sms', 'SMO' || first, messages || ' sent', today
      from bill where total > 0
    ), message as (
      insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price,
        transfer_id, status, send_at, decision_id, created_at, updated_at)
      select account_id, id, channel_id, 'outbound', contact, number, text, encoding, fragments, price,
        case when price > 0 then transfer_id end, case when send_at > today then 'scheduled' else 'queued' end,
        case when send_at > today then send_at end, decision_id, today, today
      from paid
    ), job as (
      insert into jobs (id, account_id, kind, payload, run_at, created_at, leased_until, owner, fence, attempts)
      select id, account_id, 'sms.submit',
        case when long = 'udh8' and send_at is null
          then jsonb_build_object('from', number, 'to', contact, 'text', text)
          else jsonb_build_object('from', number, 'to', contact, 'text', text, 'long', long, 'send_at', send_at) end,
        greatest(send_at, today), today,
        case when leased then (select clock_timestamp()) + make_interval(secs => lease_seconds) end,
        case when leased then worker end, leased::integer, leased::integer
      from (
        select *, send_at is null and not exists (select from older)
          and row_number() over (order by send_at is not null, n) <= lease_count as leased
        from paid
      ) as ranked
    )
    select b.id, 'opted_out' from blocked b
    union all
    select g.id, 'balance' from given g where g.id not in (select id from paid) and g.id not in (select id from blocked)
    union all
    select o.id, 'older' from older o;
end $$;
