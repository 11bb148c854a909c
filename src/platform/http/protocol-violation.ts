import type { IncomingMessage } from 'node:http'
import { Problem } from './problem.ts'

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

const malformed = (message: string, code = 'malformed_request') => new Problem('invalid', message, code)

const repeated = (names: readonly string[]): string | null => {
  let seen: string[] | null = null
  for (let i = 0; i < names.length; i += 2) {
    const given = names[i] ?? ''
    if (!lengths.has(given.length)) continue
    const name = given.toLowerCase()
    if (!singleHeaders.has(name)) continue
    if (seen?.includes(name)) return name
    seen ??= []
    seen.push(name)
  }
  return null
}

/** Returns the refusal of a request that Node accepts and HTTP forbids, or null. Takes less than a microsecond. */
export const protocolViolation = ({ httpVersion, headers, rawHeaders }: IncomingMessage): Problem | null => {
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return malformed(`HTTP/${httpVersion} is not supported: use HTTP/1.1`, 'http_version_not_supported')
  // RFC 9112, 3.2. Node itself would answer without a body.
  if (headers.host === undefined && httpVersion === '1.1') return malformed('The header Host is missing')
  const twice = repeated(rawHeaders)
  if (twice !== null) return malformed(`The header ${twice} came more than once: send it once`)
  const coding = headers['content-encoding']
  if (coding === undefined || coding.trim().toLowerCase() === 'identity') return null
  // A request without a body has nothing to decode (RFC 9112, 6.3).
  const length = headers['content-length']
  if (headers['transfer-encoding'] === undefined && (length === undefined || Number(length) === 0)) return null
  // RFC 9110, 15.5.16.
  const message = 'Content-Encoding must be identity: send the body without compression'
  return new Problem('mediaType', message, 'unsupported_content_encoding', { 'accept-encoding': 'identity' })
}
