import { type Cursor, readCursor, writeCursor } from '../lib/cursor.ts'
import type { Contract } from './endpoint.ts'
import { refuse } from './problem.ts'
import { refusals } from './refusals.ts'

/** Cursors of one list. */
export type Cursors = {
  /** Returns the start of a page; null for the first one. @throws the 400 Problem that names `cursor` */
  read(given: string | undefined): Cursor | null
  write(cursor: Cursor): string
}

/** Returns the cursors of an endpoint's list. Cursors of other endpoints are refused. */
export const cursorsOf = ({ id: list }: Pick<Contract, 'id'>): Cursors => ({
  read: (given) => (given === undefined ? null : (readCursor(list, given) ?? refuse(refusals.badCursor()))),
  write: (cursor) => writeCursor(list, cursor),
})
