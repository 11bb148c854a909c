import type { IncomingHttpHeaders } from 'node:http'

/** Bytes of a file from one to another, both included. */
type Span = { readonly start: number; readonly end: number }

/**
 * The part that headers ask for; null for all of it, 'none' when there is no such part (RFC 9110, 14.2). Several parts are
 * answered with all. Files have no validators, so that no If-Range can match: the answer is all of the file (RFC 9110, 13.1.5).
 */
export const spanOf = ({ range, 'if-range': condition }: IncomingHttpHeaders, size: number): Span | null | 'none' => {
  if (condition !== undefined) return null
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range?.trim() ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '')
    return Number(last) === 0 || size === 0 ? 'none' : { start: Math.max(0, size - Number(last)), end: size - 1 }
  const [start, end] = [Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1)]
  if (last !== '' && Number(last) < start) return null
  return start >= size ? 'none' : { start, end }
}
