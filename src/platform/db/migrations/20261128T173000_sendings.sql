-- Sendings: the messages of one request that sends many.
--
-- The messages of a sending are ordinary messages, in batches like all others (12_sms_functions.sql). The sending lists
-- their ids, so that its progress is read by the primary key, with no index that each message would pay for.
create table sms_sendings (
  account_id uuid not null,
  id uuid not null,
  -- The person who sent it in a session; null: a key.
  user_id uuid,
  state text not null check (state in ('running', 'paused', 'canceled', 'completed')),
  refused integer not null,
  price numeric(18, 6) not null,
  message_ids uuid[] not null,
  -- Jobs of its batches.
  job_ids uuid[] not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id)
);
-- Ids do not compress: trying to costs 0.1 ms for a thousand.
alter table sms_sendings alter column message_ids set storage external;
create index sms_sendings_by_time on sms_sendings (account_id, created_at desc, id desc);
create index sms_sendings_running on sms_sendings (account_id, id) where state = 'running';

alter table sms_messages add column sending_id uuid;

-- Accepts the messages of one request for one account: those that it may send and can pay, with their debit, the sending
-- and the jobs of its batches. Each message is decided in order, as a single one would be: a contact that opted out
-- refuses it, and so does a balance that does not cover its price after the messages before it. A cheaper message after
-- it may be covered. If none is accepted, nothing is stored. Rows: the position of each refused message, from 1, with
-- the reason.
--
-- A column whose values are all equal may have one element: channels, senders, texts, encodings, fragment counts, prices
-- and decisions. The batches may list refused messages: a batch reads the messages that exist.
create function sms_accept_sending(
  account uuid, sending uuid, person uuid, honours_opt_out boolean, refused_before integer, batches uuid[],
  payloads jsonb[], ids uuid[], channels uuid[], senders text[], recipients text[], texts text[], encodings text[],
  fragment_counts smallint[], prices numeric[], decision_ids uuid[]
) returns table (n integer, note text) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  platform_now timestamptz := app_now();
  size integer := cardinality(ids);
  -- The reason of each refused message; null if none is refused.
  reasons text[];
  funds numeric;
  total numeric;
  cost numeric;
  first_id uuid := ids[1];
  accepted integer := size;
begin
  if exists (select from sms_opt_outs o where o.account_id = account) then
    select array_agg(case when found.is_blocked then 'opted_out' end order by g.n) into reasons
    from unnest(recipients, senders) with ordinality g (contact, number, n)
    left join lateral (
      select true as is_blocked from sms_opt_outs o
      where o.account_id = account and o.contact = canonical_number(g.contact) and o.number in (coalesce(g.number, senders[1]), '')
        and (honours_opt_out or o.reason <> 'keyword')
      limit 1) found on true;
    if array_position(reasons, 'opted_out') is null then reasons := null; end if;
  end if;

  select b.balance into funds from balances b where b.account_id = account for update;
  select coalesce(sum(coalesce(g.price, prices[1])), 0) into total
  from unnest(ids, prices) with ordinality g (id, price, n) where reasons is null or reasons[g.n] is null;
  if funds is null or funds < total or funds < 0 then
    reasons := coalesce(reasons, array_fill(null::text, array[size]));
    total := 0;
    for i in 1..size loop
      continue when reasons[i] is not null;
      cost := coalesce(prices[i], prices[1]);
      if funds - total >= cost then total := total + cost; else reasons[i] := 'balance'; end if;
    end loop;
  end if;
  if reasons is not null then
    select count(*), (array_agg(ids[g.n] order by g.n))[1] into accepted, first_id
    from unnest(reasons) with ordinality g (reason, n) where g.reason is null;
  end if;

  if accepted > 0 then
    if total > 0 then
      update balances b set balance = b.balance - total where b.account_id = account;
      insert into transfers (account_id, id, debit, credit, amount, kind, reference, note, created_at)
      values (account, sending, 'balance', 'sms', total, 'sms', 'SMO' || first_id, accepted || ' sent', platform_now);
    end if;
    insert into sms_sendings (account_id, id, user_id, state, refused, price, message_ids, job_ids, created_at, updated_at)
    values (account, sending, person, 'running', refused_before + size - accepted, total,
      case when reasons is null then ids else
        (select array_agg(ids[g.n] order by g.n) from unnest(reasons) with ordinality g (reason, n)
          where g.reason is null) end,
      batches, platform_now, platform_now);
    insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price,
      transfer_id, status, decision_id, sending_id, created_at, updated_at)
    select account, g.id, coalesce(g.channel_id, channels[1]), 'outbound', g.contact, coalesce(g.number, senders[1]),
      coalesce(g.text, texts[1]), coalesce(g.encoding, encodings[1]), coalesce(g.fragments, fragment_counts[1]),
      coalesce(g.price, prices[1]), case when coalesce(g.price, prices[1]) > 0 then sending end, 'queued',
      coalesce(g.decision_id, decision_ids[1]), sending, platform_now, platform_now
    from unnest(ids, channels, recipients, senders, texts, encodings, fragment_counts, prices, decision_ids)
      with ordinality g (id, channel_id, contact, number, text, encoding, fragments, price, decision_id, n)
    where reasons is null or reasons[g.n] is null;
    insert into jobs (id, account_id, kind, payload, run_at, created_at)
    select b.id, account, 'sms.batch', b.payload, platform_now, platform_now from unnest(batches, payloads) b (id, payload);
  end if;
  return query select g.n::integer, g.reason from unnest(reasons) with ordinality g (reason, n)
    where g.reason is not null order by g.n;
end $$;

-- The number of messages of a sending in each status.
create function sms_sending_counts(account uuid, sending uuid) returns table (status text, messages integer) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
begin
  return query
    select m.status, count(*)::integer
    from sms_sendings s cross join lateral unnest(s.message_ids) i (id)
    cross join lateral (
      select status from sms_messages where account_id = account and id >= i.id and id <= i.id order by id limit 1) m
    where s.account_id = account and s.id = sending
    group by m.status;
end $$;

-- Marks running sendings as completed that have no message left to submit: of those after `from_account` and `from_id`,
-- the next `many`. Rows: the last sending examined, with the number of those examined.
create function sms_complete_sendings(from_account uuid, from_id uuid, many integer)
  returns table (account_id uuid, id uuid, examined integer) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
begin
  return query
    with next as materialized (
      select s.account_id, s.id, s.message_ids from sms_sendings s
      where s.state = 'running' and (s.account_id, s.id) > (from_account, from_id)
      order by s.account_id, s.id limit many
    ), ended as (
      update sms_sendings s set state = 'completed', updated_at = (select app_now())
      from next x
      where s.account_id = x.account_id and s.id = x.id and s.state = 'running' and not exists (
        select from unnest(x.message_ids) i (id) cross join lateral (
          select status from sms_messages where account_id = x.account_id and id >= i.id and id <= i.id
          order by id limit 1) m
        where m.status in ('queued', 'scheduled', 'sending'))
    )
    select x.account_id, x.id, (select count(*)::integer from next) from next x
    order by x.account_id desc, x.id desc limit 1;
end $$;
