import type { Tx } from '../db/sql.ts'
import type { Audit } from '../http/audit.ts'
import { ok, serve } from '../http/endpoint.ts'
import { invalid, unprocessable } from '../http/problem.ts'
import { formats } from '../http/validation.ts'
import { iso } from '../lib/clock.ts'
import { BrokenFile, rowsOf } from '../lib/csv.ts'
import { decimal, micros } from '../lib/money.ts'
import { repeats } from '../lib/repeats.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import { setPrices } from './ops.ts'
import * as store from './store.ts'

const kinds = ['sms_out', 'sms_in', 'call_out', 'call_in']
const shownFaults = 20

type Cells = Readonly<Record<string, string>>

/** What is wrong with a line, or null. */
const fault = ({ kind = '', prefix = '', price = '', effective_at = '' }: Cells): string | null => {
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

/** Reads a file of prices. `faults` tells what is wrong with some lines. */
const readPrices = async (csv: string) => {
  const [prices, lines, faults]: [store.NewPrice[], number[], string[]] = [[], [], []]
  try {
    for await (const { line, row } of rowsOf(csv)) {
      const wrong = typeof row === 'string' ? row : fault(row)
      if (wrong !== null) faults.push(`line ${line}: ${wrong}`)
      else if (typeof row !== 'string') {
        prices.push(priceOf(row))
        lines.push(line)
      }
    }
  } catch (error) {
    if (!(error instanceof BrokenFile)) throw error
    faults.push(`line ${error.line}: ${error.message}`)
  }
  return { prices, lines, faults }
}

const refuse = (faults: readonly string[]) => {
  const rest = faults.length > shownFaults ? `; and ${faults.length - shownFaults} more` : ''
  unprocessable(`Nothing was imported: ${faults.slice(0, shownFaults).join('; ')}${rest}`, 'invalid_csv')
}

/** What a price is for. */
const placeOf = ({ kind, prefix, effectiveAt }: store.NewPrice) =>
  `the price of ${kind} to ${prefix || 'every number'}${effectiveAt === null ? '' : ` from ${effectiveAt}`}`

/** Prices that an audit row lists. The rest is only counted. */
const mostAudited = 100

export const priceRoutes = ({ db, changes }: Parts) => {
  /** Sets prices, and records the prices before. */
  const set = async (tx: Tx, audit: Audit, prices: readonly store.NewPrice[]): Promise<number> => {
    const some = prices.slice(0, mostAudited)
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
    serve(c.listPrices, async () => {
      const rows = await store.all(db)
      return ok({ prices: rows.map((row) => ({ ...row, effective_at: iso(row.effective_at) })) })
    }),

    serve(c.setPrices, async ({ body, tx, audit }) => {
      const prices = body.prices.map(({ kind, prefix, price, effective_at = null }) => ({
        kind,
        prefix,
        price,
        effectiveAt: effective_at === null ? null : new Date(effective_at).toISOString(),
      }))
      const [twice] = repeats(prices, placeOf, (place) => `prices.${place}`)
      if (twice !== undefined) invalid(twice)
      return ok({ count: await set(tx, audit, prices) })
    }),

    serve(c.importPrices, async ({ body, tx, audit }) => {
      const { prices, lines, faults } = await readPrices(body)
      if (faults.length > 0) refuse(faults)
      if (prices.length === 0) unprocessable('The CSV has no lines below its head', 'invalid_csv')
      const twice = repeats(prices, placeOf, (place) => `line ${lines[place]}`)
      if (twice.length > 0) refuse(twice)
      return ok({ count: await set(tx, audit, prices) })
    }),
  ]
}
