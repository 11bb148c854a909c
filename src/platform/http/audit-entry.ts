import type { Tx } from '../db/sql.ts'

type Fields = Readonly<Record<string, unknown>>

/** The part of an audit row that only the handler of the request knows. */
export type AuditEntry = {
  /** Printed ids of the objects of the operation. Default: the ids of the path. */
  readonly target?: string | readonly string[] | undefined
  /** Bare uuid of the account of the operation. Default: that of the path, or of the API key. */
  readonly account?: string
  /** Absent for a creation. Only fields that differ from `after` are stored. */
  readonly before?: Fields | undefined
  /** Absent for a deletion. */
  readonly after?: Fields | undefined
}

/**
 * Writes the audit row of a request in the transaction of its operation.
 * @param tx null if the operation changes nothing in the database: the row is then written after it
 */
export type Audit = (tx: Tx | null, entry: AuditEntry) => Promise<void>
