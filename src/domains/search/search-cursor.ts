import { refuse } from '../../platform/http/problem.ts'
import { refusals } from '../../platform/http/refusals.ts'
import { type Cursor, isCursorTime, readParts, writeParts } from '../../platform/lib/cursor.ts'
import { parse } from '../../platform/lib/id.ts'
import { type SearchKind, searchKinds } from './kinds.ts'

/** What a page of one kind follows: a row by its key, a row of words by its id, or a number of ranked results. */
export type Position = Cursor | string | number

/** Positions of the kinds that have more results. */
export type Positions = ReadonlyMap<SearchKind, Position>

const list = 'search'

const isId = (text: string): boolean => parse('ITM', `ITM${text}`) === text

const writePosition = (position: Position): string =>
  typeof position === 'object' ? `${position.time},${position.id}` : `${position}`

const readPosition = (text: string): Position | null => {
  if (/^\d{1,4}$/.test(text)) return Number(text)
  if (isId(text)) return text
  const [time = '', id = ''] = text.split(',')
  return isCursorTime(time) && isId(id) ? { time, id } : null
}

/** Encodes the positions of a page; undefined without any. */
export const writeCursor = (positions: Positions): string | undefined =>
  positions.size === 0
    ? undefined
    : writeParts(
        list,
        [...positions].map(([kind, position]) => `${kind}=${writePosition(position)}`),
      )

/** Decodes a cursor. @throws the 400 Problem that names `cursor` */
export const readCursor = (cursor: string): Positions => {
  const [text = ''] = readParts(list, cursor, 1) ?? []
  const positions = new Map<SearchKind, Position>()
  for (const part of text.split('|')) {
    const [name, value = ''] = part.split('=')
    const kind = searchKinds.find((one) => one === name)
    const position = readPosition(value)
    if (kind === undefined || position === null) return refuse(refusals.badCursor())
    positions.set(kind, position)
  }
  return positions
}

/** Narrows the position of a kind whose rows have keys. @throws the 400 Problem that names `cursor` */
export const asKey = (after: Position | null): Cursor | null =>
  after === null || typeof after === 'object' ? after : refuse(refusals.badCursor())

/** Narrows the position of a kind that is found by words. @throws the 400 Problem that names `cursor` */
export const asId = (after: Position | null): string | null =>
  after === null || typeof after === 'string' ? after : refuse(refusals.badCursor())

/** Narrows the position of a kind whose results are ranked. @throws the 400 Problem that names `cursor` */
export const asRank = (after: Position | null): number =>
  after === null ? 0 : typeof after === 'number' ? after : refuse(refusals.badCursor())
