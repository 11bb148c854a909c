import type { Tx } from '../../platform/db/sql.ts'
import { longestReceiptSeconds } from './limits.ts'
import type { EventRow } from './store.ts'

/**
 * SQL for state transitions of messages and their parts. The functions return the messages whose state changed.
 *
 * Every row is looked up in the order of its key, as in migrations/baseline/12_sms_functions.sql. Messages are locked
 * first, and then changed where they were found.
 */

/**
 * Makes the plans of this transaction find rows by index. A plan made while a table is small scans it, and is cached
 * until statistics are next gathered: a minute in which a fresh installation may accept half a million messages. The
 * plan is also generic: planning for each batch took half the time of a receipt.
 */
export const forceIndexPlans = (tx: Tx) => tx.run`
  select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('enable_material', 'off', true), set_config('enable_sort', 'off', true),
    set_config('enable_incremental_sort', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)`

export type SentPart = { account: string; message: string; part: number; connection: string; carrierId: string }

/** Marks messages as sent, and stores those of their parts that are not stored yet. */
export const markSent = async (
  tx: Tx,
  messages: readonly { account: string; id: string }[],
  parts: readonly SentPart[],
): Promise<EventRow[]> => {
  await lockMessages(tx, messages)
  return await tx.many<EventRow>`
  with part as (
    insert into sms_parts (account_id, message_id, part, connection_id, carrier_id, status, sent_at, updated_at)
    select g.*, 'sent', (select app_now()), (select app_now()) from unnest(
      ${parts.map((p) => p.account)}::uuid[], ${parts.map((p) => p.message)}::uuid[],
      ${parts.map((p) => p.part)}::smallint[], ${parts.map((p) => p.connection)}::uuid[],
      ${parts.map((p) => p.carrierId)}::text[]) as g
    on conflict (account_id, message_id, part) do update
      set connection_id = excluded.connection_id, carrier_id = excluded.carrier_id, status = 'sent',
        sent_at = excluded.sent_at
      where sms_parts.status in ('sending', 'doubtful')
  )
  update sms_messages m set status = 'sent', updated_at = (select app_now())
  from unnest(${messages.map((m) => m.account)}::uuid[], ${messages.map((m) => m.id)}::uuid[]) as g (account_id, id)
  cross join lateral (
    select ctid as place from sms_messages
    where account_id = g.account_id and id >= g.id and id <= g.id order by id limit 1) f
  where m.ctid = f.place and m.status in ('queued', 'scheduled', 'sending')
  returning m.account_id, m.id, m.channel_id, m.direction, m.contact, m.number, m.text, m.fragments, m.price, m.status,
    m.sub_status, m.error_code, m.sending_id, m.created_at, m.updated_at`
}

/** A message with the transfer that paid for it; null without a price. */
export type PaidRow = EventRow & { transfer_id: string | null }

export type EndedMessage = { account: string; id: string; status: 'failed' | 'expired' | 'unknown'; code: string }

/** Ends messages that were not sent. `is_untouched`: no carrier accepted any part. One whose validity ended while the answer
 *  to a submit was missing may have been sent: it is `unknown`, and its receipt still counts. */
export const markEnded = async (
  tx: Tx,
  messages: readonly EndedMessage[],
): Promise<(PaidRow & { is_untouched: boolean })[]> => {
  await lockMessages(tx, messages)
  return await tx.many<PaidRow & { is_untouched: boolean }>`
  update sms_messages m set
    status = case when d.is_doubtful then 'unknown' else g.status end,
    error_code = case when d.is_doubtful then 'outcome_unknown' else g.code end,
    updated_at = (select app_now())
  from unnest(${messages.map((m) => m.account)}::uuid[], ${messages.map((m) => m.id)}::uuid[],
    ${messages.map((m) => m.status)}::text[], ${messages.map((m) => m.code)}::text[]) as g (account_id, id, status, code)
  cross join lateral (
    select ctid as place from sms_messages
    where account_id = g.account_id and id >= g.id and id <= g.id order by id limit 1) f
  cross join lateral (
    select g.status = 'expired' and exists (
      select from sms_parts p
      where p.account_id = g.account_id and p.message_id = g.id and p.status in ('sending', 'doubtful') offset 0
    ) as is_doubtful) d
  where m.ctid = f.place and m.status in ('queued', 'scheduled', 'sending')
  returning m.account_id, m.id, m.channel_id, m.direction, m.contact, m.number, m.text, m.fragments, m.price, m.status,
    m.sub_status, m.error_code, m.sending_id, m.created_at, m.updated_at, m.transfer_id,
    not exists (select from sms_parts p where p.account_id = m.account_id and p.message_id = m.id offset 0) as is_untouched`
}

