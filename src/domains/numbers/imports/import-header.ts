import { suggestion } from '../../../platform/lib/levenshtein.ts'

/** Columns of an inventory file. */
const columns = [
  'number',
  'country',
  'type',
  'region',
  'city',
  'group',
  'features',
  'setup_price',
  'monthly_price',
  'price_per_minute',
] as const
export type Column = (typeof columns)[number]

const requiredColumns = ['number', 'country', 'type'] as const
const aliases = new Map<string, Column>(Object.entries({ ppm: 'price_per_minute' }))

/** Position of each column. */
export type ImportHeader = { readonly width: number; readonly at: ReadonlyMap<Column, number> }

const columnOf = (name: string): Column | undefined => columns.find((one) => one === name) ?? aliases.get(name)

/** Parses the first line. @returns the header, or its faults */
export const parseHeader = (cells: readonly string[]): ImportHeader | string[] => {
  const at = new Map<Column, number>()
  const faults: string[] = []
  for (const [i, cell] of cells.entries()) {
    const column = columnOf(cell.toLowerCase())
    if (!column) faults.push(`there is no column "${cell}"${suggestion(cell.slice(0, 40), [...columns])}`)
    else if (at.has(column)) faults.push(`the column ${column} appears twice`)
    else at.set(column, i)
  }
  for (const column of requiredColumns) if (!at.has(column)) faults.push(`the column ${column} is missing`)
  return faults.length > 0 ? faults : { width: cells.length, at }
}
