import type { Tx } from '../../../platform/db/sql.ts'
import type { Audit } from '../../../platform/http/audit-entry.ts'
import { ok, route } from '../../../platform/http/endpoint.ts'
import { refusals as httpRefusals } from '../../../platform/http/refusals.ts'
import { batchesOf } from '../../../platform/lib/batches.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { UnreadableCsv } from '../../../platform/lib/csv.ts'
import { findDuplicates } from '../../../platform/lib/duplicates.ts'
import { decimal, micros } from '../../../platform/lib/money.ts'
import type { Services } from '../../../services.ts'
import { maxAuditedPrices, maxListedFaults, priceBatchSize } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { parsePrices, timeOf } from './price-file.ts'
import * as store from './store.ts'

const money = (numeric: string) => decimal(micros(numeric) ?? 0)

const linesOf = async (csv: string) => {
  try {
    return await parsePrices(csv)
  } catch (error) {
    if (!(error instanceof UnreadableCsv)) throw error
    throw httpRefusals.linesRejected(`line ${error.line}: ${error.message}`)
  }
}

const rejectFaults = (faults: string[]) => {
  const rest = faults.length > maxListedFaults ? `; and ${faults.length - maxListedFaults} more` : ''
  throw httpRefusals.linesRejected(faults.slice(0, maxListedFaults).join('; ') + rest)
}

/** Returns the faults of the prices' countries and groups, by index in the list. */
const unknownTargets = async (tx: Tx, prices: readonly store.NewPrice[]) => {
  const wrong: { place: number; field: string; error: string }[] = []
  for (const { from, items } of batchesOf(prices, priceBatchSize))
    for (const { place, what } of await store.unknownTargets(tx, items)) {
      const { iso: country, type, group } = items[place] ?? { iso: '', type: '', group: '' }
      wrong.push(
        what === 'country'
          ? { place: from + place, field: 'country', error: `${country} is not one that has numbers` }
          : {
              place: from + place,
              field: 'group_id',
              error: `there is no group ${group} of ${country} ${type} numbers`,
            },
      )
    }
  return wrong
}

/** Describes which numbers a price covers. */
const describeScope = ({ iso, type, prefix, group, effectiveAt }: store.NewPrice) =>
  `the price of ${iso} ${type} ${group || prefix || 'all'}${effectiveAt === null ? '' : ` from ${effectiveAt}`}`

/** Sets prices and records the previous ones. */
const set = async (tx: Tx, audit: Audit, prices: readonly store.NewPrice[]): Promise<number> => {
  const some = prices.slice(0, maxAuditedPrices)
  const fieldOf = ({ iso, type, prefix, group, effectiveAt }: store.NewPrice) =>
    `${iso} ${type} ${group || prefix || 'all'}${effectiveAt === null ? '' : ` from ${effectiveAt}`}`
  const shown = ({ setup, monthly, ppm }: store.PriceAmounts) =>
    `${money(setup)} + ${money(monthly)} a month, ${money(ppm)} a minute`
  const before = Object.fromEntries(
    (await store.inForce(tx, some)).map((row) => {
      const one = some[row.place]
      return [one ? fieldOf(one) : '', shown(row)]
    }),
  )
  const after = Object.fromEntries(some.map((one) => [fieldOf(one), shown(one)]))
  let count = 0
  for (const { items } of batchesOf(prices, priceBatchSize)) count += await store.set(tx, items)
  await audit(tx, { before, after: { ...after, count } })
  return count
}

export const pricingRoutes = ({ db }: Services) => [
  route(c.listNumberPrices, async () => {
    const rows = await store.all(db)
    return ok({
      prices: rows.map((row) => ({
        country: row.iso_country_code,
        type: row.type,
        ...(row.prefix === '' ? {} : { prefix: row.prefix }),
        ...(row.group_id === '' ? {} : { group_id: row.group_id }),
        setup_price: money(row.setup_price),
        monthly_price: money(row.monthly_price),
        price_per_minute: money(row.ppm),
        effective_at: iso(row.effective_at),
      })),
    })
  }),

  route(c.setNumberPrices, async ({ body, tx, audit }) => {
    const prices = body.prices.map((entry, i) => {
      const { prefix = '', group_id: group = '', setup_price = '0', price_per_minute = '0' } = entry
      if (prefix !== '' && group !== '') throw refusals.prefixAndGroup(i)
      return {
        iso: entry.country.toUpperCase(),
        type: entry.type,
        prefix,
        group,
        setup: setup_price,
        monthly: entry.monthly_price,
        ppm: price_per_minute,
        effectiveAt: timeOf(entry.effective_at),
      }
    })
    const [twice] = findDuplicates(prices, describeScope, (place) => `prices.${place}`)
    if (twice !== undefined) throw refusals.duplicatePrice(twice)
    const [wrong] = await unknownTargets(tx, prices)
    if (wrong) throw refusals.badPrice(wrong.place, wrong.field, wrong.error)
    return ok({ count: await set(tx, audit, prices) })
  }),

  route(c.importNumberPrices, async ({ body, tx, audit }) => {
    const { prices, lines, faults } = await linesOf(body)
    if (lines.length === 0) throw refusals.emptyCsv()
    if (faults.length > 0) rejectFaults(faults)
    const twice = findDuplicates(prices, describeScope, (place) => `line ${lines[place]}`)
    if (twice.length > 0) rejectFaults(twice)
    const wrong = await unknownTargets(tx, prices)
    if (wrong.length > 0) rejectFaults(wrong.map(({ place, error }) => `line ${lines[place]}: ${error}`))
    return ok({ count: await set(tx, audit, prices) })
  }),
]
