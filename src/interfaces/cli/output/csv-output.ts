import type { TSchema } from 'typebox'
import { properties } from '../../../platform/http/openapi.ts'
import { csvLineOf } from '../../../platform/lib/csv-cell.ts'
import { itemsOf } from '../input/option-field.ts'
import { UsageError } from '../input/parse-arguments.ts'
import { listOf } from '../transfer/list-pages.ts'
import { allColumns, chosenColumns, valueAt } from './format-reply.ts'

const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(textOf).join(' ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/**
 * Writes the lists of replies as CSV: the header once, one line per row.
 * @param names of columns; null for all
 * @throws UsageError for a reply that is not a list, or an unknown column
 */
export const makeCsv = (name: string, reply: TSchema, names: readonly string[] | null) => {
  const list = listOf(reply)
  const rows = new Map(properties(reply)).get(list ?? '')
  if (list === null || !rows) throw new UsageError(`${name} does not return a list: --format csv is for lists`)
  const all = allColumns(itemsOf(rows))
  const columns = names ? chosenColumns(all, names) : all
  return {
    head: csvLineOf(columns.map((path) => path.join('.'))),
    lines: (answer: Readonly<Record<string, unknown>>): string => {
      const found = answer[list]
      return (Array.isArray(found) ? found : [])
        .map((row) => csvLineOf(columns.map((path) => textOf(valueAt(row, path)))))
        .join('')
    },
  }
}
