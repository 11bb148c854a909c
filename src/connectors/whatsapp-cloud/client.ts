import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { codeOf, isUnsent } from '../../lib/unsent.ts'
import type { Asked, LinkState } from '../port.ts'
import { type GraphError, isTokenRefused, readError, waitOf } from './codec/errors.ts'
import { type Fields, fieldsOf } from './codec/fields.ts'
import { graphOf, type WhatsappCloudSettings } from './settings.ts'

export type Call = {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  /** Below the version; ids in it are escaped. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  readonly milliseconds?: number
}

/** Bytes of ours with what goes before and after them. */
export type Upload = {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly length: number
  body(): AsyncIterable<Buffer>
}

export type Client = {
  ask(call: Call): Promise<Asked<Fields>>
  /** Nothing is sent by it that anybody sees: it may be tried again. */
  upload(upload: Upload): Promise<Asked<Fields>>
  /** The bytes behind an address that the network gave. */
  download(url: string): Promise<Asked<{ readonly mimeType: string | null; readonly body: Readable }>>
  state(): LinkState
  close(): void
}

const answerMs = 20_000
const fileMs = 120_000
/** Octets of an answer. A page of 100 numbers takes about 40,000. */
const longestAnswer = 4 * 1024 * 1024

const wordsOf = (error: unknown): string => {
  const code = codeOf(error)
  if (/^[A-Z]/.test(code)) return code
  if (error instanceof Error) return error.name === 'TimeoutError' ? 'no answer in time' : error.message
  return String(error)
}

/** The bytes of a stream, so many at most. */
const gather = async (stream: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of stream) {
    size += piece.length
    if (size > longestAnswer) throw new Error(`the answer is longer than ${longestAnswer} octets`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

const parsed = (text: string): Fields => {
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    return {}
  }
}

type Answer = {
  readonly status: number
  readonly retryAfter: string | null
  readonly usage: string | null
  readonly body: Fields
}

/** Seconds of a Retry-After (RFC 9110, 10.2.3), or of what the usage header says of access (minutes), 1 to 900. */
const pauseOf = ({ retryAfter, usage }: Answer, otherwise: number): number => {
  const minutes = /"estimated_time_to_regain_access"\s*:\s*(\d+)/.exec(usage ?? '')?.[1]
  const seconds = Number(retryAfter ?? Number.NaN) || Number(minutes ?? 0) * 60 || otherwise
  return Math.min(900, Math.max(1, Math.ceil(seconds)))
}

/**
 * HTTP with the Graph API, every way to fail sorted by what it means for who asks.
 * @param refused the token is taken no more: asking again is of no use until it is changed
 */
export const makeClient = (settings: WhatsappCloudSettings, refused: (reason: string) => void): Client => {
  const graph = graphOf(settings)
  const authorization = `Bearer ${settings.access_token}`
  const closing = new AbortController()
  let inFlight = 0
  let submitted = 0
  let life: Pick<LinkState, 'state' | 'since' | 'lastError'> = {
    state: 'connecting',
    since: Date.now(),
    lastError: null,
  }

  const become = (state: 'up' | 'down', lastError: string | null) => {
    if (life.state === 'closed') return
    life = { state, since: life.state === state ? life.since : Date.now(), lastError }
  }

  const limit = (milliseconds: number) => AbortSignal.any([closing.signal, AbortSignal.timeout(milliseconds)])

  const failed = (error: GraphError, answer: Answer): Asked<never> => {
    const reason = `${error.reason} (${error.code})`
    const wait = waitOf(error) ?? (answer.status === 429 ? 5 : null)
    if (wait !== null) return { outcome: 'later', seconds: pauseOf(answer, wait), reason, code: String(error.code) }
    if (!isTokenRefused(error)) return { outcome: 'refused', reason, code: String(error.code) }
    become('down', `the access token is refused: ${reason}`)
    refused(reason)
    return { outcome: 'later', seconds: 30, reason }
  }

  /** @param isRepeatable whether it may be asked again when nobody knows whether it was done */
  const sorted = (answer: Answer, isRepeatable: boolean): Asked<Fields> => {
    const { status, body } = answer
    if (status < 500) become('up', null)
    if (status >= 200 && status < 300) return { outcome: 'done', value: body }
    const error = readError(body.error)
    if (error) return failed(error, answer)
    const reason = `the network answered ${status}`
    if (status === 429) return { outcome: 'later', seconds: pauseOf(answer, 5), reason }
    if (status < 500) return { outcome: 'refused', reason }
    become('down', reason)
    return isRepeatable ? { outcome: 'later', seconds: 5, reason } : { outcome: 'unknown', reason }
  }

  const lost = (error: unknown, isRepeatable: boolean): Asked<never> => {
    const reason = wordsOf(error)
    become('down', reason)
    return isRepeatable || isUnsent(error) ? { outcome: 'later', seconds: 5, reason } : { outcome: 'unknown', reason }
  }

  const ask = async ({ method = 'GET', path, query = {}, body, milliseconds = answerMs }: Call) => {
    const isRepeatable = method === 'GET'
    const search = new URLSearchParams(query).toString()
    inFlight++
    try {
      const response = await fetch(`${graph}/${path}${search ? `?${search}` : ''}`, {
        method,
        redirect: 'error',
        headers: { authorization, ...(body ? { 'content-type': 'application/json' } : {}) },
        signal: limit(milliseconds),
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      const { status, headers } = response
      const text = (await gather(response.body ?? Readable.from([]))).toString('utf8')
      if (method !== 'GET') submitted++
      const [retryAfter, usage] = [headers.get('retry-after'), headers.get('x-business-use-case-usage')]
      return sorted({ status, retryAfter, usage, body: parsed(text) }, isRepeatable)
    } catch (error) {
      return lost(error, isRepeatable)
    } finally {
      inFlight--
    }
  }

  const upload = async ({ path, headers, length, body }: Upload): Promise<Asked<Fields>> => {
    const address = `${graph}/${path}`
    const options = {
      method: 'POST',
      signal: limit(fileMs),
      headers: { authorization, ...headers, 'content-length': length },
    }
    const request = address.startsWith('http:') ? requestPlain(address, options) : requestTls(address, options)
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    request.on('response', (response) => {
      const { statusCode: status = 0, headers } = response
      gather(response).then((bytes) => {
        const retryAfter = headers['retry-after'] ?? null
        resolve({ status, retryAfter, usage: null, body: parsed(bytes.toString('utf8')) })
      }, reject)
    })
    request.on('error', reject)
    inFlight++
    try {
      // An answer that comes before all was sent, such as a refusal, counts.
      const sending = pipeline(Readable.from(body()), request).catch(reject)
      const answer = await promise
      request.destroy()
      await sending
      return sorted(answer, true)
    } catch (error) {
      return lost(error, true)
    } finally {
      inFlight--
    }
  }

  const download: Client['download'] = async (url) => {
    try {
      const response = await fetch(url, { redirect: 'error', headers: { authorization }, signal: limit(fileMs) })
      if (response.ok && response.body) {
        const mimeType = response.headers.get('content-type')
        return { outcome: 'done', value: { mimeType, body: Readable.from(response.body) } }
      }
      await response.body?.cancel()
      const reason = `the network answered ${response.status} for the file`
      return response.status === 404 || response.status === 410
        ? { outcome: 'refused', reason }
        : { outcome: 'later', seconds: 30, reason }
    } catch (error) {
      return { outcome: 'later', seconds: 5, reason: wordsOf(error) }
    }
  }

  return {
    ask,
    upload,
    download,
    state: () => ({ ...life, inFlight, submitted }),
    close: () => {
      life = { ...life, state: 'closed', since: Date.now() }
      closing.abort()
    },
  }
}
