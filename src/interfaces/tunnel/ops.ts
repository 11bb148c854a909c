import type { Sql } from '../../platform/db/sql.ts'
import { makeEventReader, startAfter } from './event-reader.ts'

/**
 * Reads the events of an account after an id: each once, and in order.
 * @param isResumed true if a listener has the events up to this id: those that became visible late are read too, and
 * some of the last ten seconds again
 */
export const makeResumeReader = (sql: Sql, account: string, after: string, isResumed: boolean) =>
  makeEventReader(sql, account, isResumed ? startAfter(after) : after, null)
