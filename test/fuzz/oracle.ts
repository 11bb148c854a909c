import { bodyReader, isBodyOptional } from '../../src/platform/http/body-reader.ts'
import type { Contract } from '../../src/platform/http/endpoint.ts'
import { formReader } from '../../src/platform/http/form-body.ts'
import { allows, answerFault, compatFault, refusalFault } from '../recipes/answer.ts'
import { fields, nodeOf } from '../recipes/schema.ts'
import type { RawAnswer } from '../recipes/send.ts'

/** A request as it was sent, and as its schema must judge it. */
export type SentRequest = {
  params: Record<string, string>
  query: [string, string][]
  headers: Record<string, string>
  /** Undefined if no body was sent. */
  body: unknown
  /** True if the body is not JSON, or not the JSON in `body`. */
  isRaw: boolean
}

/** Refusals that precede the endpoint's handler. */
const edge = new Set([
  'unknown_path',
  'malformed_request',
  'body_too_large',
  'unsupported_media_type',
  'unsupported_content_encoding',
  'invalid_request',
])

/** Their statuses in the shape of Twilio, which has numbers instead of these words. */
const compatEdge: ReadonlySet<number> = new Set([413, 415])

const isBad = (text: string) => text.includes('\0') || !text.isWellFormed()

const holdsBad = (value: unknown): boolean => {
  if (typeof value === 'string') return isBad(value)
  if (value === null || typeof value !== 'object') return false
  return Object.entries(value).some(([name, inner]) => isBad(name) || holdsBad(inner))
}

/** Query parameters as their schema reads them: empty is absent, repeated is a list. */
const queryOf = (contract: Contract, query: [string, string][]): Record<string, unknown> => {
  const types = new Map(fields(contract.query).map(([name, node]) => [name, node.type]))
  const read = (name: string, text: string): unknown => {
    if (types.get(name) === 'integer') return /^-?\d+$/.test(text) ? Number(text) : text
    if (types.get(name) === 'boolean') return /^(?:true|1)$/.test(text) || (/^(?:false|0)$/.test(text) ? false : text)
    return text
  }
  const whole: Record<string, unknown> = {}
  for (const [name, texts] of Map.groupBy(query, ([name]) => name)) {
    const values = texts.map(([, text]) => text)
    const [first = ''] = values
    if (values.length > 1) whole[name] = values
    else if (first !== '') whole[name] = read(name, first)
  }
  return whole
}

/** A body as the server reads it. */
const bodyOf = (contract: Contract, body: unknown): unknown => {
  const given = structuredClone(body) ?? (isBodyOptional(contract) ? {} : undefined)
  if (contract.form && contract.body) {
    formReader(contract.body)(given)
    return given
  }
  return bodyReader(contract)?.(given) ?? given
}

/** Answers of 503 that say that no voice role runs here. */
const voicelessCodes: ReadonlySet<string> = new Set(['no_calls_here', 'no_voice', 'no_trunk'])

/** Names a member without a name, so that its pointer begins like every other (RFC 6901, 3). */
const withNamedField = (sent: SentRequest, answer: RawAnswer): RawAnswer => {
  const { body } = answer
  if (!Object.hasOwn(Object(sent.body), '') || body === null || typeof body !== 'object' || !('field' in body))
    return answer
  return { ...answer, body: { ...body, field: String(body.field).replace(/^\/(?=\/|$)/, '/nameless') } }
}

/** Returns why an answer is wrong, or null. @param took milliseconds */
export const faultOf = (contract: Contract, sent: SentRequest, given: RawAnswer, took: number): string | null => {
  const answer = withNamedField(sent, given)
  const { status, text, body } = answer
  const code = body !== null && typeof body === 'object' && 'error_code' in body ? String(body.error_code) : ''
  // Correct answers of a world without voice.
  if (status >= 500 && !voicelessCodes.has(code)) return `status ${status}: ${text.slice(0, 300)}`
  // Requests that wait for a third party may wait 20 s for their turn or its answer.
  if (took > (contract.waits ? 25_000 : 2_000)) return `it took ${Math.round(took)} ms`
  // Such a path parameter turns the path into that of another endpoint: empty, with a trailing slash; the dots, as the
  // client resolves them.
  if (Object.values(Object(sent.params)).some((param) => ['', '.', '..'].includes(String(param)))) return null
  if (status >= 400) {
    // While the path cannot be decoded, no route is known.
    if (code === 'unknown_path' || code === 'malformed_request') {
      const whole = refusalFault(null, answer)
      return whole && code === 'malformed_request' ? refusalFault(contract, answer) : whole
    }
    if (contract.shape === 'compat' && compatEdge.has(status)) return compatFault(answer)
    return edge.has(code) ? refusalFault(contract, answer) : answerFault(contract, answer)
  }
  // A browser that navigates to the address of the claim link gets the page.
  const isPage = sent.headers.accept === 'text/html' && /^text\/html/.test(String(answer.headers['content-type']))
  if (contract.id === 'showClaim' && isPage) return null
  const wrong = answerFault(contract, answer)
  if (wrong) return wrong
  if (holdsBad(sent.params) || holdsBad(sent.query) || (!contract.media && holdsBad(sent.body)))
    return 'text that cannot be stored was accepted'
  if (!allows(nodeOf(contract.params), sent.params)) return 'params outside the schema were accepted'
  if (contract.query && !allows(nodeOf(contract.query), queryOf(contract, sent.query)))
    return 'a query outside the schema was accepted'
  if (contract.body && !sent.isRaw && !allows(nodeOf(contract.body), bodyOf(contract, sent.body)))
    return 'a body outside the schema was accepted'
  return null
}