/** Cancels a message before its send time. Null if the time has come, even without a worker, or it does not exist. */
export const markCanceled = (tx: Tx, account: string, id: string) => tx.maybe<PaidRow>`
  update sms_messages m set status = 'canceled', updated_at = (select app_now())
  where m.account_id = ${account} and m.id = ${id} and m.status = 'scheduled' and m.send_at > (select app_now())
  returning m.account_id, m.id, m.channel_id, m.direction, m.contact, m.number, m.text, m.fragments, m.price, m.status,
    m.sub_status, m.error_code, m.sending_id, m.created_at, m.updated_at, m.transfer_id`

/** Cancels those of the messages that no submit has begun. Leaves out those with a job of their own, except `own`. */
export const markUnsubmittedCanceled = async (
  tx: Tx,
  messages: readonly { account: string; id: string }[],
  own: readonly string[],
): Promise<PaidRow[]> => {
  await lockMessages(tx, messages)
  return await tx.many<PaidRow>`
    update sms_messages m set status = 'canceled', updated_at = (select app_now())
    from unnest(${messages.map((m) => m.account)}::uuid[], ${messages.map((m) => m.id)}::uuid[]) as g (account_id, id)
    cross join lateral (
      select ctid as place from sms_messages
      where account_id = g.account_id and id >= g.id and id <= g.id order by id limit 1) f
    where m.ctid = f.place and m.status = 'queued'
      and (m.id = any (${own}::uuid[]) or not exists (select from jobs j where j.id = g.id offset 0))
    returning m.account_id, m.id, m.channel_id, m.direction, m.contact, m.number, m.text, m.fragments, m.price, m.status,
      m.sub_status, m.error_code, m.sending_id, m.created_at, m.updated_at, m.transfer_id`
}

/** Locks messages in sorted order, so that receipts for two parts of one message see each other. */
export const lockMessages = (tx: Tx, messages: readonly { account: string; id: string }[]) => tx.run`
  select 1 from (
    select * from unnest(${messages.map((m) => m.account)}::uuid[], ${messages.map((m) => m.id)}::uuid[]) as g (account_id, id)
    order by account_id, id
  ) g
  cross join lateral (
    select from sms_messages where account_id = g.account_id and id >= g.id and id <= g.id
    order by id limit 1 for update) m`

export type PartChange = { account: string; message: string; part: number; status: string; error: string | null }

/** Updates part states. Final states do not change, except that `delivered` corrects any other. */
export const updateParts = (tx: Tx, parts: readonly PartChange[]) => tx.run`
  update sms_parts p set status = g.status, error_code = g.error, updated_at = (select app_now())
  from unnest(${parts.map((p) => p.account)}::uuid[], ${parts.map((p) => p.message)}::uuid[],
    ${parts.map((p) => p.part)}::smallint[], ${parts.map((p) => p.status)}::text[], ${parts.map((p) => p.error)}::text[])
    as g (account_id, message_id, part, status, error)
  where p.account_id = g.account_id and p.message_id = g.message_id and p.part >= g.part and p.part <= g.part
    and (p.status in ('sent', 'enroute', 'accepted', 'unknown') or (g.status = 'delivered' and p.status <> 'delivered'))`

type DerivedRow = EventRow & { is_new: boolean; is_whole: boolean; before: string }

/** Adds the `sent` event if receipts arrived before the submit of all parts was stored. */
const withImpliedSent = (row: DerivedRow): EventRow[] => {
  const wasUnsent = ['queued', 'scheduled', 'sending'].includes(row.before)
  if (!row.is_whole || !wasUnsent || row.status === 'sent') return [row]
  return [{ ...row, status: 'sent', sub_status: null, error_code: null }, row]
}

