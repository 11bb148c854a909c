import { fromBase64url } from './base64url.ts'
import { parse as parseId, print } from './id.ts'

/** Where a keyset page ends: the time and the id of its last row. Opaque to clients. */
export type Cursor = { time: string; id: string }

/** @param time as the database prints it, with microseconds */
export const writeCursor = ({ time, id }: Cursor): string => Buffer.from(`${time}|${id}`).toString('base64url')

const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z$/

/** Null for what is no cursor of ours. */
export const readCursor = (text: string): Cursor | null => {
  const [time = '', id = ''] = fromBase64url(text)?.toString('latin1').split('|') ?? []
  const known = parseId('TRF', print('TRF', id))
  return timeForm.test(time) && !Number.isNaN(Date.parse(time)) && known ? { time, id: known } : null
}
