import type { Tx } from '../../../platform/db/sql.ts'
import type { SmsInbound } from '../../../ports/sms.ts'

/** SQL for the reassembly of concatenated inbound messages (3GPP TS 23.040). */

export type InboundPart = SmsInbound & { connection: string; concat: NonNullable<SmsInbound['concat']> }

/** Stores parts. A part that is already stored is a duplicate or, after ten minutes, belongs to an older message with
 *  the same reference. Locks the receiving channels: of two processes that store the last two parts of a message at
 *  once, one must see both. */
export const storeParts = async (tx: Tx, parts: readonly InboundPart[]) => {
  await tx.run`
    select 1 from sms_channels where phone_number = any(${parts.map((p) => p.destination)}::text[]) and enabled
    order by id for update`
  await tx.run`
    insert into sms_inbound_parts (connection_id, source, destination, reference, parts, part, text, octets, coding)
    select * from unnest(${parts.map((p) => p.connection)}::uuid[], ${parts.map((p) => p.source)}::text[],
      ${parts.map((p) => p.destination)}::text[], ${parts.map((p) => p.concat.reference)}::integer[],
      ${parts.map((p) => p.concat.parts)}::smallint[], ${parts.map((p) => p.concat.part)}::smallint[],
      ${parts.map((p) => p.text)}::text[], ${parts.map((p) => p.raw?.octets ?? null)}::bytea[],
      ${parts.map((p) => p.raw?.coding ?? null)}::integer[])
    on conflict (connection_id, source, destination, reference, parts, part) do update
      set text = excluded.text, octets = excluded.octets, coding = excluded.coding, received_at = excluded.received_at
      where sms_inbound_parts.received_at < app_now() - interval '10 minutes'`
}

/** A stored part. `octets` is hexadecimal, and null for parts that an earlier version stored. */
export type StoredPart = { part: number; text: string; octets: string | null; coding: number | null }

export type JoinedParts = {
  connection_id: string
  /** Kind of the connection; null if it was deleted. */
  kind: string | null
  source: string
  destination: string
  kept: StoredPart[]
}

/** Removes and returns the messages whose parts have all arrived. */
export const takeComplete = (tx: Tx, parts: readonly InboundPart[]) => tx.many<JoinedParts>`
  with whole as (
    select w.connection_id, w.source, w.destination, w.reference, w.parts
    from sms_inbound_parts w
    where (w.connection_id, w.source, w.destination, w.reference, w.parts) in (select * from unnest(
      ${parts.map((p) => p.connection)}::uuid[], ${parts.map((p) => p.source)}::text[],
      ${parts.map((p) => p.destination)}::text[], ${parts.map((p) => p.concat.reference)}::integer[],
      ${parts.map((p) => p.concat.parts)}::smallint[]))
      and w.received_at > app_now() - interval '24 hours'
    group by 1, 2, 3, 4, 5
    having count(*) = w.parts
  ), taken as (
    delete from sms_inbound_parts w using whole
    where w.connection_id = whole.connection_id and w.source = whole.source and w.destination = whole.destination
      and w.reference = whole.reference and w.parts = whole.parts
    returning w.*
  )
  select connection_id, (select c.kind from connections c where c.id = connection_id) as kind, source, destination,
    jsonb_agg(jsonb_build_object('part', part, 'text', text,
    'octets', encode(octets, 'hex'), 'coding', coding) order by part) as kept
  from taken group by connection_id, source, destination, reference, parts`

/** Removes and returns messages whose missing parts did not arrive within a day, at most 500 at a time. */
export const takeStale = (tx: Tx) => tx.many<JoinedParts>`
  with stale as (
    select connection_id, source, destination, reference, parts from sms_inbound_parts
    group by 1, 2, 3, 4, 5
    having min(received_at) < app_now() - interval '24 hours'
    limit 500
  ), taken as (
    delete from sms_inbound_parts w using stale s
    where w.connection_id = s.connection_id and w.source = s.source and w.destination = s.destination
      and w.reference = s.reference and w.parts = s.parts
    returning w.*
  )
  select connection_id, (select c.kind from connections c where c.id = connection_id) as kind, source, destination,
    jsonb_agg(jsonb_build_object('part', part, 'text', text,
    'octets', encode(octets, 'hex'), 'coding', coding) order by part) as kept
  from taken group by connection_id, source, destination, reference, parts`
