import { createHash } from 'node:crypto'
import { quoteIdentifier, quoteIdentifiers } from '../../src/platform/db/identifier.ts'
import type { Db, Sql } from '../../src/platform/db/sql.ts'

type Column = { name: string; type: string }
type Reference = { columns: string[]; table: string; targets: string[] }
type Table = { name: string; columns: Column[]; checks: string[]; references: Reference[] }

const readTables = (sql: Sql): Promise<Table[]> =>
  sql.raw<Table>(`
    select c.relname as name,
      (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null)) order by a.attnum)
       from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attidentity = '') as columns,
      array(select pg_get_constraintdef(k.oid) from pg_constraint k where k.conrelid = c.oid and k.contype = 'c') as checks,
      (select coalesce(json_agg(json_build_object('table', k.confrelid::regclass,
        'columns', array(select a.attname from unnest(k.conkey) with ordinality u (n, i)
          join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.n order by u.i),
        'targets', array(select a.attname from unnest(k.confkey) with ordinality u (n, i)
          join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.n order by u.i))), '[]')
       from pg_constraint k where k.conrelid = c.oid and k.contype = 'f') as references
    from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname <> 'schema_migrations'
    order by c.relname`)

/** A UUID that is the same for the same words. */
const uuidOf = (...words: (string | number)[]): string =>
  createHash('md5')
    .update(words.join(' '))
    .digest('hex')
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-7$3-8$4-$5')

/** Columns whose values depend on others by a check. Everything else follows from its type. */
const given: Readonly<Record<string, Readonly<Record<string, string | null>>>> = {
  accounts: { blocked: 'true' },
  numbers: { state: 'owned', rests_until: null },
  number_prices: { prefix: '44', group_id: '' },
  prices: { prefix: '44' },
  registrations: { state: 'refused' },
  registration_answers: { document_id: null },
  virtual_numbers: { status_text: 'RELEASED' },
  webhooks: { enabled: 'false' },
  webhook_deliveries: { state: 'pending' },
}

/** The text of a value of a type, which differs from row to row. */
const textOf = ({ name, type }: Column, table: string, row: number): string => {
  if (name === 'account_id') return uuidOf('accounts', 'id', row)
  if (type.endsWith('[]')) return `{${textOf({ name, type: type.slice(0, -2) }, table, row)}}`
  switch (type) {
    case 'uuid':
      return uuidOf(table, name, row)
    case 'text':
      return `${table}.${name} ${row}`
    case 'boolean':
      return String(row % 2 === 0)
    case 'smallint':
    case 'integer':
    case 'bigint':
      return String(row)
    case 'numeric':
    case 'double precision':
      return `${row}.25`
    case 'bytea':
      return `\\x${Buffer.from(`${table}.${name} ${row}`).toString('hex')}`
    case 'json':
    case 'jsonb':
      return JSON.stringify({ [name]: row })
    case 'date':
      return `2026-01-0${row}`
    case 'timestamp with time zone':
      return `2026-01-0${row} 12:34:56.789012+00`
    default:
      throw new Error(`no value for ${table}.${name} of type ${type}`)
  }
}

/** The values that a check lists for a column, such as `CHECK ((leg = ANY (ARRAY['caller'::text, …])))`. */
const listedFor = (column: string, checks: readonly string[]): string[] =>
  checks.flatMap((check) => {
    const list = new RegExp(`\\(\\(?${column} = ANY \\(ARRAY\\[(.*?)\\]\\)\\)?\\)$`).exec(check)?.[1]
    return list === undefined ? [] : [...list.matchAll(/'([^']*)'/g)].map(([, value]) => value ?? '')
  })

const insertRow = async (sql: Sql, table: Table, row: number): Promise<void> => {
  const values = new Map<string, string | null>()
  for (const column of table.columns) {
    const listed = listedFor(column.name, table.checks)
    values.set(column.name, listed.length > 0 ? (listed[row % listed.length] ?? '') : textOf(column, table.name, row))
  }
  for (const [name, value] of Object.entries(given[table.name] ?? {})) values.set(name, value)
  // A reference is to the row of the same turn.
  for (const { columns, table: target, targets } of table.references) {
    if (columns.some((name) => values.get(name) === null)) continue
    for (const [i, name] of columns.entries()) values.set(name, uuidOf(target, targets[i] ?? '', row))
    if (columns.includes('account_id')) values.set('account_id', uuidOf('accounts', 'id', row))
    for (const [i, name] of columns.entries())
      if (targets[i] === 'virtual_number_id') values.set(name, uuidOf('virtual_numbers', 'id', row))
  }
  const names = [...values.keys()]
  const types = new Map(table.columns.map(({ name, type }) => [name, type]))
  const list = names.map((name, i) => `$${i + 1}::text::${types.get(name)}`)
  await sql.raw(`insert into ${quoteIdentifier(table.name)} (${quoteIdentifiers(names)}) values (${list.join(', ')})`, [
    ...values.values(),
  ])
}

/**
 * Fills every table with rows in which each column has a value, as far as the checks permit. Tables of one row get other
 * values than at first, and sequences advance.
 * @returns the number of tables
 */
export const fillTables = async (db: Db, rows = 3): Promise<number> => {
  const tables = await readTables(db)
  await db.raw(`update clock set offset_seconds = 3600; update voice_lease set fence = 7, beats = 8, holder = 'host 9'`)
  const left = new Set(tables.filter(({ name }) => !['clock', 'voice_lease'].includes(name)))
  const isReady = ({ name, references }: Table) =>
    references.every(({ table }) => table === name || ![...left].some((one) => one.name === table))
  while (left.size > 0) {
    const ready = [...left].filter(isReady)
    if (ready.length === 0) throw new Error('tables refer to each other in a circle')
    for (const table of ready) {
      for (let row = 1; row <= rows; row++) await insertRow(db, table, row)
      left.delete(table)
    }
  }
  await db.raw(`select nextval('number_city_ids')`)
  return tables.length
}
