import type { Sql } from '../db/sql.ts'
import { type Cursors, cursorsOf } from '../http/cursor.ts'
import { ok, serve } from '../http/endpoint.ts'
import { invalid, notFound } from '../http/problem.ts'
import { iso } from '../lib/clock.ts'
import type { Cursor } from '../lib/cursor.ts'
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

const money = (numeric: string) => decimal(micros(numeric) ?? 0)

const timeOf = (given: string | undefined) => (given === undefined ? null : new Date(given))

/** An account that exists, with its money. */
const purseOf = async (db: Sql, printed: string) => {
  const unknown = `No account ${printed}`
  const account = parse('ACC', printed) ?? notFound(unknown)
  return { account, ...((await store.balance(db, account)) ?? notFound(unknown)) }
}

/** A page by cursor: one row more is asked for, which says whether another page follows. */
const pageBy = async <Row extends { at: string; id: string }>(
  cursors: Cursors,
  { cursor, results_per_page: size = 50 }: { cursor?: string; results_per_page?: number },
  read: (after: Cursor | null, limit: number) => Promise<Row[]>,
) => {
  const after = cursors.read(cursor)
  const found = await read(after, size + 1)
  const last = found.length > size ? found[size - 1] : undefined
  return {
    rows: found.slice(0, size),
    next: last ? { next_cursor: cursors.write({ time: last.at, id: last.id }) } : {},
  }
}

const transferCursors = cursorsOf(c.getLedger)
const holdCursors = cursorsOf(c.listHolds)

export const ledgerRoutes = ({ db }: Parts) => [
  serve(c.creditAccount, async ({ params, body, tx, audit }) => {
    const { account } = await purseOf(tx, params.account_uuid)
    const amount = amountOf(body.amount)
    const made =
      (await deposit(tx, account, amount, { kind: 'credit', note: body.note ?? null })) ??
      invalid('amount would take the balance above 9,000,000,000')
    const balance = decimal(made.balance)
    // The transfer is a target, so that the audit trail tells which key made it.
    const target = [params.account_uuid, print('TRF', made.transfer)]
    await audit(tx, { target, before: { balance: decimal(made.balance - amount) }, after: { balance } })
    return ok({ balance })
  }),

  serve(c.getLedger, async ({ params, query }) => {
    const { account, balance, held } = await purseOf(db, params.account_uuid)
    const filter = { kind: query.kind ?? null, since: timeOf(query.since), until: timeOf(query.until) }
    const { rows, next } = await pageBy(transferCursors, query, (after, limit) =>
      store.page(db, account, filter, after, limit),
    )
    return ok({
      balance: money(balance),
      held: money(held),
      count: rows.length,
      transfers: rows.map((row) => ({
        uuid: print('TRF', row.id),
        kind: row.kind,
        debit: row.debit,
        credit: row.credit,
        amount: money(row.amount),
        ...(row.reference ? { reference: row.reference } : {}),
        ...(row.note ? { note: row.note } : {}),
        created_at: iso(row.created_at),
      })),
      ...next,
    })
  }),

  serve(c.listHolds, async ({ params, query }) => {
    const { account, held } = await purseOf(db, params.account_uuid)
    const { rows, next } = await pageBy(holdCursors, query, (after, limit) => store.holds(db, account, after, limit))
    return ok({
      held: money(held),
      count: rows.length,
      holds: rows.map((row) => ({
        uuid: print('HLD', row.id),
        kind: row.kind,
        reference: row.reference,
        amount: money(row.amount),
        created_at: iso(row.created_at),
      })),
      ...next,
    })
  }),
]
