import pg from 'pg'

/**
 * The meaning of an error for a request, the log and `/readyz`. `down`: no statement is answered. `no-writes`: reads are
 * answered, so only a successful write shows the end. Both answer 503, are logged as an outage, and make the process
 * unready. `late`: this statement was given up, and others may succeed: 503, and a warning in the log.
 */
export type Unavailability = 'down' | 'no-writes' | 'late'

/** SQLSTATEs by their beginning (PostgreSQL, appendix A), the longest match first. Null: the database can serve. */
const states: readonly { readonly state: string; readonly means: Unavailability | null; readonly why: string }[] = [
  { state: '08', means: 'down', why: 'the connection failed' },
  { state: '25006', means: 'no-writes', why: 'a standby, or a read-only database' },
  { state: '28', means: 'down', why: 'the login is refused: a changed password, or pg_hba.conf of a new primary' },
  { state: '3D000', means: 'down', why: 'the database is missing: dropped, renamed, or not restored yet' },
  { state: '40', means: null, why: 'two transactions conflict: callers repeat theirs, and the server answers' },
  { state: '40P01', means: 'late', why: 'a deadlock, as with a migration: a second attempt succeeds' },
  { state: '53', means: 'down', why: 'out of memory or connections' },
  { state: '53100', means: 'no-writes', why: 'the disk is full' },
  { state: '54', means: null, why: 'a statement beyond a limit of PostgreSQL: a repetition fails again' },
  { state: '55P03', means: 'late', why: 'a lock was not free within lock_timeout' },
  { state: '57014', means: 'late', why: 'the statement took longer than statement_timeout' },
  { state: '57P', means: 'down', why: 'the server stops, starts, crashed, or the database is dropped' },
  { state: '57P05', means: 'late', why: 'the server ended an idle session: a new one is opened' },
  { state: '58', means: 'no-writes', why: 'an error of the disk: cached pages are still read' },
  { state: 'XX', means: null, why: 'a damaged table or a fault of PostgreSQL: a repetition fails again, others work' },
]
const byLength = states.toSorted((a, b) => b.state.length - a.state.length)

/** Codes and messages of Node and `pg` for a connection that cannot be opened, or broke. */
const brokenLink =
  /\b(?:ECONN(?:REFUSED|RESET|ABORTED)|ENOENT|EACCES|EPIPE|ETIMEDOUT|E(?:HOST|NET)UNREACH|ENOTFOUND|EAI_AGAIN|EMFILE)\b|Connection terminated|timeout expired|is not queryable|has encountered a connection error/

/** Messages of `pg` for an answer, or a free connection of the pool, that did not come in time. */
const lateAnswer = /Query read timeout|timeout exceeded when trying to connect/

/** Errors that the connections of the database threw. Files and other servers throw the same codes. */
const ofDatabase = new WeakSet<Error>()

/** Marks an error as one that a connection of the database threw. @returns the error */
export const asDatabaseError = <Thrown>(error: Thrown): Thrown => {
  if (error instanceof Error) ofDatabase.add(error)
  return error
}

/** The database is unavailable, as something other than an error of PostgreSQL shows. */
export class DatabaseUnavailable extends Error {
  readonly means: Unavailability
  readonly code: string | undefined

  /** @param code a SQLSTATE */
  constructor(message: string, means: Unavailability, code?: string) {
    super(message)
    this.means = means
    this.code = code
  }
}

/** Whether a prepared statement fails because a migration changed the columns of its result. */
export const isStale = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery'

/** Returns what an error means for the availability of the database; null for every other error. */
export const unavailabilityOf = (error: unknown): Unavailability | null => {
  if (error instanceof DatabaseUnavailable) return error.means
  // A second attempt succeeds.
  if (isStale(error)) return 'late'
  if (error instanceof pg.DatabaseError)
    return byLength.find(({ state }) => error.code?.startsWith(state))?.means ?? null
  if (!(error instanceof Error) || !ofDatabase.has(error)) return null
  const text = `${error.message} ${'code' in error ? error.code : ''}`
  if (lateAnswer.test(text)) return 'late'
  return brokenLink.test(text) ? 'down' : null
}

/** True when the database is down, full, unreachable, read-only or too slow: the fate of the statement is unknown. */
export const isUnavailable = (error: unknown): boolean => unavailabilityOf(error) !== null

/** SQLSTATEs with which a connection ends: of its failure, and of a server that stops or crashed. */
const endsConnection = /^(?:08|57P0[12])/

/** Messages for an open connection that broke, and for an answer that came too late. */
const brokeOpen =
  /\bECONN(?:RESET|ABORTED)\b|\bEPIPE\b|\bETIMEDOUT\b|Connection terminated(?! due to connection timeout)|Query read timeout|has encountered a connection error/

/** Whether a statement that failed may have been committed all the same. */
export const mayBeCommitted = (error: unknown): boolean => {
  if (error instanceof pg.DatabaseError) return endsConnection.test(error.code ?? '')
  if (!(error instanceof Error) || !ofDatabase.has(error)) return false
  return brokeOpen.test(`${error.message} ${'code' in error ? error.code : ''}`)
}
