import { nearest } from '../../lib/nearest.ts'

/** What a line of an inventory says, by the columns of its head. */
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

const needed = ['number', 'country', 'type'] as const
const aliases = new Map<string, Column>(Object.entries({ ppm: 'price_per_minute' }))

/** Where each column stands. */
export type Head = { readonly width: number; readonly at: ReadonlyMap<Column, number> }

const columnOf = (name: string): Column | undefined => columns.find((one) => one === name) ?? aliases.get(name)

/** Reads the first line. @returns the head, or what is wrong with it */
export const readHead = (cells: readonly string[]): Head | string[] => {
  const at = new Map<Column, number>()
  const faults: string[] = []
  for (const [i, cell] of cells.entries()) {
    const column = columnOf(cell.toLowerCase())
    if (!column)
      faults.push(
        `there is no column "${cell}": did you mean ${nearest(cell.slice(0, 40).toLowerCase(), [...columns])}?`,
      )
    else if (at.has(column)) faults.push(`the column ${column} stands twice`)
    else at.set(column, i)
  }
  for (const column of needed) if (!at.has(column)) faults.push(`the column ${column} is missing`)
  return faults.length > 0 ? faults : { width: cells.length, at }
}
