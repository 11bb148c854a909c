import type { SmsInbound } from '../connectors/port.ts'
import type { Tx } from '../db/sql.ts'

/** SQL over the parts of inbound texts that wait for the others. */

export type Part = SmsInbound & { connection: string; concat: NonNullable<SmsInbound['concat']> }

/** Keeps parts; one that is here already is a duplicate, or, after ten minutes, one of a text before: references come
 *  round. The receiving channels are locked, so that of two processes that keep the last two parts of a text at once one
 *  sees both. */
export const keep = async (tx: Tx, parts: readonly Part[]) => {
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

/** A part as it is kept; `octets` is in hexadecimal, and null for parts that an earlier version kept. */
export type Kept = { part: number; text: string; octets: string | null; coding: number | null }

export type Joined = { connection_id: string; source: string; destination: string; kept: Kept[] }

/** Takes out the texts of which every part has come. */
export const takeWhole = (tx: Tx, parts: readonly Part[]) => tx.many<Joined>`
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
  select connection_id, source, destination, jsonb_agg(jsonb_build_object('part', part, 'text', text,
    'octets', encode(octets, 'hex'), 'coding', coding) order by part) as kept
  from taken group by connection_id, source, destination, reference, parts`

/** Takes out what came of texts whose other parts did not come within a day, some at a time. */
export const takeStale = (tx: Tx) => tx.many<Joined>`
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
  select connection_id, source, destination, jsonb_agg(jsonb_build_object('part', part, 'text', text,
    'octets', encode(octets, 'hex'), 'coding', coding) order by part) as kept
  from taken group by connection_id, source, destination, reference, parts`
