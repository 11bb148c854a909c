import type { Sql } from '../../../platform/db/sql.ts'
import { decimal } from '../../../platform/lib/money.ts'
import { batchPayload } from '../batch.ts'
import { arrayLiteral, type NewMessage, shortLiteral } from '../store.ts'

/** SQL that accepts batches: see migrations/baseline/12_sms_functions.sql. */

/** Messages of one account that are due at once. */
export type NewBatch = {
  readonly id: string
  readonly account: string
  readonly messages: readonly Omit<NewMessage, 'transfer'>[]
  /** True if the job is to be inserted leased to the worker. */
  readonly isLeased: boolean
}

export type BatchResult = 'refused' | 'leased' | 'queued'

type Lease = { readonly worker: string; readonly seconds: number }

const totalOf = ({ messages }: NewBatch) => decimal(messages.reduce((sum, { price }) => sum + price, 0))

/** Columns of the messages, in the order of the functions' parameters. */
const columnsOf = (rows: NewBatch['messages']) => ({
  ids: arrayLiteral(rows, (r) => r.id),
  channels: arrayLiteral(rows, (r) => r.channel),
  numbers: arrayLiteral(rows, (r) => r.number),
  contacts: arrayLiteral(rows, (r) => r.contact),
  texts: rows.map((r) => r.text),
  encodings: arrayLiteral(rows, (r) => r.encoding),
  fragments: arrayLiteral(rows, (r) => r.fragments),
  prices: arrayLiteral(rows, (r) => decimal(r.price)),
  decisions: arrayLiteral(rows, (r) => r.decision),
})

/** Most messages of a batch have the same number, price and route: the statement carries them once. */
const shortColumnsOf = (rows: NewBatch['messages']) => ({
  ids: arrayLiteral(rows, (r) => r.id),
  channels: shortLiteral(rows, (r) => r.channel, String),
  numbers: shortLiteral(rows, (r) => r.number, String),
  contacts: arrayLiteral(rows, (r) => r.contact),
  texts: rows.map((r) => r.text),
  encodings: shortLiteral(rows, (r) => r.encoding, String),
  fragments: shortLiteral(rows, (r) => r.fragments, String),
  prices: shortLiteral(rows, (r) => r.price, decimal),
  decisions: shortLiteral(rows, (r) => r.decision, String),
})

const acceptOne = async (db: Sql, batch: NewBatch, lease: Lease | null, honoursOptOut: boolean) => {
  const { ids, channels, numbers, contacts, texts, encodings, fragments, prices, decisions } = shortColumnsOf(
    batch.messages,
  )
  const { result } = await db.one<{ result: BatchResult }>`
    select sms_accept_batch(${batch.id}, ${batch.account}, ${batchPayload(batch.messages)},
      ${batch.isLeased ? (lease?.worker ?? null) : null}, ${lease?.seconds ?? 0}, ${honoursOptOut}, ${totalOf(batch)},
      ${ids}, ${channels}, ${numbers}, ${contacts}, ${texts}, ${encodings}, ${fragments}, ${prices}, ${decisions}
    ) as result`
  return [result]
}

/**
 * Accepts batches in one statement, each as a whole or not at all.
 * @param batches sorted by account
 * @returns the result of each batch
 */
export const acceptBatches = async (
  db: Sql,
  batches: readonly NewBatch[],
  lease: Lease | null,
  honoursOptOut: boolean,
): Promise<BatchResult[]> => {
  const [first] = batches
  if (!first) return []
  if (batches.length === 1) return await acceptOne(db, first, lease, honoursOptOut)
  const { ids, channels, numbers, contacts, texts, encodings, fragments, prices, decisions } = columnsOf(
    batches.flatMap(({ messages }) => messages),
  )
  const { results } = await db.one<{ results: BatchResult[] }>`
    select sms_accept_batches(
      ${arrayLiteral(batches, ({ id }) => id)}, ${arrayLiteral(batches, ({ account }) => account)},
      ${batches.map(({ messages }) => JSON.stringify(batchPayload(messages)))},
      ${arrayLiteral(batches, ({ isLeased }) => String(isLeased))},
      ${lease?.worker ?? null}, ${lease?.seconds ?? 0}, ${honoursOptOut}, ${arrayLiteral(batches, totalOf)},
      ${arrayLiteral(batches, ({ messages }) => messages.length)},
      ${ids}, ${channels}, ${numbers}, ${contacts}, ${texts}, ${encodings}, ${fragments}, ${prices}, ${decisions}
    ) as results`
  return results
}
