import { ok, serve } from '../http/endpoint.ts'
import { invalid, notFound } from '../http/problem.ts'
import { iso } from '../lib/clock.ts'
import { readCursor, writeCursor } from '../lib/cursor.ts'
import { parse, print } from '../lib/id.ts'
import { decimal, micros } from '../lib/money.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import { deposit } from './ops.ts'
import * as store from './store.ts'

const most = 1_000_000_000_000_000

const amountOf = (given: string | number) => {
  const amount = micros(typeof given === 'number' ? given.toFixed(6) : given)
  if (amount === null || amount <= 0 || amount > most)
    return invalid('amount must be a decimal number above 0 with at most six places, and at most 1,000,000,000')
  return amount
}

export const ledgerRoutes = ({ db }: Parts) => [
  serve(c.creditAccount, async ({ params, body, tx }) => {
    const unknown = `No account ${params.account_uuid}`
    const account = parse('ACC', params.account_uuid) ?? notFound(unknown)
    if (!(await store.balance(tx, account))) notFound(unknown)
    const balance = await deposit(tx, account, amountOf(body.amount), { kind: 'credit', note: body.note ?? null })
    return ok({ balance: decimal(balance ?? invalid('amount would take the balance above 9,000,000,000')) })
  }),

  serve(c.getLedger, async ({ params, query }) => {
    const unknown = `No account ${params.account_uuid}`
    const account = parse('ACC', params.account_uuid) ?? notFound(unknown)
    const after = query.cursor
      ? (readCursor(query.cursor) ?? invalid('cursor must be a next_cursor of this list'))
      : null
    const { balance } = (await store.balance(db, account)) ?? notFound(unknown)
    const limit = query.results_per_page ?? 50
    const rows = await store.page(db, account, after, limit + 1)
    const last = rows.length > limit ? rows[limit - 1] : undefined
    return ok({
      balance: decimal(micros(balance) ?? 0),
      count: Math.min(rows.length, limit),
      transfers: rows.slice(0, limit).map((row) => ({
        uuid: print('TRF', row.id),
        kind: row.kind,
        debit: row.debit,
        credit: row.credit,
        amount: decimal(micros(row.amount) ?? 0),
        ...(row.reference ? { reference: row.reference } : {}),
        ...(row.note ? { note: row.note } : {}),
        created_at: iso(row.created_at),
      })),
      ...(last ? { next_cursor: writeCursor({ time: last.at, id: last.id }) } : {}),
    })
  }),
]
