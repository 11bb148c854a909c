import { formats } from '../../../platform/http/validation.ts'
import { rowsOf } from '../../../platform/lib/csv.ts'
import { groupTypes } from '../catalogue/catalogue-rows.ts'
import type { NewPrice } from './store.ts'

const amount = /^\d{1,6}(?:\.\d{1,6})?$/
const columns = [
  'country',
  'type',
  'prefix',
  'group_id',
  'setup_price',
  'monthly_price',
  'price_per_minute',
  'effective_at',
]

type Cells = Record<string, string | undefined>

/** Returns a time as the database reads it; null means now. */
export const timeOf = (text: string | undefined): string | null => (text ? new Date(text).toISOString() : null)

/** Returns the fault of a line, or null. */
const faultOf = (cells: Cells): string | null => {
  const odd = Object.keys(cells).find((name) => !columns.includes(name))
  if (odd !== undefined) return `there is no column "${odd}"`
  const { country = '', type = '', prefix = '', group_id = '', effective_at = '' } = cells
  if (!/^[A-Za-z]{2}$/.test(country)) return `country must be a code such as GB, not "${country}"`
  if (!groupTypes.some((one) => one === type)) return `type must be one of ${groupTypes.join(', ')}, not "${type}"`
  if (/\p{Cc}/u.test(group_id)) return 'group_id must not hold control characters'
  if (!/^\d{0,15}$/.test(prefix)) return `prefix must be at most 15 digits, not "${prefix}"`
  if (prefix !== '' && group_id !== '') return 'prefix and group_id exclude each other'
  for (const name of ['setup_price', 'monthly_price', 'price_per_minute']) {
    const text = cells[name] || (name === 'monthly_price' ? '' : '0')
    if (!amount.test(text)) return `${name} must be a decimal number such as 1.50, not "${text}"`
  }
  return effective_at === '' || formats['date-time'](effective_at)
    ? null
    : `effective_at must be a time, not "${effective_at}"`
}

const priceOf = (cells: Cells): NewPrice => ({
  iso: (cells.country ?? '').toUpperCase(),
  type: cells.type ?? '',
  prefix: cells.prefix ?? '',
  group: cells.group_id ?? '',
  setup: cells.setup_price || '0',
  monthly: cells.monthly_price ?? '',
  ppm: cells.price_per_minute || '0',
  effectiveAt: timeOf(cells.effective_at),
})

export type PriceFile = { readonly prices: NewPrice[]; readonly lines: number[]; readonly faults: string[] }

/**
 * Parses a file of prices. `lines` numbers the lines as an editor shows them; `faults` describes the bad ones.
 * @throws BrokenFile
 */
export const parsePrices = async (csv: string): Promise<PriceFile> => {
  const read: PriceFile = { prices: [], lines: [], faults: [] }
  for await (const { line, row } of rowsOf(csv)) {
    read.lines.push(line)
    const wrong = typeof row === 'string' ? row : faultOf(row)
    if (wrong !== null) read.faults.push(`line ${line}: ${wrong}`)
    else if (typeof row !== 'string') read.prices.push(priceOf(row))
  }
  return read
}
