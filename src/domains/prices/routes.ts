import type { Tx } from '../../platform/db/sql.ts'
import type { Audit } from '../../platform/http/audit-entry.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { cutPage, optionalPage, totalFields } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../platform/http/refusals.ts'
import { formats } from '../../platform/http/validation.ts'
import { iso } from '../../platform/lib/clock.ts'
import { rowsOf, UnreadableCsv } from '../../platform/lib/csv.ts'
import { isCursorTime, readParts, writeParts } from '../../platform/lib/cursor.ts'
import { findDuplicates } from '../../platform/lib/duplicates.ts'
import { decimal, micros } from '../../platform/lib/money.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'
import { maxAuditedPrices, maxListedFaults } from './limits.ts'
import { deletePrice, setPrices } from './ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

const kinds = ['sms_out', 'sms_in', 'call_out', 'call_in', 'mms_out']

type Cells = Readonly<Record<string, string>>

/** Returns the fault of a line, or null. */
const findFault = ({ kind = '', prefix = '', price = '', effective_at = '' }: Cells): string | null => {
  if (!kinds.includes(kind)) return `kind must be one of ${kinds.join(', ')}, not "${kind}"`
  if (!/^\d{0,15}$/.test(prefix)) return `prefix must be at most 15 digits, not "${prefix}"`
  if (!/^\d{1,6}(\.\d{1,6})?$/.test(price)) return `price must be a decimal number such as 0.04, not "${price}"`
  if (effective_at !== '' && !formats['date-time'](effective_at))
    return `effective_at must be a time, not "${effective_at}"`
  return null
}

const priceOf = ({ kind = '', prefix = '', price = '', effective_at = '' }: Cells): store.NewPrice => ({
  kind,
  prefix,
  price,
  effectiveAt: effective_at === '' ? null : new Date(effective_at).toISOString(),
})

/** Parses a price file. `faults` lists the invalid lines. */
const readPrices = async (csv: string) => {
  const [prices, lines, faults]: [store.NewPrice[], number[], string[]] = [[], [], []]
  try {
    for await (const { line, row } of rowsOf(csv)) {
      const wrong = typeof row === 'string' ? row : findFault(row)
      if (wrong !== null) faults.push(`line ${line}: ${wrong}`)
      else if (typeof row !== 'string') {
        prices.push(priceOf(row))
        lines.push(line)
      }
    }
  } catch (error) {
    if (!(error instanceof UnreadableCsv)) throw error
    faults.push(`line ${error.line}: ${error.message}`)
  }
  return { prices, lines, faults }
}

const refuseLines = (faults: readonly string[]) => {
  const rest = faults.length > maxListedFaults ? `; and ${faults.length - maxListedFaults} more` : ''
  throw httpRefusals.linesRejected(faults.slice(0, maxListedFaults).join('; ') + rest)
}

/** Describes the kind, prefix and date of a price. */
const describePrice = ({ kind, prefix, effectiveAt }: store.NewPrice) =>
  `the price of ${kind} to ${prefix || 'every number'}${effectiveAt === null ? '' : ` from ${effectiveAt}`}`

/** Parses the cursor of the list. */
const keyOf = (cursor: string): store.PriceKey => {
  const [kind = '', prefix = '', at = ''] = readParts(c.listPrices.id, cursor, 3) ?? refuse(httpRefusals.badCursor())
  return kinds.includes(kind) && isCursorTime(at) ? { kind, prefix, at } : refuse(httpRefusals.badCursor())
}

export const priceRoutes = ({ db, changes }: Services) => {
  /** Sets prices, and audits the previous prices. */
  const set = async (tx: Tx, audit: Audit, prices: readonly store.NewPrice[]): Promise<number> => {
    const some = prices.slice(0, maxAuditedPrices)
    const fieldOf = ({ kind, prefix, effectiveAt }: store.NewPrice) =>
      `${kind} ${prefix || 'all'}${effectiveAt === null ? '' : ` from ${effectiveAt}`}`
    const before = Object.fromEntries(
      (await store.inForce(tx, some)).map(({ place, price }) => {
        const one = some[place]
        return [one ? fieldOf(one) : '', decimal(micros(price) ?? 0)]
      }),
    )
    const after = Object.fromEntries(some.map((one) => [fieldOf(one), decimal(micros(one.price) ?? 0)]))
    const count = await setPrices(tx, changes, prices)
    await audit(tx, { before, after: { ...after, count } })
    return count
  }

  return [
    route(c.listPrices, async ({ query }) => {
      const search = { kind: query.kind ?? null, prefix: query.prefix ?? null }
      const key = query.cursor === undefined ? null : keyOf(query.cursor)
      const pageRequest = optionalPage(query, key && [key.kind, key.prefix, key.at])
      const found = await store.page(db, search, key, pageRequest.read)
      const { rows, fields } = cutPage(pageRequest, found, ({ kind, prefix, at }) =>
        writeParts(c.listPrices.id, [kind, prefix, at]),
      )
      const total = pageRequest.limit === null ? { total: found.length } : totalFields(await store.count(db, search))
      const prices = rows.map(({ kind, prefix, price, effective_at }) => ({
        ...{ kind, prefix, price },
        effective_at: iso(effective_at),
      }))
      return ok({ ...fields, ...total, prices })
    }),

    route(c.setPrices, async ({ body, tx, audit }) => {
      const prices = body.prices.map(({ kind, prefix, price, effective_at = null }) => ({
        kind,
        prefix,
        price,
        effectiveAt: effective_at === null ? null : new Date(effective_at).toISOString(),
      }))
      const [twice] = findDuplicates(prices, describePrice, (place) => `prices.${place}`)
      if (twice !== undefined) throw refusals.duplicatePrice(twice)
      return ok({ count: await set(tx, audit, prices) })
    }),

    route(c.deletePrice, async ({ query, tx, audit }) => {
      const { kind, prefix = '', effective_at: at = null } = query
      const row = await deletePrice(tx, changes, { kind, prefix, at })
      const price = { ...row, price: decimal(micros(row.price) ?? 0), effective_at: iso(row.effective_at) }
      await audit(tx, { before: price })
      return ok({ price: { kind: row.kind, prefix: row.prefix, price: price.price, effective_at: price.effective_at } })
    }),

    route(c.importPrices, async ({ body, tx, audit }) => {
      const { prices, lines, faults } = await readPrices(body)
      if (faults.length > 0) refuseLines(faults)
      if (prices.length === 0) throw refusals.emptyCsv()
      const twice = findDuplicates(prices, describePrice, (place) => `line ${lines[place]}`)
      if (twice.length > 0) refuseLines(twice)
      return ok({ count: await set(tx, audit, prices) })
    }),
  ]
}
