import type { Tx } from '../../db/sql.ts'
import { ok, serve } from '../../http/endpoint.ts'
import { conflict, invalid, notFound } from '../../http/problem.ts'
import { phoneNumber } from '../../http/validation.ts'
import { fromBase64url } from '../../lib/base64url.ts'
import { iso } from '../../lib/clock.ts'
import { readCursor, writeCursor } from '../../lib/cursor.ts'
import { parse, print } from '../../lib/id.ts'
import type { Parts } from '../../parts.ts'
import { shownNumber } from '../shown.ts'
import { reinstate, suspend } from '../suspension.ts'
import * as c from './contract.ts'
import { moveGroup, moveNumbers } from './move.ts'
import * as store from './store.ts'

const plus = (prefix: string | undefined) => (prefix === undefined ? null : `+${prefix.replace('+', '')}`)
const upper = (country: string | undefined) => country?.toUpperCase() ?? null
const badCursor = () => invalid('cursor must be a next_cursor of this list')

const shownStock = (row: store.StockRow) => ({
  number: row.number,
  state: row.state,
  group_id: row.group_id,
  iso_country_code: row.iso_country_code,
  type: row.type,
  location: row.location,
  supplier: row.supplier,
  ...(row.account_id ? { account_uuid: print('ACC', row.account_id) } : {}),
  ...(row.rests_until ? { rests_until: iso(row.rests_until) } : {}),
})

/** Numbers are their own cursor. */
const numberCursor = (text: string) => {
  const number = fromBase64url(text)?.toString('latin1')
  return number !== undefined && /^\+\d{7,15}$/.test(number) ? number : badCursor()
}

type Which = { numbers?: string[]; group_id?: string }

const move = async (tx: Tx, { numbers, group_id: group }: Which, to: 'free' | 'withdrawn') => {
  if ((numbers === undefined) === (group === undefined)) return invalid('Give either numbers or group_id')
  if (numbers !== undefined) return moveNumbers(tx, numbers.map(phoneNumber), to)
  if (group === undefined || !(await store.hasGroup(tx, group))) return notFound(`There is no number group ${group}`)
  return { moved: await moveGroup(tx, group, to), refused: [] }
}

export const stockRoutes = ({ db, changes }: Parts) => {
  const ownerOf = async (tx: Tx, printed: string) => {
    const unknown = `There is no virtual number ${printed}`
    const id = parse('DID', printed) ?? notFound(unknown)
    return { id, ...((await store.owner(tx, id)) ?? notFound(unknown)) }
  }

  return [
    serve(c.listInventory, async ({ query }) => {
      const limit = query.results_per_page ?? 50
      const rows = await store.stock(db, {
        state: query.state ?? null,
        group: query.group_id ?? null,
        country: upper(query.country),
        prefix: plus(query.prefix),
        after: query.cursor === undefined ? null : numberCursor(query.cursor),
        limit: limit + 1,
      })
      const shown = rows.slice(0, limit)
      const last = rows.length > limit ? shown.at(-1) : undefined
      const next = last ? { next_cursor: Buffer.from(last.number, 'latin1').toString('base64url') } : {}
      return ok({ count: shown.length, numbers: shown.map(shownStock), ...next })
    }),

    serve(c.withdrawInventory, async ({ body, tx }) => {
      const { moved, refused } = await move(tx, body, 'withdrawn')
      return ok({ withdrawn: moved, refused })
    }),

    serve(c.restoreInventory, async ({ body, tx }) => {
      const { moved, refused } = await move(tx, body, 'free')
      return ok({ restored: moved, refused })
    }),

    serve(c.listSoldNumbers, async ({ query }) => {
      const limit = query.results_per_page ?? 50
      const after = query.cursor === undefined ? null : (readCursor(query.cursor) ?? badCursor()).id
      const account = query.account_uuid === undefined ? null : parse('ACC', query.account_uuid)
      if (query.account_uuid !== undefined && !(account && (await store.hasAccount(db, account))))
        notFound(`No account ${query.account_uuid}`)
      const rows = await store.sold(db, {
        account,
        country: upper(query.country),
        status: query.status_text ?? null,
        prefix: plus(query.prefix),
        after,
        limit: limit + 1,
      })
      const shown = rows.slice(0, limit)
      const last = rows.length > limit ? shown.at(-1) : undefined
      return ok({
        count: shown.length,
        numbers: shown.map((row) => ({
          ...shownNumber(row),
          account_name: row.account_name,
          ...(row.suspended_for ? { suspended_for: row.suspended_for } : {}),
        })),
        ...(last ? { next_cursor: writeCursor({ time: last.at, id: last.id }) } : {}),
      })
    }),

    serve(c.suspendNumber, async ({ params, body, tx }) => {
      const { id, account_id: account, status_text } = await ownerOf(tx, params.virtual_number_uuid)
      if (status_text === 'SUSPENDED') conflict('The number is suspended already', 'number_suspended')
      const row = await suspend(tx, changes, account, id, 'operator', body.reason)
      return ok({ number: shownNumber(row ?? notFound(`There is no virtual number ${params.virtual_number_uuid}`)) })
    }),

    serve(c.reinstateNumber, async ({ params, tx }) => {
      const { id, account_id: account, status_text } = await ownerOf(tx, params.virtual_number_uuid)
      if (status_text !== 'SUSPENDED') conflict('The number is not suspended', 'number_not_suspended')
      const row = await reinstate(tx, changes, account, id)
      return ok({ number: shownNumber(row ?? notFound(`There is no virtual number ${params.virtual_number_uuid}`)) })
    }),
  ]
}
