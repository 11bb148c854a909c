import type { Conditions } from './conditions.ts'
import { quoteIdentifier } from './identifier.ts'
import type { Sql, Value } from './sql.ts'

/** Column that orders a list, with the type of its values. */
type KeyColumn = { readonly name: string; readonly type: 'timestamptz' | 'uuid' | 'text' | 'integer' }

/** A list in the order of an index. */
export type ListSource = {
  /** The table, or a row source of the code's own, such as a subquery. */
  readonly table: string | { readonly rows: string }
  /** The order of the rows. The last column is unique among the rows that share the others. */
  readonly key: readonly KeyColumn[]
  readonly isNewestFirst: boolean
}

/** Start and length of a page. */
export type ListPage = {
  /** Key of the row before the page; null at the start of the list. */
  readonly after: readonly string[] | null
  /** Rows between `after` and the page: at most `maxPagedRows`. */
  readonly skip: number
  /** Null: all remaining rows. */
  readonly limit: number | null
}

/** Rows that page numbers reach, and the highest exact total. */
export const maxPagedRows = 10_000

/** Returns an expression that prints a time for a cursor, with microseconds. */
export const exactTime = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** Orders by time and then by id. */
export const byTimeAndId = (id = 'id'): readonly KeyColumn[] => [
  { name: 'created_at', type: 'timestamptz' },
  { name: id, type: 'uuid' },
]

/** Filters that no index serves. A page examines at most `maxPagedRows` + 1 rows, and may be short. */
export type Examining = {
  /** Conditions of the rows that are returned, which they name `examined`. Each has one value, `?`. */
  readonly filters: readonly { readonly text: string; readonly value: Value }[]
  /** A row source, such as `unnest(…) each (value)`: the rows of each value are read along an index, and merged. */
  readonly each?: string | null
}

/** A statement built at run time. */
export type Statement = { readonly text: string; readonly values: Value[] }

/**
 * Makes the statements of one list. All filters are conditions of one keyset query, so that a filtered page is full.
 * Each statement reads along an index, and no further than its page or 10,000 rows.
 * @param alternatives conditions that exclude each other and together cover the list. Each is read along an index of
 * its own, and the rows are merged.
 * @param examining filters for which the statements read further than their page
 */
export const makeListQuery = (
  { table, key, isNewestFirst }: ListSource,
  conditions: Conditions,
  alternatives: readonly string[] = [],
  { filters, each = null }: Examining = { filters: [] },
) => {
  const rowsOfTable = typeof table === 'string' ? quoteIdentifier(table) : table.rows
  const columnNames = key.map(({ name }) => quoteIdentifier(name))
  const names = columnNames.join(', ')
  const orderOf = (isDescending: boolean) =>
    `order by ${columnNames.map((name) => `${name}${isDescending ? ' desc' : ''}`).join(', ')}`
  const order = orderOf(isNewestFirst)

  /** Selects the first rows that meet the bounds, of each value. */
  const selectEach = (bounds: readonly string[], limit: number | null): string => {
    const where = [...conditions.texts, ...bounds].join(' and ')
    const rows = `select * from ${rowsOfTable} where ${where} ${order} limit ${limit}`
    return each === null
      ? rows
      : `select found.* from ${each} cross join lateral (${rows}) found ${order} limit ${limit}`
  }

  /** Selects the first matching rows among those that a page examines. */
  const selectExamined = (
    columns: string,
    bounds: readonly string[],
    limit: number | null,
    values: Value[],
  ): string => {
    if (filters.length === 0) return `select ${columns} from (${selectEach(bounds, limit)}) rows ${order}`
    const examined = selectEach(bounds, maxPagedRows + 1)
    const where = filters.map(({ text, value }) => text.replaceAll('?', `$${values.push(value)}`)).join(' and ')
    return `select ${columns} from (${examined}) examined where ${where} ${order} limit ${limit}`
  }

  /** Selects the first rows that meet the bounds. */
  const select = (columns: string, bounds: readonly string[], limit: number | null, values: Value[]): string => {
    if (filters.length > 0 || each !== null) return selectExamined(columns, bounds, limit, values)
    const one = (alternative: readonly string[]) => {
      const texts = [...conditions.texts, ...alternative, ...bounds]
      const where = texts.length > 0 ? `where ${texts.join(' and ')}` : ''
      return `select ${columns} from ${rowsOfTable} ${where} ${order} limit ${limit}`
    }
    if (alternatives.length === 0) return one([])
    const all = alternatives.map((text) => `(${one([text])})`).join(' union all ')
    return `select * from (${all}) merged ${order} limit ${limit}`
  }

  const beyond = (position: string) => `(${names}) ${isNewestFirst ? '<' : '>'} (${position})`

  /** Binds the key of the row before the list. */
  const bind = (values: Value[], after: readonly string[] | null): string[] => {
    if (after === null) return []
    return [beyond(key.map(({ type }, i) => `$${values.push(after[i] ?? null)}::${type}`).join(', '))]
  }

  return {
    /** Returns the SELECT of a page. @param columns must include the key */
    page: (columns: string, { after, skip, limit }: ListPage): Statement => {
      const values = [...conditions.values]
      const start = bind(values, after)
      if (skip === 0) return { text: select(columns, start, limit, values), values }
      // The key of the last skipped row, or of the last row of the list: nothing follows that one.
      const last = `select ${names} from (${select(names, start, skip, values)}) skipped ${orderOf(!isNewestFirst)} limit 1`
      return { text: select(columns, [beyond(last)], limit, values), values }
    },
    /** Returns the key of the last row that a page behind `after` examines, as `time` and `id`, if it cannot examine all.
     *  For lists by time and id. */
    lastExamined: (after: readonly string[] | null): Statement | null => {
      if (filters.length === 0) return null
      const values = [...conditions.values]
      const rows = `select ${names} from (${selectEach(bind(values, after), maxPagedRows + 1)}) examined`
      const [time = '', id = ''] = columnNames
      const last = `select ${names}, count(*) over () as examined from (${rows}) rows ${orderOf(!isNewestFirst)} limit 1`
      return {
        text: `select ${exactTime(time)} as time, ${id} as id from (${last}) last where examined > ${maxPagedRows}`,
        values,
      }
    },
    /**
     * Counts the rows behind `after`, at most one more than `maxPagedRows`. Reads along the index: without an order,
     * PostgreSQL may read the table from its start.
     */
    total: (after: readonly string[] | null = null): Statement => {
      const values = [...conditions.values]
      const rows = select(names, bind(values, after), maxPagedRows + 1, values)
      return { text: `select count(*)::integer as total from (${rows}) counted`, values }
    },
  }
}

/** Runs the statement `total` of a list. */
export const countRows = async (sql: Sql, { text, values }: Statement): Promise<number> =>
  (await sql.raw<{ total: number }>(text, values))[0]?.total ?? 0
