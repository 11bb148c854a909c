import { type Cursor, readCursor, writeCursor } from '../lib/cursor.ts'
import type { Contract } from './endpoint.ts'
import { invalid } from './problem.ts'

export const badCursor = (): never => invalid('cursor must be a next_cursor of this list')

/** The cursors of one list. */
export type Cursors = {
  /** Where a page begins; null for the first one. @throws the 400 Problem that names `cursor` */
  read(given: string | undefined): Cursor | null
  write(cursor: Cursor): string
}

/** The cursors of the list that an endpoint answers: those of another endpoint are refused. */
export const cursorsOf = ({ id: list }: Pick<Contract, 'id'>): Cursors => ({
  read: (given) => (given === undefined ? null : (readCursor(list, given) ?? badCursor())),
  write: (cursor) => writeCursor(list, cursor),
})
