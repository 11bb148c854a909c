import type { Db, Tx } from '../../../platform/db/sql.ts'
import { maxStoredAttempts } from '../limits.ts'
import { lockMessages } from '../state-transition-store.ts'

/** SQL for message parts during a submit: of long messages, and of messages that a route must not submit twice. All
 *  other parts are stored once, on completion (state-transition-store.ts). */

export type SubmitStart = {
  account: string
  id: string
  number: string
  contact: string
  /** The message has several parts and needs a concatenation reference. */
  isLong: boolean
}

export type StartedMessage = {
  account_id: string
  id: string
  reference: number | null
  /** Parts known from earlier attempts. */
  pieces: { part: number; parts: number; status: string; connection: string; seconds: number }[]
}

/** Marks messages as being sent, assigns references to long ones, and returns the progress of their parts. Leaves out
 *  messages that must not be sent any more (canceled or failed). */
export const startSubmit = async (tx: Tx, texts: readonly SubmitStart[]): Promise<StartedMessage[]> => {
  await lockMessages(tx, texts)
  return await tx.many<StartedMessage>`
  with given as materialized (
    select g.*, m.place, m.reference is null and g.is_long as is_new
    from unnest(${texts.map((t) => t.account)}::uuid[], ${texts.map((t) => t.id)}::uuid[],
      ${texts.map((t) => t.number)}::text[], ${texts.map((t) => t.contact)}::text[],
      ${texts.map((t) => t.isLong)}::boolean[]) as g (account_id, id, number, contact, is_long)
    cross join lateral (
      select ctid as place, reference from sms_messages
      where account_id = g.account_id and id >= g.id and id <= g.id order by id limit 1) m
  ), counted as (
    insert into sms_references (number, contact, last, used_at)
    select number, contact, floor(random() * 256)::smallint, (select app_now()) from given where is_new
    on conflict (number, contact) do update
      set last = (sms_references.last + 1) % 256, used_at = excluded.used_at
    returning number, contact, last
  ), begun as (
    update sms_messages m set status = 'sending', updated_at = (select app_now()),
      reference = case when g.is_new then c.last else m.reference end
    from given g left join counted c on c.number = g.number and c.contact = g.contact
    where m.ctid = g.place and m.status in ('queued', 'scheduled', 'sending')
    returning m.account_id, m.id, m.reference
  )
  select b.account_id, b.id, b.reference, coalesce((
    select jsonb_agg(jsonb_build_object('part', p.part, 'parts', p.parts, 'status', p.status,
      'connection', p.connection_id, 'seconds', extract(epoch from (select app_now()) - p.sent_at)))
    from sms_parts p where p.account_id = b.account_id and p.message_id = b.id), '[]') as pieces
  from begun b`
}

export type MessagePart = {
  account: string
  message: string
  part: number
  parts: number
  connection: string
  /** Null until the carrier has responded. */
  carrierId: string | null
}

/** Key of a message part. */
export type PartKey = Pick<MessagePart, 'account' | 'message' | 'part'>

/** Records that a part was submitted or, with a carrier id, accepted. */
export const recordParts = (tx: Db | Tx, pieces: readonly MessagePart[]) => tx.run`
  insert into sms_parts (account_id, message_id, part, parts, connection_id, carrier_id, status, sent_at, updated_at)
  select account_id, message_id, part, parts, connection_id, carrier_id,
    case when carrier_id is null then 'sending' else 'sent' end, (select app_now()), (select app_now())
  from unnest(${pieces.map((p) => p.account)}::uuid[], ${pieces.map((p) => p.message)}::uuid[],
    ${pieces.map((p) => p.part)}::smallint[], ${pieces.map((p) => p.parts)}::smallint[],
    ${pieces.map((p) => p.connection)}::uuid[], ${pieces.map((p) => p.carrierId)}::text[])
    as g (account_id, message_id, part, parts, connection_id, carrier_id)
  on conflict (account_id, message_id, part) do update set
    parts = excluded.parts, connection_id = excluded.connection_id, carrier_id = excluded.carrier_id,
    status = excluded.status, sent_at = excluded.sent_at, updated_at = excluded.updated_at
    where sms_parts.status in ('sending', 'doubtful')`

/**
 * Records that parts are about to be submitted, if no other process did. A process whose lease was lost may still
 * submit its message while its successor begins.
 * @returns the recorded parts
 */
export const reserveParts = (tx: Db | Tx, pieces: readonly MessagePart[]) => tx.many<{ message: string; part: number }>`
  insert into sms_parts (account_id, message_id, part, parts, connection_id, status, sent_at, updated_at)
  select account_id, message_id, part, parts, connection_id, 'sending', (select app_now()), (select app_now())
  from unnest(${pieces.map((p) => p.account)}::uuid[], ${pieces.map((p) => p.message)}::uuid[],
    ${pieces.map((p) => p.part)}::smallint[], ${pieces.map((p) => p.parts)}::smallint[],
    ${pieces.map((p) => p.connection)}::uuid[]) as g (account_id, message_id, part, parts, connection_id)
  on conflict (account_id, message_id, part) do nothing
  returning message_id as message, part`

/** Marks a part whose submit response was lost: the carrier may or may not have it. */
export const markDoubtful = (tx: Db | Tx, { account, message, part }: PartKey) => tx.run`
  update sms_parts set status = 'doubtful', updated_at = (select app_now())
  where account_id = ${account} and message_id = ${message} and part = ${part} and status = 'sending'`

/** Deletes a part that the carrier certainly did not accept. */
export const deletePart = (tx: Db | Tx, { account, message, part }: PartKey) => tx.run`
  delete from sms_parts
  where account_id = ${account} and message_id = ${message} and part = ${part} and status in ('sending', 'doubtful')`

export type SubmitAttempt = {
  account: string
  message: string
  id: string
  part: number
  connection: string
  /** `queried`: the carrier was asked for a receipt, and `reason` is its answer. */
  outcome: 'retry' | 'refused' | 'unknown' | 'queried'
  reason: string
}

/** Records why carriers did not accept parts, and their answers about parts without a receipt. */
export const recordAttempts = (tx: Db | Tx, attempts: readonly SubmitAttempt[]) => tx.run`
  insert into sms_attempts (account_id, message_id, id, part, connection_id, outcome, reason, at)
  select g.*, app_now()
  from unnest(${attempts.map((a) => a.account)}::uuid[], ${attempts.map((a) => a.message)}::uuid[],
    ${attempts.map((a) => a.id)}::uuid[], ${attempts.map((a) => a.part)}::smallint[],
    ${attempts.map((a) => a.connection)}::uuid[], ${attempts.map((a) => a.outcome)}::text[],
    ${attempts.map((a) => a.reason)}::text[]) as g (account_id, message_id, id, part, connection_id, outcome, reason)
  where (select count(*) from sms_attempts s where s.account_id = g.account_id and s.message_id = g.message_id)
    < ${maxStoredAttempts}`

/** Deletes references that handsets no longer use to join parts. */
export const deleteOldReferences = (tx: Tx) => tx.run`
  delete from sms_references where used_at < app_now() - interval '2 days'`
