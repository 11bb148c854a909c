import { type RequestOptions, request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { failedBeforeSending, fetchErrorCode } from '../../platform/lib/fetch-error.ts'
import type { LinkState } from '../../ports/sms.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import { type GraphError, isTokenRefused, readError, retryAfterOf } from './codec/errors.ts'
import { type Fields, fieldsOf } from './codec/fields.ts'
import { fileTimeoutMs, maxResponseBytes, requestTimeoutMs } from './limits.ts'
import { graphOf, type WhatsappCloudSettings } from './whatsapp-cloud-settings.ts'

export type GraphRequest = {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  /** Below the version; ids are escaped. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  readonly milliseconds?: number
}

/** Bytes to upload, with the multipart headers around them. */
export type Upload = {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly length: number
  body(): AsyncIterable<Buffer>
}

export type GraphClient = {
  request(call: GraphRequest): Promise<ServiceResult<Fields>>
  /** An upload has no visible effect, so it may be repeated. */
  upload(upload: Upload): Promise<ServiceResult<Fields>>
  /** The bytes at a URL that the network supplied. */
  download(url: string): Promise<ServiceResult<{ readonly mimeType: string | null; readonly body: Readable }>>
  state(): LinkState
  close(): void
}

const errorTextOf = (error: unknown): string => {
  const code = fetchErrorCode(error)
  if (/^[A-Z]/.test(code)) return code
  if (error instanceof Error) return error.name === 'TimeoutError' ? 'no answer in time' : error.message
  return String(error)
}

/** Reads a stream up to the limit. */
const readBounded = async (stream: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of stream) {
    size += piece.length
    if (size > maxResponseBytes) throw new Error(`the answer is longer than ${maxResponseBytes} octets`)
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

type GraphResponse = {
  readonly status: number
  readonly retryAfter: string | null
  readonly usage: string | null
  readonly body: Fields
}

/** Seconds of a Retry-After (RFC 9110, 10.2.3) or of the usage header's time to regain access (minutes), 1 to 900. */
const pauseOf = ({ retryAfter, usage }: GraphResponse, otherwise: number): number => {
  const minutes = /"estimated_time_to_regain_access"\s*:\s*(\d+)/.exec(usage ?? '')?.[1]
  const seconds = Number(retryAfter ?? Number.NaN) || Number(minutes ?? 0) * 60 || otherwise
  return Math.min(900, Math.max(1, Math.ceil(seconds)))
}

/** Sends a body as a stream. A response before its end counts, such as a rejection. */
const postUpload = async (
  address: string,
  options: RequestOptions,
  body: AsyncIterable<Buffer>,
): Promise<GraphResponse> => {
  const request = address.startsWith('http:') ? requestPlain(address, options) : requestTls(address, options)
  const { promise, resolve, reject } = Promise.withResolvers<GraphResponse>()
  request.on('response', (response) => {
    const { statusCode: status = 0, headers } = response
    readBounded(response).then((bytes) => {
      const retryAfter = headers['retry-after'] ?? null
      resolve({ status, retryAfter, usage: null, body: parsed(bytes.toString('utf8')) })
    }, reject)
  })
  request.on('error', reject)
  const sending = pipeline(Readable.from(body), request).catch(reject)
  const answer = await promise
  request.destroy()
  await sending
  return answer
}

const downloadFile = async (
  url: string,
  authorization: string,
  signal: AbortSignal,
): ReturnType<GraphClient['download']> => {
  try {
    const response = await fetch(url, { redirect: 'error', headers: { authorization }, signal })
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
    return { outcome: 'later', seconds: 5, reason: errorTextOf(error) }
  }
}

type LinkLife = Pick<LinkState, 'state' | 'since' | 'lastError'>

/**
 * HTTP client of the Graph API; maps every failure to an outcome.
 * @param refused called when the token is rejected: retries are useless until it is changed
 */
export const makeGraphClient = (settings: WhatsappCloudSettings, refused: (reason: string) => void): GraphClient => {
  const graph = graphOf(settings)
  const authorization = `Bearer ${settings.access_token}`
  const closing = new AbortController()
  let inFlight = 0
  let submitted = 0
  let life: LinkLife = { state: 'connecting', since: Date.now(), lastError: null }

  const setState = (state: 'up' | 'down', lastError: string | null) => {
    if (life.state === 'closed') return
    life = { state, since: life.state === state ? life.since : Date.now(), lastError }
  }

  const limit = (milliseconds: number) => AbortSignal.any([closing.signal, AbortSignal.timeout(milliseconds)])

  const failed = (error: GraphError, answer: GraphResponse): ServiceResult<never> => {
    const reason = `${error.reason} (${error.code})`
    const wait = retryAfterOf(error) ?? (answer.status === 429 ? 5 : null)
    if (wait !== null) return { outcome: 'later', seconds: pauseOf(answer, wait), reason, code: String(error.code) }
    if (!isTokenRefused(error)) return { outcome: 'refused', reason, code: String(error.code) }
    setState('down', `the access token is refused: ${reason}`)
    refused(reason)
    return { outcome: 'later', seconds: 30, reason }
  }

  /** @param isRepeatable true when the request may be repeated after an unknown outcome */
  const outcomeOf = (answer: GraphResponse, isRepeatable: boolean): ServiceResult<Fields> => {
    const { status, body } = answer
    if (status < 500) setState('up', null)
    if (status >= 200 && status < 300) return { outcome: 'done', value: body }
    const error = readError(body.error)
    if (error) return failed(error, answer)
    const reason = `the network answered ${status}`
    if (status === 429) return { outcome: 'later', seconds: pauseOf(answer, 5), reason }
    if (status < 500) return { outcome: 'refused', reason }
    setState('down', reason)
    return isRepeatable ? { outcome: 'later', seconds: 5, reason } : { outcome: 'unknown', reason }
  }

  const failedOutcome = (error: unknown, isRepeatable: boolean): ServiceResult<never> => {
    const reason = errorTextOf(error)
    setState('down', reason)
    return isRepeatable || failedBeforeSending(error)
      ? { outcome: 'later', seconds: 5, reason }
      : { outcome: 'unknown', reason }
  }

  const ask = async ({ method = 'GET', path, query = {}, body, milliseconds = requestTimeoutMs }: GraphRequest) => {
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
      const text = (await readBounded(response.body ?? Readable.from([]))).toString('utf8')
      if (method !== 'GET') submitted++
      const [retryAfter, usage] = [headers.get('retry-after'), headers.get('x-business-use-case-usage')]
      return outcomeOf({ status, retryAfter, usage, body: parsed(text) }, isRepeatable)
    } catch (error) {
      return failedOutcome(error, isRepeatable)
    } finally {
      inFlight--
    }
  }

  const upload = async ({ path, headers, length, body }: Upload): Promise<ServiceResult<Fields>> => {
    const address = `${graph}/${path}`
    const options = {
      method: 'POST',
      signal: limit(fileTimeoutMs),
      headers: { authorization, ...headers, 'content-length': length },
    }
    inFlight++
    try {
      return outcomeOf(await postUpload(address, options, body()), true)
    } catch (error) {
      return failedOutcome(error, true)
    } finally {
      inFlight--
    }
  }

  return {
    request: ask,
    upload,
    download: (url) => downloadFile(url, authorization, limit(fileTimeoutMs)),
    state: () => ({ ...life, inFlight, submitted }),
    close: () => {
      life = { ...life, state: 'closed', since: Date.now() }
      closing.abort()
    },
  }
}
