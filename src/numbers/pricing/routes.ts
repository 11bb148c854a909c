import type { Tx } from '../../db/sql.ts'
import type { Audit } from '../../http/audit.ts'
import { ok, serve } from '../../http/endpoint.ts'
import { invalid, unprocessable } from '../../http/problem.ts'
import { iso } from '../../lib/clock.ts'
import { BrokenFile } from '../../lib/csv.ts'
import { decimal, micros } from '../../lib/money.ts'
import { repeats } from '../../lib/repeats.ts'
import { slicesOf } from '../../lib/slices.ts'
import type { Parts } from '../../parts.ts'
import * as c from './contract.ts'
import { readPrices, timeOf } from './lines.ts'
import * as store from './store.ts'

const shownFaults = 20
const money = (numeric: string) => decimal(micros(numeric) ?? 0)

const linesOf = async (csv: string) => {
  try {
    return await readPrices(csv)
  } catch (error) {
    if (!(error instanceof BrokenFile)) throw error
    return unprocessable(`Nothing was imported: line ${error.line}: ${error.message}`, 'invalid_csv')
  }
}

/** Prices that one statement takes: 40,000 values, which the driver writes in one turn of the event loop. */
const part = 5_000

const refuse = (faults: string[]) => {
  const rest = faults.length > shownFaults ? `; and ${faults.length - shownFaults} more` : ''
  unprocessable(`Nothing was imported: ${faults.slice(0, shownFaults).join('; ')}${rest}`, 'invalid_csv')
}

/** What is wrong with the places that prices name, by their place in the list. */
const misplaced = async (tx: Tx, prices: readonly store.NewPrice[]) => {
  const wrong: { place: number; field: string; error: string }[] = []
  for (const { from, items } of slicesOf(prices, part))
    for (const { place, what } of await store.misplaced(tx, items)) {
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

/** What a price is for. */
const placeOf = ({ iso, type, prefix, group, effectiveAt }: store.NewPrice) =>
  `the price of ${iso} ${type} ${group || prefix || 'all'}${effectiveAt === null ? '' : ` from ${effectiveAt}`}`

/** Prices that an audit row lists. The rest is only counted. */
const mostAudited = 100

/** Sets prices, and records the prices before. */
const set = async (tx: Tx, audit: Audit, prices: readonly store.NewPrice[]): Promise<number> => {
  const some = prices.slice(0, mostAudited)
  const fieldOf = ({ iso, type, prefix, group, effectiveAt }: store.NewPrice) =>
    `${iso} ${type} ${group || prefix || 'all'}${effectiveAt === null ? '' : ` from ${effectiveAt}`}`
  const shown = ({ setup, monthly, ppm }: store.Priced) =>
    `${money(setup)} + ${money(monthly)} a month, ${money(ppm)} a minute`
  const before = Object.fromEntries(
    (await store.inForce(tx, some)).map((row) => {
      const one = some[row.place]
      return [one ? fieldOf(one) : '', shown(row)]
    }),
  )
  const after = Object.fromEntries(some.map((one) => [fieldOf(one), shown(one)]))
  let count = 0
  for (const { items } of slicesOf(prices, part)) count += await store.set(tx, items)
  await audit(tx, { before, after: { ...after, count } })
  return count
}

export const pricingRoutes = ({ db }: Parts) => [
  serve(c.listNumberPrices, async () => {
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

  serve(c.setNumberPrices, async ({ body, tx, audit }) => {
    const prices = body.prices.map((given, i) => {
      const { prefix = '', group_id: group = '', setup_price = '0', price_per_minute = '0' } = given
      if (prefix !== '' && group !== '') invalid(`prices.${i}: prefix and group_id exclude each other`)
      return {
        iso: given.country.toUpperCase(),
        type: given.type,
        prefix,
        group,
        setup: setup_price,
        monthly: given.monthly_price,
        ppm: price_per_minute,
        effectiveAt: timeOf(given.effective_at),
      }
    })
    const [twice] = repeats(prices, placeOf, (place) => `prices.${place}`)
    if (twice !== undefined) invalid(twice)
    const [wrong] = await misplaced(tx, prices)
    if (wrong) invalid(`prices.${wrong.place}.${wrong.field}: ${wrong.error}`)
    return ok({ count: await set(tx, audit, prices) })
  }),

  serve(c.importNumberPrices, async ({ body, tx, audit }) => {
    const { prices, lines, faults } = await linesOf(body)
    if (lines.length === 0) unprocessable('The CSV has no lines below its head', 'invalid_csv')
    if (faults.length > 0) refuse(faults)
    const twice = repeats(prices, placeOf, (place) => `line ${lines[place]}`)
    if (twice.length > 0) refuse(twice)
    const wrong = await misplaced(tx, prices)
    if (wrong.length > 0) refuse(wrong.map(({ place, error }) => `line ${lines[place]}: ${error}`))
    return ok({ count: await set(tx, audit, prices) })
  }),
]
