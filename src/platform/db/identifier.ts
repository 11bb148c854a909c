import pg from 'pg'

/** Bytes of an identifier: PostgreSQL cuts longer ones, so that they name something else. */
const longest = 63

/**
 * Quotes the name of a table, a column, a schema or a role for SQL that is built at run time. Each joined identifier
 * passes through this function: test/identifiers.test.ts checks the sources.
 * @throws Error for a name that no identifier can have
 */
export const quoteIdentifier = (name: string): string => {
  const bytes = Buffer.byteLength(name)
  if (bytes === 0 || bytes > longest || name.includes('\0'))
    throw new Error(`${JSON.stringify(name.slice(0, longest))} cannot be the name of anything in PostgreSQL.`)
  return pg.escapeIdentifier(name)
}

/** Quotes names, and joins them with commas. */
export const quoteIdentifiers = (names: readonly string[]): string => names.map(quoteIdentifier).join(', ')
