import type { Sql } from '../../platform/db/sql.ts'
import { makeEventReader, startAfter } from './event-reader.ts'

/** Reads the events of an account after the last one that a listener has: each once, in order, and those that became
 *  visible late. */
export const makeResumeReader = (sql: Sql, account: string, after: string) =>
  makeEventReader(sql, account, startAfter(after), null)
