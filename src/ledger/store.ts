import type { Sql, Tx } from '../db/sql.ts'
import type { Cursor } from '../lib/cursor.ts'

export type Transfer = {
  account: string
  id: string
  debit: string
  credit: string
  amount: string
  kind: string
  reference: string | null
  note: string | null
}

export const insert = (tx: Tx, t: Transfer) => tx.run`
  insert into transfers (account_id, id, debit, credit, amount, kind, reference, note)
  values (${t.account}, ${t.id}, ${t.debit}, ${t.credit}, ${t.amount}::numeric, ${t.kind}, ${t.reference}, ${t.note})`

/** Adds to the balance, or takes from it; null when it would fall below zero or above what code can count exactly
 *  (lib/money.ts), or there is no such account. */
export const move = (tx: Tx, account: string, amount: string) => tx.maybe<{ balance: string }>`
  update balances set balance = balance + ${amount}::numeric
  where account_id = ${account} and balance + ${amount}::numeric between 0 and 9000000000
  returning balance`

/** Gives back what was taken: never refused, since it was the account's before. */
export const restore = (tx: Tx, account: string, amount: string) => tx.one<{ balance: string }>`
  update balances set balance = balance + ${amount}::numeric where account_id = ${account} returning balance`

/** Locks the balance before a hold, as whoever spends does first: so no two wait for each other. */
export const lock = (tx: Tx, account: string) => tx.run`
  select from balances where account_id = ${account} for update`

export type HoldRow = {
  account_id: string
  id: string
  book: string
  kind: string
  reference: string
  amount: string
  created_at: Date
  at: string
}

export type NewHold = Omit<HoldRow, 'created_at' | 'at'>

export const addHold = (tx: Tx, h: NewHold) => tx.run`
  insert into holds (account_id, id, book, kind, reference, amount)
  values (${h.account_id}, ${h.id}, ${h.book}, ${h.kind}, ${h.reference}, ${h.amount}::numeric)`

export const openHold = (tx: Tx, account: string, id: string) => tx.maybe<Pick<HoldRow, 'reference'>>`
  select reference from holds where account_id = ${account} and id = ${id}`

export const growHold = (tx: Tx, account: string, id: string, amount: string) => tx.run`
  update holds set amount = amount + ${amount}::numeric where account_id = ${account} and id = ${id}`

export const endHold = (tx: Tx, account: string, id: string) => tx.maybe<NewHold>`
  delete from holds where account_id = ${account} and id = ${id}
  returning account_id, id, book, kind, reference, amount`

/** Open holds of an account, oldest first. */
export const holds = (db: Sql, account: string, after: Cursor | null, limit: number) => db.many<HoldRow>`
  select account_id, id, book, kind, reference, amount, created_at,
    to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
  from holds
  where account_id = ${account}
    and (${after?.time ?? null}::timestamptz is null or (created_at, id) > (${after?.time ?? null}::timestamptz, ${after?.id ?? null}::uuid))
  order by created_at, id limit ${limit}`

/** Open holds of a book in all accounts that were made before this time, oldest first. */
export const olderHolds = (db: Sql, book: string, before: Date, limit: number) => db.many<HoldRow>`
  select account_id, id, book, kind, reference, amount, created_at, '' as at from holds
  where book = ${book} and created_at < ${before} order by created_at, id limit ${limit}`

export const balance = (db: Sql, account: string) => db.maybe<{ balance: string; held: string }>`
  select balance, (select coalesce(sum(amount), 0) from holds where account_id = ${account}) as held
  from balances where account_id = ${account}`

export type TransferRow = Omit<Transfer, 'account'> & { created_at: Date; at: string }

export type Filter = { kind: string | null; since: Date | null; until: Date | null }

export const page = (
  db: Sql,
  account: string,
  filter: Filter,
  after: Cursor | null,
  limit: number,
) => db.many<TransferRow>`
  select id, debit, credit, amount, kind, reference, note, created_at,
    to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
  from transfers
  where account_id = ${account}
    and (${filter.kind}::text is null or kind = ${filter.kind})
    and created_at >= coalesce(${filter.since}::timestamptz, '-infinity')
    and created_at < coalesce(${filter.until}::timestamptz, 'infinity')
    and (created_at, id) < (coalesce(${after?.time ?? null}::timestamptz, 'infinity'),
      coalesce(${after?.id ?? null}::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
  order by created_at desc, id desc limit ${limit}`

export type Crossing = { account_id: string; balance: string; low_balance: string; is_low: boolean }

/** Accounts whose balance has come over or under their limit since the last look. Those that somebody spends from at this
 *  moment are passed over until the next one. */
export const crossings = (tx: Tx, limit: number) => tx.many<Crossing>`
  with crossed as (
    select account_id from balances where is_low <> (balance < low_balance) limit ${limit} for update skip locked
  )
  update balances b set is_low = not b.is_low from crossed c where b.account_id = c.account_id
  returning b.account_id, b.balance, b.low_balance, b.is_low`
