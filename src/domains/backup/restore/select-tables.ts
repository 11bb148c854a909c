import { shown } from '../format/entry-name.ts'
import { BadBackup } from '../format/envelope.ts'
import type { Table } from '../store.ts'

/** Returns the plain name: earlier versions wrote names that are keywords of SQL in quotes. */
export const withoutQuotes = (name: string): string => name.replace(/^"(.*)"$/s, '$1')

const firstDouble = (names: readonly string[]): string | null =>
  names.find((name, at) => names.indexOf(name) !== at) ?? null

/** @throws BadBackup */
const compare = (what: string, names: readonly string[], known: readonly string[]): void => {
  const double = firstDouble(names)
  if (double !== null) throw new BadBackup(`manifest.json of the backup names ${what} ${shown(double)} twice.`)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new BadBackup(
      `manifest.json of the backup names ${what} ${shown(unknown)}, which the migrations of the backup do not make.`,
    )
  const absent = known.find((name) => !names.includes(name))
  if (absent !== undefined) throw new BadBackup(`manifest.json of the backup does not name ${what} ${shown(absent)}.`)
}

/**
 * Selects the tables of a backup among those of the new schema. The names of the result are those of the catalogue; the
 * backup determines the order of the columns in its rows.
 * @returns the columns by table
 * @throws BadBackup when the backup has other tables or columns than the schema
 */
export const selectTables = (tables: readonly Table[], known: readonly Table[]): Map<string, readonly string[]> => {
  const columnsOf = new Map(tables.map(({ name, columns }) => [withoutQuotes(name), columns.map(withoutQuotes)]))
  compare(
    'the table',
    tables.map(({ name }) => withoutQuotes(name)),
    known.map(({ name }) => name),
  )
  return new Map(
    known.map(({ name, columns }) => {
      const knownColumns = columnsOf.get(name) ?? []
      compare(`the column of ${name}`, knownColumns, columns)
      return [name, knownColumns.flatMap((column) => columns.find((one) => one === column) ?? [])]
    }),
  )
}
