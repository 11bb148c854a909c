import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { AnswerRow } from '../registration/store.ts'

export type Item = { reservation: string } | { number: string } | Record<string, never>

export type OrderRow = {
  account_id: string
  id: string
  connection_id: string
  group_id: string
  sku: string
  item: Item
  number: string | null
  virtual_number_id: string | null
  friendly_name: string | null
  inbound_user_id: string | null
  hold_id: string
  amount: string
  request_key: string | null
  /** Digest of the body that came with the key. */
  request_digest: Buffer | null
  /** Answers to the requirements of a number that is not known yet. */
  answers: StoredAnswer[]
  job_id: string
  state: 'wanted' | 'sending' | 'ordered' | 'completed' | 'failed'
  external_id: string | null
  delivery_id: string | null
  reason: string | null
  sent_at: Date | null
}

/** An order, and the seconds since it was sent, by the database clock that recorded it; null before. */
export type TimedOrder = OrderRow & { silence: number | null }

/** An answer as JSON: the sealed value in base64. */
type StoredAnswer = Omit<AnswerRow, 'sealed'> & { sealed: string | null }

export const serializeAnswers = (answers: readonly AnswerRow[]): StoredAnswer[] =>
  answers.map((one) => ({ ...one, sealed: one.sealed?.toString('base64') ?? null }))

export const parseAnswers = ({ answers }: Pick<OrderRow, 'answers'>): AnswerRow[] =>
  answers.map((one) => ({ ...one, sealed: one.sealed === null ? null : Buffer.from(one.sealed, 'base64') }))

export type NewOrder = Omit<OrderRow, 'state' | 'external_id' | 'delivery_id' | 'reason' | 'sent_at'>

export const add = (tx: Tx, o: NewOrder) => tx.one<OrderRow>`
  insert into number_orders (account_id, id, connection_id, group_id, sku, item, number, virtual_number_id, friendly_name,
    inbound_user_id, hold_id, amount, request_key, request_digest, answers, job_id)
  values (${o.account_id}, ${o.id}, ${o.connection_id}, ${o.group_id}, ${o.sku}, ${o.item}, ${o.number},
    ${o.virtual_number_id}, ${o.friendly_name}, ${o.inbound_user_id}, ${o.hold_id}, ${o.amount}::numeric, ${o.request_key},
    ${o.request_digest}, ${JSON.stringify(o.answers)}::jsonb, ${o.job_id})
  returning *`

export const find = (db: Sql, account: string, id: string) => db.maybe<TimedOrder>`
  select *, extract(epoch from clock_timestamp() - sent_at)::float8 as silence from number_orders
  where account_id = ${account} and id = ${id}`

export const lock = (tx: Tx, account: string, id: string) => tx.maybe<OrderRow>`
  select * from number_orders where account_id = ${account} and id = ${id} for update`

/** Returns the order of an earlier request with this Idempotency-Key. Keys are valid for 24 hours, as elsewhere. */
export const findByRequest = (db: Sql, account: string, key: string) => db.maybe<OrderRow>`
  select * from number_orders
  where account_id = ${account} and request_key = ${key} and created_at >= app_now() - interval '24 hours'`

/** Frees an expired key for another order. */
export const releaseRequestKey = (tx: Tx, account: string, key: string) => tx.run`
  update number_orders set request_key = null
  where account_id = ${account} and request_key = ${key} and created_at < app_now() - interval '24 hours'`

/** Returns the order that delivered a virtual number. */
export const findByNumber = (db: Sql, account: string, number: string) => db.maybe<OrderRow>`
  select * from number_orders where account_id = ${account} and virtual_number_id = ${number}`

/** Returns an order by the supplier's id. */
export const findByExternalId = (db: Sql, connection: string, external: string) => db.maybe<OrderRow>`
  select * from number_orders where connection_id = ${connection} and external_id = ${external}`

/** From here on the supplier may have received the order. */
export const markSending = (db: Sql, account: string, id: string) => db.run`
  update number_orders set state = 'sending', sent_at = clock_timestamp(), updated_at = app_now()
  where account_id = ${account} and id = ${id} and state in ('wanted', 'sending')`

/** Marks the order as not received by the supplier. */
export const markUnsent = (db: Sql, account: string, id: string) => db.run`
  update number_orders set state = 'wanted', updated_at = app_now()
  where account_id = ${account} and id = ${id} and state = 'sending'`

export const markOrdered = (db: Sql, account: string, id: string, external: string) => db.run`
  update number_orders set state = 'ordered', external_id = ${external}, updated_at = app_now()
  where account_id = ${account} and id = ${id} and state in ('wanted', 'sending', 'ordered')`

type OrderDelivery = { number: string; delivery: string; virtualNumber: string | null }

export const complete = (tx: Tx, account: string, id: string, d: OrderDelivery) => tx.run`
  update number_orders set state = 'completed', number = ${d.number}, delivery_id = ${d.delivery},
    virtual_number_id = ${d.virtualNumber}, updated_at = app_now()
  where account_id = ${account} and id = ${id}`

/** A refusal is not stored for the key of its request: a repeated request is tried again. */
export const fail = (tx: Tx, account: string, id: string, reason: string, delivery: string | null) => tx.run`
  update number_orders set state = 'failed', reason = ${reason}, request_key = null, delivery_id = ${delivery}, updated_at = app_now()
  where account_id = ${account} and id = ${id}`

/** Counts the open orders at a supplier. */
export const countOpenOrders = async (db: Sql, connection: string): Promise<number> => {
  const row = await db.one<{ open: number }>`
    select count(*) as open from number_orders
    where connection_id = ${connection} and state in ('wanted', 'sending', 'ordered')`
  return row.open
}

export type OpenRow = { connection_id: string; open: number }

/** Counts the open orders by supplier. */
export const openOrdersBySupplier = (db: Sql) => db.many<OpenRow>`
  select connection_id, count(*) as open from number_orders where state in ('wanted', 'sending', 'ordered') group by connection_id`
