import { type Cursor, readCursor, writeCursor } from '../lib/cursor.ts'
import type { Contract } from './endpoint.ts'
import { refuse } from './problem.ts'
import { refusals } from './refusals.ts'

/** Cursors of one list. */
export type Cursors = {
  /** Returns the start of a page; null for the first one. @throws the 400 Problem that names `cursor` */
  read(text: string | undefined): Cursor | null
  /** Like `read`; returns the key of a list by time and id. */
  key(text: string | undefined): readonly string[] | null
  write(cursor: Cursor): string
}

/** Returns the cursors of an endpoint's list. Cursors of other endpoints are refused. */
export const cursorsOf = ({ id: list }: Pick<Contract, 'id'>): Cursors => {
  const read = (text: string | undefined) =>
    text === undefined ? null : (readCursor(list, text) ?? refuse(refusals.badCursor()))
  return {
    read,
    key: (text) => {
      const cursor = read(text)
      return cursor && [cursor.time, cursor.id]
    },
    write: (cursor) => writeCursor(list, cursor),
  }
}
