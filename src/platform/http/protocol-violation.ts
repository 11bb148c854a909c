import type { IncomingMessage } from 'node:http'
import type { Problem } from './problem.ts'
import { refusals } from './refusals.ts'

/** Headers that may occur once only: Node reads the first of two, a proxy may read the last. */
const singleHeaders = new Set([
  'host',
  'authorization',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'x-user-api-key',
  'x-operator-key',
  'idempotency-key',
  'origin',
])

/** Lengths of these names, to skip most other names without a look-up. */
const lengths = new Set([...singleHeaders].map(({ length }) => length))

const repeated = (names: readonly string[]): string | null => {
  let seen: string[] | null = null
  for (let i = 0; i < names.length; i += 2) {
    const header = names[i] ?? ''
    if (!lengths.has(header.length)) continue
    const name = header.toLowerCase()
    if (!singleHeaders.has(name)) continue
    if (seen?.includes(name)) return name
    seen ??= []
    seen.push(name)
  }
  return null
}

/** Returns the refusal of a request that Node accepts and HTTP forbids, or null. Takes less than a microsecond. */
export const protocolViolation = ({ httpVersion, headers, rawHeaders }: IncomingMessage): Problem | null => {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return refusals.httpVersionNotSupported(httpVersion)
  // RFC 9112, 3.2. Node itself would answer without a body.
  if (headers.host === undefined && httpVersion === '1.1') return refusals.missingHost()
  const twice = repeated(rawHeaders)
  if (twice !== null) return refusals.repeatedHeader(twice)
  const coding = headers['content-encoding']
  if (coding === undefined || coding.trim().toLowerCase() === 'identity') return null
  // A request without a body has nothing to decode (RFC 9112, 6.3).
  const length = headers['content-length']
  if (headers['transfer-encoding'] === undefined && (length === undefined || Number(length) === 0)) return null
  // RFC 9110, 15.5.16.
  return refusals.contentEncoding()
}
