import { makeConditions } from '../../platform/db/conditions.ts'
import { byTimeAndId, exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { TransferKind } from './transfer-kinds.ts'

export type Transfer = {
  account: string
  id: string
  debit: string
  credit: string
  amount: string
  kind: TransferKind
  reference: string | null
  note: string | null
  /** Id of the requesting key, without prefix; null for the platform itself. */
  made_by: string | null
  /** Id of the transfer that this one corrects or refunds, without prefix. */
  adjusts: string | null
}

export const insert = (tx: Tx, t: Transfer) => tx.run`
  insert into transfers (account_id, id, debit, credit, amount, kind, reference, note, made_by,
    adjusts)
  values (${t.account}, ${t.id}, ${t.debit}, ${t.credit}, ${t.amount}::numeric, ${t.kind}, ${t.reference}, ${t.note},
    ${t.made_by}, ${t.adjusts})`

/** Whether a balance may fall below zero. */
export type Floor = 'above zero' | 'none'

const lowest: Record<Floor, number> = { 'above zero': 0, none: -9_000_000_000 }

/** Credits or debits the balance. Null if the balance would fall below its floor or exceed the exact range
 *  (lib/money.ts), or the account does not exist. */
export const adjustBalance = (tx: Tx, account: string, amount: string, floor: Floor) => tx.maybe<{ balance: string }>`
  update balances set balance = balance + ${amount}::numeric
  where account_id = ${account} and balance + ${amount}::numeric between ${lowest[floor]} and 9000000000
  returning balance`

/**
 * Adds a correction to what corrections and refunds changed of a transfer. The correction of a correction, or of a
 * refund, counts for the transfer that this one adjusts.
 * @returns the adjusted transfer; null if the sum would exceed its amount
 */
export const addCorrection = (tx: Tx, account: string, id: string, amount: string) => tx.maybe<{ id: string }>`
  update transfers set adjusted = coalesce(adjusted, 0) + ${amount}::numeric
  where account_id = ${account}
    and id = (select coalesce(adjusts, id) from transfers where account_id = ${account} and id = ${id})
    and (abs(coalesce(adjusted, 0) + ${amount}::numeric) <= amount
      or (sign(adjusted + ${amount}::numeric) = sign(adjusted) and abs(adjusted + ${amount}::numeric) < abs(adjusted)))
  returning id`

/** Refunds an amount of a transfer, or what corrections and refunds left of it. The balance must be locked.
 *  @returns the refunded amount; null if nothing is left */
export const refundTransfer = (tx: Tx, account: string, id: string, amount: string) => tx.maybe<{ amount: string }>`
  with refund as (
    select least(${amount}::numeric, amount - coalesce(adjusted, 0)) as amount from transfers
    where account_id = ${account} and id = ${id}
  ), adjusted as (
    update transfers t set adjusted = coalesce(t.adjusted, 0) + r.amount
    from refund r where t.account_id = ${account} and t.id = ${id} and r.amount > 0
    returning r.amount
  )
  update balances b set balance = b.balance + a.amount
  from adjusted a where b.account_id = ${account}
  returning a.amount`

/** Returns money to the balance; never refused, because the account had it before. */
/** Refunds an amount if corrections and other refunds left as much of the transfer. @returns false without any effect */
export const refundWhole = async (tx: Tx, account: string, id: string, amount: string): Promise<boolean> =>
  (await tx.maybe`
    with adjusted as (
      update transfers set adjusted = coalesce(adjusted, 0) + ${amount}::numeric
      where account_id = ${account} and id = ${id} and amount - coalesce(adjusted, 0) >= ${amount}::numeric
      returning id
    )
    update balances b set balance = b.balance + ${amount}::numeric from adjusted where b.account_id = ${account}
    returning b.account_id`) !== null

/** Inserts the refunds of items that one transfer paid for. */
export const insertRefunds = (
  tx: Tx,
  what: { readonly account: string; readonly book: string; readonly kind: TransferKind; readonly adjusts: string },
  rows: readonly { readonly id: string; readonly reference: string; readonly amount: string }[],
) => tx.run`
  insert into transfers (account_id, id, debit, credit, amount, kind, reference, adjusts)
  select ${what.account}, g.id, ${what.book}, 'balance', g.amount, ${what.kind}, g.reference, ${what.adjusts}
  from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ amount }) => amount)}::numeric[],
    ${rows.map(({ reference }) => reference)}::text[]) g (id, amount, reference)`

export const restore = (tx: Tx, account: string, amount: string) => tx.one<{ balance: string }>`
  update balances set balance = balance + ${amount}::numeric where account_id = ${account} returning balance`

/** Locks the balance before a hold (docs/locks.md). */
export const lock = (tx: Tx, account: string) => tx.run`
  select from balances where account_id = ${account} for update`

/** Keys with a daily spend limit that count an amount; null: none. */
export type LimitedKeys = readonly string[] | null

/** Returns the limit of these keys that a further amount would exceed, or null. Locks the balance. */
export const exceededLimit = async (tx: Tx, account: string, keys: readonly string[], amount: string) =>
  (
    await tx.one<{ exceeded: string | null }>`
      select key_limit_exceeded(${account}, ${keys}::uuid[], ${amount}::numeric) as exceeded`
  ).exceeded

/**
 * Adds a payment to what these keys have spent today. A key that was deleted since counts nothing. A transaction that began
 * before midnight counts for the day that others have begun.
 */
export const addKeySpending = (tx: Tx, account: string, keys: readonly string[], amount: string) => tx.run`
  insert into key_spending as s (account_id, key_id, day, spent)
  select account_id, id, (app_now() at time zone 'UTC')::date, ${amount}::numeric from api_keys
  where account_id = ${account} and id = any (${keys}::uuid[])
  order by id
  on conflict (account_id, key_id) do update set day = greatest(s.day, excluded.day),
    spent = case when s.day >= excluded.day then s.spent else 0 end + excluded.spent`

export type HoldRow = {
  account_id: string
  id: string
  book: string
  kind: TransferKind
  reference: string
  amount: string
  made_by: string | null
  limited_keys: string[] | null
  created_at: Date
  at: string
}

export type NewHold = Omit<HoldRow, 'created_at' | 'at' | 'limited_keys'> & { limited_keys: LimitedKeys }

export const addHold = (tx: Tx, h: NewHold) => tx.run`
  insert into holds (account_id, id, book, kind, reference, amount, made_by, limited_keys)
  values (${h.account_id}, ${h.id}, ${h.book}, ${h.kind}, ${h.reference}, ${h.amount}::numeric, ${h.made_by},
    ${h.limited_keys}::uuid[])`

export const openHold = (tx: Tx, account: string, id: string) => tx.maybe<
  Pick<HoldRow, 'reference' | 'made_by' | 'limited_keys'>
>`
  select reference, made_by, limited_keys from holds where account_id = ${account} and id = ${id}`

export const growHold = (tx: Tx, account: string, id: string, amount: string) => tx.run`
  update holds set amount = amount + ${amount}::numeric where account_id = ${account} and id = ${id}`

export const endHold = (tx: Tx, account: string, id: string) => tx.maybe<NewHold>`
  delete from holds where account_id = ${account} and id = ${id}
  returning account_id, id, book, kind, reference, amount, made_by, limited_keys`

export type HoldFilter = { kind?: TransferKind | undefined; since?: Date | null; until?: Date | null }

/** Lists open holds of an account, oldest first. */
export const holds = (db: Sql, account: string, at: ListPage, filter: HoldFilter = {}) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  conditions.add('kind = ?', filter.kind ?? null)
  conditions.add('created_at >= ?', filter.since ?? null)
  conditions.add('created_at < ?', filter.until ?? null)
  const { text, values } = makeListQuery({ table: 'holds', key: byTimeAndId(), isNewestFirst: false }, conditions).page(
    `*, ${exactTime('created_at')} as at`,
    at,
  )
  return db.raw<HoldRow>(text, values)
}

