import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Outage } from './outage.ts'

/** What SQL text may carry as a value. Arrays go as PostgreSQL arrays, plain objects as JSON. */
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

/** SQL as a tagged template: values are numbered, and each statement is named by its text, so that every connection
 *  prepares it once (measured: named 12.5 k/s, unnamed 6.6 to 8.3 k/s). */
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

/** A transaction. Types let an effect be asked for only inside one: see jobs/queue.ts. */
export type Tx = Sql & {
  readonly transaction: true
  /** Called once the transaction has committed, and never otherwise. */
  afterCommit(effect: () => void): void
}

export type Db = Sql & {
  /** Connections of the pool, at most. */
  readonly connections: number
  begin<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Another connection, for what may not wait behind anything else. What takes longer than so many milliseconds is given up. */
  apart(milliseconds: number): Db
  /** Connections in use and callers waiting for one. */
  load(): { total: number; idle: number; waiting: number }
  end(): Promise<void>
}

// bigint (20) and numeric (1700) as numbers would lose digits: bigints of ours are ids and counts below 2^53; numerics
// stay text and are read by lib/money.ts.
pg.types.setTypeParser(20, Number)

type Statement = { name: string; text: string }
const statements = new WeakMap<TemplateStringsArray, Statement>()

const statement = (parts: TemplateStringsArray): Statement => {
  const known = statements.get(parts)
  if (known) return known
  const text = parts.reduce((whole, part, i) => (i === 0 ? part : `${whole}$${i}${part}`), '')
  const made = { name: createHash('sha256').update(text).digest('base64url').slice(0, 22), text }
  statements.set(parts, made)
  return made
}

type Client = Pick<pg.ClientBase, 'query'>

const plain = (value: Value): unknown =>
  value !== null &&
  typeof value === 'object' &&
  !Array.isArray(value) &&
  !(value instanceof Date) &&
  !Buffer.isBuffer(value)
    ? JSON.stringify(value)
    : value

/**
 * Takes out of an error of PostgreSQL what quotes rows and values, texts of messages among them: `detail`, `where`, and the
 * messages of class 22 (data exception). Here and not in the log alone, as Node prints an error that nobody caught with all
 * its fields.
 */
const withoutValues = (error: unknown): unknown => {
  if (!(error instanceof pg.DatabaseError)) return error
  const { code, message, stack } = error
  for (const field of ['detail', 'where', 'internalQuery'] as const) delete error[field]
  if (code?.startsWith('22')) {
    error.message = message.replace(/".*"/s, '"…"')
    if (stack !== undefined) error.stack = stack.replace(message, () => error.message)
  }
  return error
}

const sql = (client: Client, outage: Outage | null): Sql => {
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
  /** Without limits of time: for migrations, which take as long as they take. */
  patient?: boolean
  /** How long it waits for a connection, and then for an answer, ms; else 5 s and 30. */
  patience?: number
  /** Notes whether the database answers. */
  outage?: Outage
}

/**
 * Options of a session that its user asked for: in the address, or in PGOPTIONS. They are sent at the start of a connection,
 * which a connection pooler may refuse; ours never are.
 */
const askedOptions = (url: string): string =>
  (URL.canParse(url) ? new URL(url).searchParams.get('options') : null) ?? process.env.PGOPTIONS ?? ''

/**
 * Prepares a new connection with statements, because connection poolers refuse or drop options of the start-up packet
 * (PgBouncer 1.18: "unsupported startup parameter: options").
 *
 * Just-in-time compilation is off unless the user asked for it. The plan of a function with `set enable_seqscan = off` that
 * reads the one row of `clock` looks so dear that it is compiled at each call: 67 to 300 ms instead of 0.5.
 * @throws Error with the code 25006 where the server is a standby or read-only: another address may lead to the primary
 */
const prepareSession = async (client: Client, url: string, statementTimeout: number | null): Promise<void> => {
  const settings = [
    ...(/\bjit\b/.test(askedOptions(url)) ? [] : ['set jit = off']),
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

/** A pool of connections. An idle connection that breaks is dropped and reported, never thrown: see data-layer part 3. */
export const connect = (options: DbOptions): Db => {
  const { url, connections = 10, onError = () => {}, patient = false, patience, outage = null } = options
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: patience ?? 5_000,
    // A peer that swallows packets must not hold a caller for ever.
    ...(patient ? {} : { query_timeout: patience ?? 35_000 }),
    onConnect: (client) => prepareSession(client, url, patient ? null : (patience ?? 30_000)),
    keepAlive: true,
    application_name: 'trunkline',
  })
  pool.on('error', (error) => {
    outage?.failed(error)
    onError(error)
  })
  // Whoever asks is told by the answer; but a connection may be ended in the very packet that made it ready, when nobody has it
  // yet, and an error that nobody hears ends the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  /** What is committed stays so, whatever becomes of an effect; and one effect does not keep the others from happening. */
  const committed = (effects: (() => void)[]) => {
    for (const effect of effects)
      try {
        effect()
      } catch (error) {
        onError(error instanceof Error ? error : new Error(String(error)))
      }
  }
  return {
    ...sql(pool, outage),
    connections,
    begin: async (work) => {
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
        if (command !== 'COMMIT')
          throw new Error('the transaction was rolled back: a statement in it failed and was passed over')
        committed(effects)
        return result
      } catch (error) {
        outage?.failed(error)
        // A server that became read-only stays so: the next connection may find its successor.
        if (error instanceof Error && codeOf(error) === readOnly) note(error)
        await client.query('rollback').catch(note)
        // A deferred constraint fails with the commit.
        throw withoutValues(error)
      } finally {
        client.off('error', note)
        client.release(broken)
      }
    },
    apart: (milliseconds) => connect({ ...options, connections: 1, patience: milliseconds }),
    load: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    end: () => pool.end(),
  }
}

/** The SQLSTATE of a database error, or null for any other error. */
export const sqlState = (error: unknown): string | null =>
  error instanceof pg.DatabaseError ? (error.code ?? null) : null

/** SQLSTATE of a write on a standby or in a read-only database: read_only_sql_transaction. */
const readOnly = '25006'

const codeOf = (error: Error): string | null => ('code' in error && typeof error.code === 'string' ? error.code : null)

/** SQLSTATEs of a database that cannot be asked now (PostgreSQL, appendix A); 57014: the statement took too long. */
const down = /^(?:08|25006|53|57P|57014|58)/
const linkDown =
  /ECONNREFUSED|ECONNRESET|ENOENT|EPIPE|Connection terminated|timeout exceeded|Query read timeout|is not queryable|database is read-only/

/** True when the database is away, full, unreachable, read-only or too slow: the fate of the statement is unknown. */
export const isUnavailable = (error: unknown): boolean => {
  const state = sqlState(error)
  if (state !== null) return down.test(state)
  return error instanceof Error && linkDown.test(`${error.message} ${codeOf(error) ?? ''}`)
}
