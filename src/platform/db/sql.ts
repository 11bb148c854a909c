import { createHash } from 'node:crypto'
import pg from 'pg'
import { GrowingLimit } from './growing-limit.ts'
import type { OutageMonitor } from './outage-monitor.ts'

/** Values for SQL parameters. Arrays are sent as PostgreSQL arrays, plain objects as JSON. */
export type Value =
  | string
  | number
  | bigint
  | boolean
  | null
  | Date
  | Buffer
  | readonly Value[]
  | { [key: string]: unknown }

/**
 * SQL as a tagged template. Values are numbered, and each statement is named by its text, so that every connection
 * prepares it once. Measured: named 12.5 k/s, unnamed 6.6 to 8.3 k/s.
 */
export type Sql = {
  /** Exactly one row; anything else is a bug and throws. */
  one<Row>(text: TemplateStringsArray, ...values: Value[]): Promise<Row>
  /** The first row, or null. */
  maybe<Row>(text: TemplateStringsArray, ...values: Value[]): Promise<Row | null>
  many<Row>(text: TemplateStringsArray, ...values: Value[]): Promise<Row[]>
  /** The number of rows touched. */
  run(text: TemplateStringsArray, ...values: Value[]): Promise<number>
  /** Plain text, unnamed: for migrations and for statements built at run time. */
  raw<Row>(text: string, values?: Value[]): Promise<Row[]>
}

/** A transaction. Its type ensures that effects are requested only inside one: see jobs/queue.ts. */
export type Tx = Sql & {
  readonly transaction: true
  /** Called once the transaction has committed, and never otherwise. */
  afterCommit(effect: () => void): void
  /** Id of the request that the transaction belongs to, for the log lines of jobs that it adds. Absent: unknown. */
  requestId?: string
}

export type Db = Sql & {
  /** Limit of connections in the pool. */
  readonly connections: number
  begin<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * Returns another connection, for statements that must not queue behind others. A statement is abandoned after the
   * given milliseconds.
   */
  dedicated(milliseconds: number): Db
  /** Connections in use and callers waiting for one. */
  load(): { total: number; idle: number; waiting: number }
  end(): Promise<void>
}

// bigint (20) and numeric (1700) as numbers would lose digits. Our bigints are ids and counts below 2^53; numerics stay
// text and are parsed by lib/money.ts.
pg.types.setTypeParser(20, Number)

type Statement = { name: string; text: string }
const statements = new WeakMap<TemplateStringsArray, Statement>()

const statement = (parts: TemplateStringsArray): Statement => {
  const known = statements.get(parts)
  if (known) return known
  const text = parts.reduce((whole, part, i) => (i === 0 ? part : `${whole}$${i}${part}`), '')
  const prepared = { name: createHash('sha256').update(text).digest('base64url').slice(0, 22), text }
  statements.set(parts, prepared)
  return prepared
}

type Client = { query<Row extends pg.QueryResultRow>(config: pg.QueryConfig): Promise<pg.QueryResult<Row>> }