/** Lists open holds of a book in all accounts made before a time, oldest first. */
export const olderHolds = (db: Sql, book: string, before: Date, limit: number) => db.many<HoldRow>`
  select account_id, id, book, kind, reference, amount, made_by, limited_keys, created_at, '' as at from holds
  where book = ${book} and created_at < ${before} order by created_at, id limit ${limit}`

export const balance = (db: Sql, account: string) => db.maybe<{ balance: string; held: string }>`
  select balance, (select coalesce(sum(amount), 0) from holds where account_id = ${account}) as held
  from balances where account_id = ${account}`

export const countHolds = async (db: Sql, account: string): Promise<number> =>
  (await db.one<{ count: number }>`select count(*)::integer as count from holds where account_id = ${account}`).count

/** The shown data of the key or person of a transfer. A deleted key has no label. */
type Maker = {
  maker: 'operator' | 'api_key' | 'person' | null
  maker_id: string
  maker_prefix: 'KEY' | 'PRS' | 'USR'
  maker_label: string | null
}

export type TransferRow = Omit<Transfer, 'account' | 'adjusts'> & Maker & { created_at: Date; at: string }

/** Returns the kind of a transfer, and the amount and adjustments of the transfer that its corrections count for. */
export const correctable = (db: Sql, account: string, id: string) =>
  db.maybe<{ kind: TransferKind; amount: string; adjusted: string }>`
  select t.kind, r.amount, coalesce(r.adjusted, 0) as adjusted
  from transfers t join transfers r on r.account_id = t.account_id and r.id = coalesce(t.adjusts, t.id)
  where t.account_id = ${account} and t.id = ${id}`

