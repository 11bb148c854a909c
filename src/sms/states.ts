import type { Tx } from '../db/sql.ts'

/** SQL that moves messages and their parts from state to state. */

export type Sent = { account: string; message: string; part: number; connection: string; carrierId: string }

/** Parts that a carrier took, and with them their messages. */
export const sent = (tx: Tx, parts: readonly Sent[]) => tx.run`
  with given as materialized (
    select *, (select app_now()) as at from unnest(
      ${parts.map((p) => p.account)}::uuid[], ${parts.map((p) => p.message)}::uuid[], ${parts.map((p) => p.part)}::smallint[],
      ${parts.map((p) => p.connection)}::uuid[], ${parts.map((p) => p.carrierId)}::text[]
    ) as g (account_id, message_id, part, connection_id, carrier_id)
  ), message as (
    update sms_messages m set status = 'sent', updated_at = g.at
    from given g where m.account_id = g.account_id and m.id = g.message_id and g.part = 1 and m.status = 'queued'
  )
  insert into sms_parts (account_id, message_id, part, connection_id, carrier_id, status, sent_at, updated_at)
  select account_id, message_id, part, connection_id, carrier_id, 'sent', at, at from given
  on conflict (account_id, message_id, part) do update
    set connection_id = excluded.connection_id, carrier_id = excluded.carrier_id, sent_at = excluded.sent_at`

export type Failed = { account: string; id: string; code: string }

/** Messages that no carrier took; gives those that were not final yet, to be refunded. */
export const fail = (tx: Tx, messages: readonly Failed[]) => tx.many<{ account_id: string; id: string; price: string }>`
  update sms_messages m set status = 'failed', error_code = g.code, updated_at = (select app_now())
  from unnest(${messages.map((m) => m.account)}::uuid[], ${messages.map((m) => m.id)}::uuid[],
    ${messages.map((m) => m.code)}::text[]) as g (account_id, id, code)
  where m.account_id = g.account_id and m.id = g.id and m.status = 'queued'
  returning m.account_id, m.id, m.price`

export type PartState = { n: number; account_id: string; message_id: string; part: number }

/** The parts that receipts speak of: of several with one id at a carrier, the newest. */
export const partsOf = (tx: Tx, receipts: readonly { connection: string; carrierId: string }[]) => tx.many<PartState>`
  select g.n::int - 1 as n, p.account_id, p.message_id, p.part
  from unnest(${receipts.map((r) => r.connection)}::uuid[], ${receipts.map((r) => r.carrierId)}::text[])
    with ordinality as g (connection_id, carrier_id, n)
  cross join lateral (
    select account_id, message_id, part from sms_parts
    where connection_id = g.connection_id and carrier_id = g.carrier_id
    order by sent_at desc limit 1
  ) p`

/** Locks messages in one order, so that receipts for two parts of one message see each other. */
export const lock = (tx: Tx, messages: readonly { account: string; id: string }[]) => tx.run`
  select 1 from sms_messages
  where (account_id, id) in (select * from unnest(
    ${messages.map((m) => m.account)}::uuid[], ${messages.map((m) => m.id)}::uuid[]))
  order by account_id, id for update`

export type PartChange = { account: string; message: string; part: number; status: string; error: string | null }

/** A final state of a part stays, but for `delivered`, which corrects any other. */
export const changeParts = (tx: Tx, parts: readonly PartChange[]) => tx.run`
  update sms_parts p set status = g.status, error_code = g.error, updated_at = (select app_now())
  from unnest(${parts.map((p) => p.account)}::uuid[], ${parts.map((p) => p.message)}::uuid[],
    ${parts.map((p) => p.part)}::smallint[], ${parts.map((p) => p.status)}::text[], ${parts.map((p) => p.error)}::text[])
    as g (account_id, message_id, part, status, error)
  where p.account_id = g.account_id and p.message_id = g.message_id and p.part = g.part
    and (p.status in ('sent', 'enroute', 'accepted', 'unknown') or (g.status = 'delivered' and p.status <> 'delivered'))`

/** Makes each message's state of those of its parts: one that failed fails it, and all must be delivered. */
export const fold = (tx: Tx, messages: readonly { account: string; id: string }[]) => tx.run`
  update sms_messages m set
    status = case
      when f.failed is not null then f.failed
      when f.delivered = f.parts then 'delivered'
      else 'sent' end,
    sub_status = case when f.failed is null and f.delivered < f.parts then f.intermediate end,
    error_code = case when f.failed is not null then f.error end,
    updated_at = (select app_now())
  from (
    select p.account_id, p.message_id, count(*) as parts,
      count(*) filter (where p.status = 'delivered') as delivered,
      coalesce(min(p.status) filter (where p.status in ('rejected', 'undelivered')),
        min(p.status) filter (where p.status = 'expired')) as failed,
      min(p.error_code) filter (where p.status in ('rejected', 'undelivered', 'expired')) as error,
      min(p.status) filter (where p.status in ('enroute', 'accepted', 'unknown')) as intermediate
    from sms_parts p
    where (p.account_id, p.message_id) in (select * from unnest(
      ${messages.map((m) => m.account)}::uuid[], ${messages.map((m) => m.id)}::uuid[]))
    group by p.account_id, p.message_id
  ) f
  where m.account_id = f.account_id and m.id = f.message_id`
