import type { Db, Tx } from '../db/sql.ts'

/** SQL over the parts of texts while they are being submitted: for long texts, and for every text that a route must not
 *  submit twice. All others are written down once, when they are done (states.ts). */

export type Beginning = {
  account: string
  id: string
  number: string
  contact: string
  /** It has several parts, and so needs a reference. */
  isLong: boolean
}

export type Begun = {
  account_id: string
  id: string
  reference: number | null
  /** What is known of each part from an earlier try. */
  pieces: { part: number; parts: number; status: string; connection: string; seconds: number }[]
}

/** Marks texts as being sent, gives long ones their reference, and says what became of their parts so far. A text that is
 *  not to be sent any more (it was canceled, or has failed) is left out. */
export const begin = (tx: Db | Tx, texts: readonly Beginning[]) => tx.many<Begun>`
  with given as materialized (
    select g.*, m.reference is null and g.is_long as is_new
    from unnest(${texts.map((t) => t.account)}::uuid[], ${texts.map((t) => t.id)}::uuid[],
      ${texts.map((t) => t.number)}::text[], ${texts.map((t) => t.contact)}::text[],
      ${texts.map((t) => t.isLong)}::boolean[]) as g (account_id, id, number, contact, is_long)
    cross join lateral (
      select reference from sms_messages where account_id = g.account_id and id = g.id offset 0) m
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
    where (m.account_id, m.id) >= (g.account_id, g.id) and (m.account_id, m.id) <= (g.account_id, g.id)
      and m.status in ('queued', 'scheduled', 'sending')
    returning m.account_id, m.id, m.reference
  )
  select b.*, coalesce((
    select jsonb_agg(jsonb_build_object('part', p.part, 'parts', p.parts, 'status', p.status,
      'connection', p.connection_id, 'seconds', extract(epoch from (select app_now()) - p.sent_at)))
    from sms_parts p where p.account_id = b.account_id and p.message_id = b.id), '[]') as pieces
  from begun b`

export type Piece = {
  account: string
  message: string
  part: number
  parts: number
  connection: string
  /** Null while the carrier has not answered. */
  carrierId: string | null
}

/** One part of a message. */
export type Place = Pick<Piece, 'account' | 'message' | 'part'>

/** Writes down that a part was handed to a carrier, or, with its id, that the carrier has it. */
export const put = (tx: Db | Tx, pieces: readonly Piece[]) => tx.run`
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

/** The answer to a submit was lost: the carrier may or may not have the part. */
export const doubt = (tx: Db | Tx, { account, message, part }: Place) => tx.run`
  update sms_parts set status = 'doubtful', updated_at = (select app_now())
  where account_id = ${account} and message_id = ${message} and part = ${part} and status = 'sending'`

/** The carrier surely did not take the part. */
export const withdraw = (tx: Db | Tx, { account, message, part }: Place) => tx.run`
  delete from sms_parts
  where account_id = ${account} and message_id = ${message} and part = ${part} and status in ('sending', 'doubtful')`

export type Attempt = {
  account: string
  message: string
  id: string
  part: number
  connection: string
  outcome: 'retry' | 'refused' | 'unknown'
  reason: string
}

/** A message that a carrier throttles for two days is tried thousands of times: the first attempts are kept. */
const mostAttempts = 100

/** Keeps why carriers did not take parts. */
export const attempt = (tx: Db | Tx, attempts: readonly Attempt[]) => tx.run`
  insert into sms_attempts (account_id, message_id, id, part, connection_id, outcome, reason, at)
  select g.*, app_now()
  from unnest(${attempts.map((a) => a.account)}::uuid[], ${attempts.map((a) => a.message)}::uuid[],
    ${attempts.map((a) => a.id)}::uuid[], ${attempts.map((a) => a.part)}::smallint[],
    ${attempts.map((a) => a.connection)}::uuid[], ${attempts.map((a) => a.outcome)}::text[],
    ${attempts.map((a) => a.reason)}::text[]) as g (account_id, message_id, id, part, connection_id, outcome, reason)
  where (select count(*) from sms_attempts s where s.account_id = g.account_id and s.message_id = g.message_id)
    < ${mostAttempts}`

/** References that no handset joins parts by any more. */
export const forgetReferences = (tx: Tx) => tx.run`
  delete from sms_references where used_at < app_now() - interval '2 days'`
