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

export const balance = (db: Sql, account: string) => db.maybe<{ balance: string }>`
  select balance from balances where account_id = ${account}`

export type TransferRow = Omit<Transfer, 'account'> & { created_at: Date; at: string }

export const page = (db: Sql, account: string, after: Cursor | null, limit: number) => db.many<TransferRow>`
  select id, debit, credit, amount, kind, reference, note, created_at,
    to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
  from transfers
  where account_id = ${account}
    and (${after?.time ?? null}::timestamptz is null or (created_at, id) < (${after?.time ?? null}::timestamptz, ${after?.id ?? null}::uuid))
  order by created_at desc, id desc limit ${limit}`