const mustEscape = /["\\]/

/** Returns an array as a literal, in less than half the time that `pg` takes. `pg` writes arrays of dates and of arrays. */
const arrayLiteral = (values: readonly Value[]): unknown => {
  let text = ''
  for (const value of values) {
    if (value === null) text += ',NULL'
    else if (typeof value === 'object') return values
    else if (typeof value !== 'string') text += `,${value}`
    else text += `,"${mustEscape.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"') : value}"`
  }
  return `{${text.slice(1)}}`
}

const plain = (value: Value): unknown => {
  if (value === null || typeof value !== 'object' || value instanceof Date || Buffer.isBuffer(value)) return value
  return Array.isArray(value) ? arrayLiteral(value) : JSON.stringify(value)
}

/**
 * Joins JSON texts for `string_to_array(…, chr(31))`. JSON text never contains the separator. An array literal would
 * escape each quote: 2.8 instead of 0.1 µs here for 560 characters, and the same again in PostgreSQL.
 */
export const joinJson = (texts: readonly string[]): string => texts.join('\x1f')

/**
 * Removes everything from a PostgreSQL error that quotes rows and values, including messages' texts: `detail`, `where`,
 * and the messages of class 22 (data exception). Done here and not only in the log, as Node prints an uncaught error
 * with all its fields.
 */
export const withoutValues = <Thrown>(error: Thrown): Thrown => {
  if (!(error instanceof pg.DatabaseError)) return error
  const { code, message, stack } = error
  for (const field of ['detail', 'where', 'internalQuery'] as const) delete error[field]
  if (code?.startsWith('22')) {
    error.message = message.replace(/".*"/s, '"…"')
    if (stack !== undefined) error.stack = stack.replace(message, () => error.message)
  }
  return error
}

/** Returns statements over one connection or pool. */
export const sql = (client: Client, outage: OutageMonitor | null): Sql => {
  const ask = async <Row>(config: pg.QueryConfig) => {
    try {
      const answer = await client.query<Row & pg.QueryResultRow>(config)
      outage?.answered()
      return answer
    } catch (error) {
      outage?.failed(error)
      throw withoutValues(error)
    }
  }
  const query = async <Row>(parts: TemplateStringsArray, values: Value[]) => {
    const { name, text } = statement(parts)
    return await ask<Row>({ name, text, values: values.map(plain) })
  }
  return {
    one: async <Row>(parts: TemplateStringsArray, ...values: Value[]) => {
      const { rows } = await query<Row>(parts, values)
      const [row] = rows
      if (row === undefined || rows.length !== 1)
        throw new Error(`expected one row, got ${rows.length}: ${parts.join('?')}`)
      return row
    },
    maybe: async <Row>(parts: TemplateStringsArray, ...values: Value[]) =>
      (await query<Row>(parts, values)).rows[0] ?? null,
    many: async <Row>(parts: TemplateStringsArray, ...values: Value[]) => (await query<Row>(parts, values)).rows,
    run: async (parts, ...values) => (await query(parts, values)).rowCount ?? 0,
    raw: async <Row>(text: string, values: Value[] = []) => (await ask<Row>({ text, values: values.map(plain) })).rows,
  }
}

export type DbOptions = {
  url: string
  connections?: number
  onError?: (error: Error) => void
  /** No time limits: for migrations. */
  unlimited?: boolean
  /** Milliseconds to wait for a connection, and then for an answer. Default: 5 s and 30 s. */
  timeoutMs?: number
  /** Notes whether the database answers. */
  outage?: OutageMonitor
  /** Throws for a new connection that must not be used. */
  admit?: Admit
  /**
   * Milliseconds after which an idle connection is closed. Default: 10 s. There is no minimum: the process polls every
   * 3 s, which keeps the connection that it needs.
   */
  idleMs?: number
}

export type Admit = (sql: Sql) => Promise<void>

/**
 * Session options that the user set in the address or in PGOPTIONS. They are sent at the start of a connection, which a
 * connection pooler may refuse; our own never are.
 */
const userSessionOptions = (url: string): string =>
  (URL.canParse(url) ? new URL(url).searchParams.get('options') : null) ?? process.env.PGOPTIONS ?? ''

/**
 * Prepares a new connection with statements, because connection poolers refuse or drop options of the start-up packet
 * (PgBouncer 1.18: "unsupported startup parameter: options").
 * Just-in-time compilation is off unless the user requested it. The plan of a function with `set enable_seqscan = off`
 * that reads the one row of `clock` has a high cost estimate. So it is compiled at each call: 67 to 300 ms instead of
 * 0.5.
 * @throws Error with the code 25006 if the server is a standby or read-only: another address may lead to the primary
 */
export const prepareSession = async (
  client: Pick<pg.ClientBase, 'query'>,
  url: string,
  statementTimeout: number | null,
): Promise<void> => {
  const settings = [
    ...(/\bjit\b/.test(userSessionOptions(url)) ? [] : ['set jit = off']),
    ...(statementTimeout === null
      ? []
      : [`set statement_timeout = ${statementTimeout}`, 'set idle_in_transaction_session_timeout = 60000']),
  ]
  if (settings.length > 0) await client.query(settings.join('; '))
  const { rows } = await client.query<{ is_read_only: boolean }>(
    `select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as is_read_only`,
  )
  if (rows[0]?.is_read_only)
    throw Object.assign(new Error('the database is read-only: it is a standby, or was made so'), { code: readOnly })
}

/** Opens a pool of connections. An idle connection that breaks is dropped and reported, never thrown. */
export const connect = (options: DbOptions): Db => {
  const {
    url,
    connections = 10,
    onError = () => {},
    unlimited = false,
    timeoutMs,
    outage = null,
    admit,
    idleMs,
  } = options
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    idleTimeoutMillis: idleMs ?? 10_000,
    connectionTimeoutMillis: timeoutMs ?? 5_000,
    // A peer that swallows packets must not block a caller forever.
    ...(unlimited ? {} : { query_timeout: timeoutMs ?? 35_000 }),
    onConnect: async (client) => {
      await prepareSession(client, url, unlimited ? null : (timeoutMs ?? 30_000))
      await admit?.(sql(client, null))
    },
    keepAlive: true,
    application_name: 'trunkline',
  })
  pool.on('error', (error) => {
    outage?.failed(error)
    onError(error)
  })
  // The caller gets the error with the answer. But a connection may end in the very packet that made it ready. It then
  // has no owner, and an unhandled error event ends the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  const limit = new GrowingLimit(connections, () => pool.totalCount)
  /** A commit is final, whatever an effect does; and one effect must not prevent the others. */
  const committed = (effects: (() => void)[]) => {
    for (const effect of effects)
      try {
        effect()
      } catch (error) {
        onError(error instanceof Error ? error : new Error(String(error)))
      }
  }
  const transact = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    const client = await pool.connect().catch((error) => {
      outage?.failed(error)
      throw error
    })
    const effects: (() => void)[] = []
    let broken: Error | undefined
    const note = (error: Error) => {
      broken = error
    }
    client.on('error', note)
    try {
      await client.query('begin')
      const result = await work({
        ...sql(client, outage),
        transaction: true,
        afterCommit: (effect) => effects.push(effect),
      })
      // PostgreSQL answers the commit of a transaction in which a statement failed with ROLLBACK, not with an error.
      const { command } = await client.query('commit')
      if (command !== 'COMMIT') throw new Error('the transaction was rolled back: a failed statement in it was ignored')
      committed(effects)
      return result
    } catch (error) {
      outage?.failed(error)
      // A read-only server stays read-only: the next connection may find its successor.
      if (error instanceof Error && codeOf(error) === readOnly) note(error)
      await client.query('rollback').catch(note)
      // A deferred constraint fails with the commit.
      throw withoutValues(error)
    } finally {
      client.off('error', note)
      client.release(broken)
    }
  }
  return {
    ...sql({ query: (config) => limit.run(() => pool.query(config)) }, outage),
    connections,
    begin: (work) => limit.run(() => transact(work)),
    dedicated: (milliseconds) => connect({ ...options, connections: 1, timeoutMs: milliseconds }),
    load: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount + limit.waiting }),
    end: () => pool.end(),
  }
}

/** Returns the SQLSTATE of a database error, or null for any other error. */
export const sqlState = (error: unknown): string | null =>
  error instanceof pg.DatabaseError ? (error.code ?? null) : null

/** SQLSTATE of a write on a standby or in a read-only database: read_only_sql_transaction. */
const readOnly = '25006'

const codeOf = (error: Error): string | null => ('code' in error && typeof error.code === 'string' ? error.code : null)

/** SQLSTATEs of a database that is unavailable (PostgreSQL, appendix A); 57014: the statement took too long. */
const unavailableStates = /^(?:08|25006|53|57P|57014|58)/
const linkDown =
  /ECONNREFUSED|ECONNRESET|ENOENT|EPIPE|Connection terminated|timeout exceeded|Query read timeout|is not queryable|database is read-only/

/**
 * Returns true when the database is down, full, unreachable, read-only or too slow: the fate of the statement is
 * unknown.
 */
export const isUnavailable = (error: unknown): boolean => {
  const state = sqlState(error)
  if (state !== null) return unavailableStates.test(state)
  return error instanceof Error && linkDown.test(`${error.message} ${codeOf(error) ?? ''}`)
}
