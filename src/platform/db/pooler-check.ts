import { type Db, type Sql, sqlState } from './sql.ts'

/** SQLSTATEs of a prepared statement that another client's connection made, or that is missing in this one. */
const lostStatement = ['26000', '42P05']

/** Says PgBouncer in statement mode, to `begin`. */
const statementMode = /statement pooling/

/** A statement that two connections prepare under one name. */
const ask = (sql: Sql) => sql.one`select 1 as is_prepared`

/**
 * Proves that each connection keeps its prepared statements. A pooler in transaction mode passes the connection to the
 * server on after each transaction. A process then starts or fails by chance, and fails later under load.
 * PgBouncer keeps prepared statements in that mode since 1.21, with `max_prepared_statements`.
 * @param db a pool that has a connection left
 * @throws Error that names the setting and the version, if the statements of one connection are found in another
 */
export const checkPooler = async (db: Db): Promise<void> => {
  const other = db.dedicated(10_000)
  try {
    await ask(db)
    await other.begin(async (tx) => {
      // The last connection to the server, if it was passed on: it knows the name.
      await ask(tx)
      // Another one, as that one is taken: it does not.
      await ask(db)
    })
  } catch (error) {
    const isPassedOn =
      lostStatement.includes(sqlState(error) ?? '') || (error instanceof Error && statementMode.test(error.message))
    if (!isPassedOn) throw error
    throw new Error(
      'DATABASE_URL leads to a connection pooler that loses prepared statements, as PgBouncer does in transaction mode. Set pool_mode = session there, or use PgBouncer 1.21 or newer with max_prepared_statements above 0.',
      { cause: error },
    )
  } finally {
    await other.end()
  }
}