export type Filter = { kind: TransferKind | null; since: Date | null }

/** Returns a page of transfers, newest first. */
export const page = (db: Sql, account: string, filter: Filter, at: ListPage) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  conditions.add('kind = ?', filter.kind)
  conditions.add('created_at >= ?', filter.since)
  const { text, values } = makeListQuery(
    { table: 'transfers', key: byTimeAndId(), isNewestFirst: true },
    conditions,
  ).page('*', at)
  return db.raw<TransferRow>(
    `select t.*, ${exactTime('t.created_at')} as at, coalesce(o.label, k.label, u.name, p.name) as maker_label,
       case when u.id is not null then 'person' when o.id is not null or p.id is not null then 'operator'
         when t.made_by is not null then 'api_key' end as maker,
       coalesce(u.id, t.made_by) as maker_id,
       case when u.id is not null then 'USR' when p.id is not null then 'PRS' else 'KEY' end as maker_prefix
     from (${text}) t
     left join operator_keys o on o.id = t.made_by
     left join api_keys k on k.account_id = t.account_id and k.id = t.made_by
     left join persons p on p.id = t.made_by
     left join lateral (
       select id, full_name(first_name, last_name) as name from users
       where account_id = t.account_id and person_id = p.id
       order by status = 'DELETED', created_at, id limit 1) u on true
     order by t.created_at desc, t.id desc`,
    values,
  )
}

/**
 * Finds the virtual numbers that an account had at given times, by their phone numbers.
 * @returns a row for each position, counted from 1, that has one
 */
export const numbersHeld = (db: Sql, account: string, numbers: readonly string[], times: readonly Date[]) =>
  db.many<{ n: number; id: string }>`
  select g.n, v.id from unnest(${numbers}::text[], ${times}::timestamptz[]) with ordinality g (number, at, n)
  cross join lateral (
    select id from virtual_numbers
    where number = g.number and account_id = ${account} and (released_at is null or released_at >= g.at)
    order by id limit 1
  ) v`

export type Crossing = { account_id: string; balance: string; low_balance: string; is_low: boolean }

/** Condition of a schedule: a balance crossed its limit. */
export const hasCrossing = 'exists (select from balances where is_low <> (balance < low_balance))'

/** Updates and returns the accounts whose balance has crossed their limit since the last run. Skips locked accounts
 *  until the next run. */
export const crossings = (tx: Tx, limit: number) => tx.many<Crossing>`
  with crossed as (
    select account_id from balances where is_low <> (balance < low_balance) limit ${limit} for update skip locked
  )
  update balances b set is_low = not b.is_low from crossed c where b.account_id = c.account_id
  returning b.account_id, b.balance, b.low_balance, b.is_low`

/** Returns the balance and limit of an account, and the time; null without a limit. */
export const balanceWithLimit = (sql: Sql, account: string) => sql.maybe<Omit<Crossing, 'is_low'> & { now: Date }>`
  select account_id, balance, low_balance, app_now() as now from balances
  where account_id = ${account} and low_balance is not null`
