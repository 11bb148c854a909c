import { makeBatcher } from '../../../platform/db/batcher.ts'
import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { storable, storableJson } from '../../../platform/lib/storable.ts'
import { maxUnparsedReceipts, unparsedReceiptDays } from '../limits.ts'
import type { CarrierUnparsedReceipt } from './carrier-receipt.ts'

export type UnparsedReceiptRow = {
  id: string
  received_at: Date
  reason: CarrierUnparsedReceipt['reason']
  source: string
  destination: string
  octets: Buffer
  fields: Record<string, string>
}

const add = async (tx: Tx, receipts: readonly CarrierUnparsedReceipt[]): Promise<void> => {
  await tx.run`
    insert into sms_unparsed_receipts (connection_id, id, received_at, reason, source, destination, octets, fields)
    select g.connection_id, g.id, (select app_now()), g.reason, g.source, g.destination, g.octets, g.fields::jsonb
    from unnest(${receipts.map((r) => r.connection)}::uuid[], ${receipts.map(() => uuid())}::uuid[],
      ${receipts.map((r) => r.reason)}::text[], ${receipts.map((r) => storable(r.handset))}::text[],
      ${receipts.map((r) => storable(r.number))}::text[], ${receipts.map((r) => r.octets)}::bytea[],
      ${receipts.map((r) => storableJson(r.fields))}::text[])
      as g (connection_id, id, reason, source, destination, octets, fields)
    -- A connection may be deleted while its last receipts arrive.
    where exists (select from connections c where c.id = g.connection_id)`
  for (const connection of new Set(receipts.map((r) => r.connection)))
    await tx.run`
      delete from sms_unparsed_receipts where connection_id = ${connection} and id <> all(array(
        select id from sms_unparsed_receipts where connection_id = ${connection}
        order by id desc limit ${maxUnparsedReceipts}::integer))`
}

/** Keeps unparsed receipts, many in a transaction: the newest of each connection. */
export const makeUnparsedReceipts = (db: Db) =>
  makeBatcher<CarrierUnparsedReceipt, true>((receipts) =>
    db.begin(async (tx) => {
      await add(tx, receipts)
      return receipts.map(() => true as const)
    }),
  )

/** Returns the unparsed receipts of a connection, newest first. */
export const listUnparsedReceipts = (sql: Sql, connection: string) => sql.many<UnparsedReceiptRow>`
  select id, received_at, reason, source, destination, octets, fields from sms_unparsed_receipts
  where connection_id = ${connection} order by id desc limit ${maxUnparsedReceipts}::integer`

export const deleteOldUnparsedReceipts = (tx: Tx) => tx.run`
  delete from sms_unparsed_receipts where received_at < app_now() - make_interval(days => ${unparsedReceiptDays}::integer)`
