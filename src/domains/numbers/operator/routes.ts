import { countryBy } from '@trunkline/phone/phone.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import { ok, route } from '../../../platform/http/endpoint.ts'
import { cursorsOf } from '../../../platform/http/list-cursor.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../../platform/http/refusals.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { readParts, writeParts } from '../../../platform/lib/cursor.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { filteredAccount } from '../../accounts/ops.ts'
import { presentNumber } from '../lifecycle/number-presenter.ts'
import { reinstate, suspend } from '../lifecycle/suspension.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import * as store from './store.ts'
import { moveGroup, moveNumbers } from './withdrawal.ts'

const plus = (prefix: string | undefined) => (prefix === undefined ? null : `+${prefix.replace('+', '')}`)
/** Validates the code of a country that has numbers. @throws Problem 400 */
const countryCode = (value: string | undefined): string | null => {
  if (value === undefined) return null
  return countryBy(value) ?? refuse(refusals.unknownCountryCode(value))
}
const soldCursors = cursorsOf(c.listSoldNumbers)

const presentInventoryNumber = (row: store.InventoryRow) => ({
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

/** Parses the cursor of the inventory: a number. */
const numberCursor = (text: string) => {
  const [number = ''] = readParts(c.listInventory.id, text, 1) ?? refuse(httpRefusals.badCursor())
  return /^\+\d{7,15}$/.test(number) ? number : refuse(httpRefusals.badCursor())
}

type NumberSelection = { numbers?: string[]; group_id?: string }

const move = async (tx: Tx, { numbers, group_id: group }: NumberSelection, to: 'free' | 'withdrawn') => {
  if ((numbers === undefined) === (group === undefined)) throw refusals.numbersOrGroup()
  if (numbers !== undefined) return moveNumbers(tx, numbers.map(phoneNumber), to)
  if (group === undefined || !(await store.hasGroup(tx, group))) throw refusals.unknownGroup(String(group))
  return { moved: await moveGroup(tx, group, to), refused: [] }
}

export const inventoryRoutes = ({ db, changes }: Services) => {
  const ownerOf = async (tx: Tx, printed: string) => {
    const id = parse('DID', printed) ?? refuse(refusals.unknownVirtualNumber(printed))
    return { id, ...((await store.findOwner(tx, id)) ?? refuse(refusals.unknownVirtualNumber(printed))) }
  }

  return [
    route(c.listInventory, async ({ query }) => {
      const limit = query.results_per_page ?? 50
      if (query.group_id !== undefined && !(await store.hasGroup(db, query.group_id)))
        throw refusals.unknownGroup(query.group_id)
      const { rows, examinedTo } = await store.inventory(db, {
        state: query.state ?? null,
        group: query.group_id ?? null,
        country: countryCode(query.country),
        prefix: plus(query.prefix),
        after: query.cursor === undefined ? null : numberCursor(query.cursor),
        limit: limit + 1,
      })
      const shown = rows.slice(0, limit)
      const last = rows.length > limit ? shown.at(-1)?.number : examinedTo
      const next = last ? { next_cursor: writeParts(c.listInventory.id, [last]) } : {}
      return ok({ count: shown.length, numbers: shown.map(presentInventoryNumber), ...next })
    }),

    route(c.withdrawInventory, async ({ body, tx, audit }) => {
      const { moved, refused } = await move(tx, body, 'withdrawn')
      await audit(tx, { target: body.numbers ?? body.group_id, after: { withdrawn: moved } })
      return ok({ withdrawn: moved, refused })
    }),

    route(c.restoreInventory, async ({ body, tx, audit }) => {
      const { moved, refused } = await move(tx, body, 'free')
      await audit(tx, { target: body.numbers ?? body.group_id, after: { restored: moved } })
      return ok({ restored: moved, refused })
    }),

    route(c.listSoldNumbers, async ({ query }) => {
      const limit = query.results_per_page ?? 50
      const after = soldCursors.read(query.cursor)?.id ?? null
      const account = await filteredAccount(db, query.account_uuid)
      const rows = await store.soldNumbers(db, {
        account,
        country: countryCode(query.country),
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
          ...presentNumber(row),
          account_name: row.account_name,
          ...(row.suspended_for ? { suspended_for: row.suspended_for } : {}),
        })),
        ...(last ? { next_cursor: soldCursors.write({ time: last.at, id: last.id }) } : {}),
      })
    }),

    route(c.suspendNumber, async ({ params, body, tx, audit }) => {
      const { id, account_id: account, status_text } = await ownerOf(tx, params.virtual_number_uuid)
      if (status_text === 'SUSPENDED') throw refusals.alreadySuspended()
      const row = await suspend(tx, changes, account, id, 'operator', body.reason)
      const after = { status_text: row?.status_text, reason: body.reason }
      await audit(tx, { account, before: { status_text }, after })
      return ok({ number: presentNumber(row ?? refuse(refusals.unknownVirtualNumber(params.virtual_number_uuid))) })
    }),

    route(c.reinstateNumber, async ({ params, tx, audit }) => {
      const { id, account_id: account, status_text } = await ownerOf(tx, params.virtual_number_uuid)
      if (status_text !== 'SUSPENDED') throw refusals.notSuspended()
      const row = await reinstate(tx, changes, account, id)
      await audit(tx, { account, before: { status_text }, after: { status_text: row?.status_text } })
      return ok({ number: presentNumber(row ?? refuse(refusals.unknownVirtualNumber(params.virtual_number_uuid))) })
    }),
  ]
}
