import type { Sql } from '../../platform/db/sql.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { boundOf, cutPage, nextOf, requestedPage } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { iso } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import { decimal, micros } from '../../platform/lib/money.ts'
import type { Services } from '../../services.ts'
import { refusals as accountRefusals } from '../accounts/refusals.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

const money = (numeric: string) => decimal(micros(numeric) ?? 0)

const timeOf = (value: string | undefined) => (value === undefined ? null : new Date(value))

const kindByPrefix = { SMO: 'message', SMI: 'message', CDR: 'call', TRF: 'transfer' } as const

type Paid = { readonly kind: string; readonly reference: string | null; readonly created_at: Date }

/** Returns the fields `item` of transfers or holds, in their order. */
const itemsOf = async (db: Sql, account: string, rows: readonly Paid[]) => {
  const numbers = rows.flatMap(({ reference, created_at }, i) =>
    reference?.startsWith('+') ? [{ reference, created_at, i }] : [],
  )
  const found =
    numbers.length === 0
      ? []
      : await store.numbersHeld(
          db,
          account,
          numbers.map(({ reference }) => reference),
          numbers.map(({ created_at }) => created_at),
        )
  const ids = new Map(found.map(({ n, id }) => [numbers[n - 1]?.i, print('DID', id)]))
  return rows.map(({ kind, reference }, i) => {
    if (reference?.startsWith('+')) {
      const uuid = ids.get(i)
      return { item: { kind: 'number' as const, ...(uuid === undefined ? {} : { uuid }), number: reference } }
    }
    const prefix = Object.entries(kindByPrefix).find(([known]) => reference?.startsWith(known))
    if (prefix && reference !== null) return { item: { kind: prefix[1], uuid: reference } }
    // A supplier's order of any number of a group.
    return kind.startsWith('number_') ? { item: { kind: 'number' as const } } : {}
  })
}

/** Returns the field `made_by`. The key or person of an operator is not shown. */
const madeBy = ({ maker: kind, maker_prefix, maker_id, maker_label: label }: store.TransferRow) => {
  if (!kind) return {}
  const actor = { uuid: print(maker_prefix, maker_id), ...(label === null ? {} : { label }) }
  return { made_by: kind === 'operator' ? { kind } : { kind, ...actor } }
}

const changeOf = ({ debit, credit, amount }: store.TransferRow) => {
  const sum = micros(amount) ?? 0
  return decimal(credit === 'balance' ? sum : debit === 'balance' ? -sum : 0)
}

const transferCursors = cursorsOf(c.getOwnLedger)
const holdCursors = cursorsOf(c.listOwnHolds)

export const ownLedgerRoutes = ({ db }: Services) => {
  const balanceOf = async (account: string) =>
    (await store.balance(db, account)) ?? refuse(accountRefusals.unknownAccount(print('ACC', account)))

  return [
    route(c.getOwnLedger, async ({ account, query }) => {
      const { balance, held } = await balanceOf(account.id)
      const pageRequest = requestedPage(query, transferCursors.key(query.cursor), boundOf(query.until))
      const filter = { kind: query.kind ?? null, since: timeOf(query.since) }
      const found = await store.page(db, account.id, filter, pageRequest.read)
      const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => transferCursors.write({ time: at, id }))
      const items = await itemsOf(db, account.id, rows)
      return ok({
        balance: money(balance),
        held: money(held),
        count: rows.length,
        transfers: rows.map((row, i) => ({
          uuid: print('TRF', row.id),
          kind: row.kind,
          debit: row.debit,
          credit: row.credit,
          amount: money(row.amount),
          change: changeOf(row),
          ...items[i],
          ...(row.note ? { note: row.note } : {}),
          ...madeBy(row),
          created_at: iso(row.created_at),
        })),
        ...nextOf(fields),
      })
    }),

    route(c.listOwnHolds, async ({ account, query }) => {
      const { held } = await balanceOf(account.id)
      const pageRequest = requestedPage(query, holdCursors.key(query.cursor))
      const filter = { kind: query.kind, since: timeOf(query.since), until: timeOf(query.until) }
      const found = await store.holds(db, account.id, pageRequest.read, filter)
      const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => holdCursors.write({ time: at, id }))
      const items = await itemsOf(db, account.id, rows)
      return ok({
        held: money(held),
        count: rows.length,
        holds: rows.map((row, i) => ({
          uuid: print('HLD', row.id),
          kind: row.kind,
          ...items[i],
          amount: money(row.amount),
          created_at: iso(row.created_at),
        })),
        ...nextOf(fields),
      })
    }),
  ]
}
