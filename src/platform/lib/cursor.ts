import { fromBase64url } from './base64url.ts'
import { parse as parseId, print } from './id.ts'
import { isStorable } from './storable.ts'

/** End of a keyset page: time and id of its last row. Opaque to clients. */
export type Cursor = { readonly time: string; readonly id: string }

/** Encodes the parts of a cursor. @param list name that distinguishes cursors of different lists */
export const writeParts = (list: string, parts: readonly string[]): string =>
  Buffer.from([list, ...parts].join('|')).toString('base64url')

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes a cursor into `count` parts; the last part may contain separators. Returns null for any other text. */
export const readParts = (list: string, text: string, count: number): string[] | null => {
  const bytes = fromBase64url(text)
  if (bytes === null) return null
  try {
    const [listId, ...parts] = utf8.decode(bytes).split('|')
    if (listId !== list || parts.length < count || !parts.every(isStorable)) return null
    return [...parts.slice(0, count - 1), parts.slice(count - 1).join('|')]
  } catch {
    return null
  }
}

/** @param time in the format of the database, with microseconds */
export const writeCursor = (list: string, { time, id }: Cursor): string => writeParts(list, [time, id])

const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z$/

/** True for an existing date: JavaScript reads 31 February as 3 March, and PostgreSQL refuses it. */
export const isCursorTime = (time: string): boolean => {
  const at = timeForm.test(time) ? new Date(`${time.slice(0, 19)}Z`) : new Date(Number.NaN)
  return !Number.isNaN(at.getTime()) && at.getUTCFullYear() > 0 && at.toISOString().startsWith(time.slice(0, 19))
}

/** Decodes a cursor of a list; returns null for any other text. */
export const readCursor = (list: string, text: string): Cursor | null => {
  const [time = '', id = ''] = readParts(list, text, 2) ?? []
  const known = parseId('TRF', print('TRF', id))
  return isCursorTime(time) && known ? { time, id: known } : null
}
