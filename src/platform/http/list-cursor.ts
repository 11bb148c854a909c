import { type Cursor, readCursor, writeCursor } from '../lib/cursor.ts'
import type { Contract } from './endpoint.ts'
import { refuse } from './problem.ts'
import { refusals } from './refusals.ts'

/** Cursors of one list. */
export type Cursors = {
  /** Returns the start of a page; null for the first one. @throws the 400 Problem that names `cursor` */
  read(given: string | undefined): Cursor | null
  /** Like `read`; returns the key of a list by time and id. */
  key(given: string | undefined): readonly string[] | null
  write(cursor: Cursor): string
}

/** Returns the cursors of an endpoint's list. Cursors of other endpoints are refused. */
export const cursorsOf = ({ id: list }: Pick<Contract, 'id'>): Cursors => {
  const read = (given: string | undefined) =>
    given === undefined ? null : (readCursor(list, given) ?? refuse(refusals.badCursor()))
  return {
    read,
    key: (given) => {
      const cursor = read(given)
      return cursor && [cursor.time, cursor.id]
    },
    write: (cursor) => writeCursor(list, cursor),
  }
}