/** Derives the state of each message from its parts: one failed part fails it, and all parts must be delivered. The
 *  state does not change while parts are still to be submitted or the fate of one is unknown. Returns the changed
 *  messages, once for each state that they reached. The messages must be locked. */
export const deriveStatus = async (
  tx: Tx,
  messages: readonly { account: string; id: string }[],
): Promise<EventRow[]> => {
  const changed = await tx.many<DerivedRow>`
    update sms_messages m set
      status = f.status,
      sub_status = case when f.status in ('sent', 'sending') then f.intermediate end,
      error_code = case when f.status = f.failed then f.error when f.status = f.before then m.error_code end,
      updated_at = (select app_now())
    from (
      select c.*, case
        when c.failed is not null then c.failed
        when c.delivered = c.parts then 'delivered'
        when c.taken < c.parts then c.before
        else 'sent' end as status
      from (
        select o.place, o.status as before, p.*
        from unnest(${messages.map((m) => m.account)}::uuid[], ${messages.map((m) => m.id)}::uuid[]) as g (account_id, id)
        cross join lateral (
          select ctid as place, status from sms_messages
          where account_id = g.account_id and id >= g.id and id <= g.id order by id limit 1) o
        cross join lateral (
          select max(parts) as parts,
            count(*) filter (where status not in ('sending', 'doubtful')) as taken,
            count(*) filter (where status = 'delivered') as delivered,
            coalesce(min(status) filter (where status in ('rejected', 'undelivered')),
              min(status) filter (where status = 'expired')) as failed,
            min(error_code) filter (where status in ('rejected', 'undelivered', 'expired')) as error,
            min(status) filter (where status in ('enroute', 'accepted', 'unknown')) as intermediate
          from sms_parts where account_id = g.account_id and message_id = g.id having count(*) > 0
        ) p
      ) c
    ) f
    where m.ctid = f.place
    returning m.account_id, m.id, m.channel_id, m.direction, m.contact, m.number, m.text, m.fragments, m.price, m.status,
      m.sub_status, m.error_code, m.sending_id, m.created_at, m.updated_at, f.status <> f.before as is_new,
      f.taken = f.parts as is_whole, f.before`
  return changed.filter(({ is_new }) => is_new).flatMap(withImpliedSent)
}

/** Returns the connections of which missing receipts are marked: also those that were disabled, and those that were deleted
 *  so lately that their parts may still wait. */
export const checkedConnections = async (tx: Tx): Promise<string[]> => {
  await tx.run`
    update sms_receipt_checks r set gone_at = app_now()
    where gone_at is null and not exists (select from connections c where c.id = r.connection_id)`
  await tx.run`delete from sms_receipt_checks where gone_at < app_now() - make_interval(secs => ${longestReceiptSeconds})`
  return (await tx.many<{ id: string }>`select connection_id as id from sms_receipt_checks`).map(({ id }) => id)
}

/** Marks messages of a connection without receipts, among the parts that were sent at least `seconds` ago and were not
 *  checked before. */
export const markMissingReceipts = async (tx: Tx, connection: string, seconds: number): Promise<void> => {
  // Runs once a minute on a varying number of rows, so a custom plan pays off.
  await tx.run`select set_config('plan_cache_mode', 'force_custom_plan', true)`
  await tx.run`
    insert into sms_receipt_checks (connection_id, until)
    values (${connection}, 'epoch') on conflict do nothing`
  await tx.run`
    with watch as materialized (
      select until, app_now() - make_interval(secs => ${seconds}) as next
      from sms_receipt_checks where connection_id = ${connection}
    ), overdue as materialized (
      select p.account_id, p.message_id from sms_parts p
      where p.sent_at > (select until from watch) and p.sent_at <= (select next from watch)
        and p.connection_id = ${connection} and p.status in ('sent', 'enroute', 'accepted', 'unknown')
    ), marked as (
      update sms_messages m set sub_status = 'no_receipt', updated_at = (select app_now())
      from overdue o where m.account_id = o.account_id and m.id = o.message_id and m.status = 'sent'
      returning m.id
    )
    update sms_receipt_checks w set until = greatest(w.until, watch.next),
      without_receipt = w.without_receipt + (select count(*) from marked)
    from watch where w.connection_id = ${connection}`
}
