import type { IncomingHttpHeaders } from 'node:http'

/** First and last byte of a part of a file, both included. */
type ByteRange = { readonly start: number; readonly end: number }

/**
 * Returns the requested part; null for the whole file, 'none' for an unsatisfiable range (RFC 9110, 14.2). Several
 * ranges yield the whole file. Files have no validators, so no If-Range can match: the whole file is sent (RFC 9110,
 * 13.1.5).
 */
export const byteRangeOf = (
  { range, 'if-range': condition }: IncomingHttpHeaders,
  size: number,
): ByteRange | null | 'none' => {
  if (condition !== undefined) return null
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range?.trim() ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '')
    return Number(last) === 0 || size === 0 ? 'none' : { start: Math.max(0, size - Number(last)), end: size - 1 }
  const [start, end] = [Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1)]
  if (last !== '' && Number(last) < start) return null
  return start >= size ? 'none' : { start, end }
}
