import { parse as parseCsv } from 'csv-parse/sync'
import { formats } from '../../http/validation.ts'
import { groupTypes } from '../rows.ts'
import type { NewPrice } from './store.ts'

const amount = /^\d{1,6}(?:\.\d{1,6})?$/
const known = [
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

/** A time as the database reads it; null is now. */
export const timeOf = (text: string | undefined): string | null => (text ? new Date(text).toISOString() : null)

/** What is wrong with a line, or null. */
const fault = (cells: Cells): string | null => {
  const odd = Object.keys(cells).find((name) => !known.includes(name))
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

/** The lines of a file of prices, with the numbers that an editor shows; and what is wrong with some. @throws Error for no CSV */
export const readPrices = (csv: string): { prices: NewPrice[]; lines: number[]; faults: string[] } => {
  const read: { record: Cells; info: { lines: number } }[] = parseCsv(csv, {
    columns: true,
    bom: true,
    info: true,
    skip_empty_lines: true,
    trim: true,
  })
  const prices: NewPrice[] = []
  const faults: string[] = []
  for (const { record, info } of read) {
    const wrong = fault(record)
    if (wrong) faults.push(`line ${info.lines}: ${wrong}`)
    else prices.push(priceOf(record))
  }
  return { prices, lines: read.map(({ info }) => info.lines), faults }
}
