import { setTimeout as pause } from 'node:timers/promises'
import { failedBeforeSending, fetchErrorCode } from '../../platform/lib/fetch-error.ts'
import type { LinkState } from '../../ports/sms.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import { FormatError, type JsonApiDocument, readDocument, readErrors } from './json-api.ts'
import { maxFailures, maxQueueMs, maxResponseBytes, requestTimeoutMs, restMs } from './limits.ts'
import { apiVersion, type DidwwSettings, production } from './settings.ts'

export type ApiRequest = {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below the base address; ids in it are escaped. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  /** A caller waits for the answer: the queue time is shorter, so that searches do not delay the requests of jobs. */
  readonly isInteractive?: boolean
  /** Deletes something: 404 and 410 count as success. */
  readonly isDeletion?: boolean
}

export type DidwwClient = {
  send(call: ApiRequest): Promise<ServiceResult<JsonApiDocument | null>>
  state(): LinkState
}

const reasonOf = (error: unknown): string => {
  const code = fetchErrorCode(error)
  if (code) return code
  return error instanceof Error ? (error.name === 'TimeoutError' ? 'no answer in time' : error.message) : String(error)
}

/** Seconds of a Retry-After (RFC 9110, 10.2.3), 1 to 300. */
const retryAfter = (header: string | null): number => {
  const seconds = header === null ? 1 : /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.min(300, Math.max(1, Math.ceil(seconds))) : 1
}

const readBody = async (response: Response): Promise<unknown> => {
  let size = 0
  const pieces: Uint8Array[] = []
  for await (const piece of response.body ?? []) {
    size += piece.length
    if (size > maxResponseBytes) throw new FormatError(`the answer is longer than ${maxResponseBytes} octets`)
    pieces.push(piece)
  }
  if (size === 0) return null
  try {
    return JSON.parse(Buffer.concat(pieces).toString('utf8'))
  } catch {
    throw new FormatError('the answer is not JSON')
  }
}

type LinkLife = Pick<LinkState, 'state' | 'since' | 'lastError'>

/** Spaces requests evenly, and pauses them when the supplier asks for it. */
const makeTurns = (gapMs: number) => {
  /** Time of the next request's turn, by the monotonic clock. */
  let turn = 0
  /** Time until which the supplier has asked for no requests (429). */
  let quietUntil = 0

  /**
   * Waits for a turn, and again if a 429 arrives meanwhile. Returns the seconds to wait if the turn is too far away.
   */
  const wait = async (longest: number): Promise<number | null> => {
    const began = performance.now()
    for (;;) {
      const now = performance.now()
      const mine = Math.max(now, turn, quietUntil)
      if (mine - began > longest) return (mine - now) / 1000
      turn = mine + gapMs
      if (mine > now) await pause(mine - now)
      if (mine >= quietUntil) return null
    }
  }

  return {
    wait,
    pause: (seconds: number) => {
      quietUntil = Math.max(quietUntil, performance.now() + seconds * 1000)
    },
  }
}

/** HTTP client of DIDWW: rate-limited, bounded, with every failure classified by its meaning for the caller. */
export const makeDidwwClient = (settings: DidwwSettings): DidwwClient => {
  const base = (settings.base_url ?? production).replace(/\/$/, '')
  const turns = makeTurns(1000 / (settings.requests_per_second ?? 5))
  let failures = 0
  let restUntil = 0
  let inFlight = 0
  let requestCount = 0
  let life: LinkLife = { state: 'connecting', since: Date.now(), lastError: null }

  const become = (state: 'up' | 'down', lastError: string | null) => {
    life = { state, since: life.state === state ? life.since : Date.now(), lastError }
  }
  const answered = () => {
    failures = 0
    if (life.state !== 'up') become('up', null)
  }
  const failed = (reason: string) => {
    if (++failures >= maxFailures) restUntil = performance.now() + restMs
    become('down', reason)
  }

  const resting = (): ServiceResult<never> | null => {
    const rest = restUntil - performance.now()
    return rest > 0
      ? { outcome: 'later', seconds: rest / 1000, reason: life.lastError ?? 'the supplier does not answer' }
      : null
  }

  const sorted = async (
    response: Response,
    isRead: boolean,
    isEnd: boolean,
  ): Promise<ServiceResult<JsonApiDocument | null>> => {
    const { status } = response
    const body = status < 500 ? await readBody(response) : await response.body?.cancel().then(() => null)
    if (status >= 200 && status < 300) {
      const value = body === null ? null : readDocument(body)
      answered()
      return { outcome: 'done', value }
    }
    if (isEnd && (status === 404 || status === 410)) {
      answered()
      return { outcome: 'done', value: null }
    }
    const reason = readErrors(body) ?? `HTTP ${status}`
    if (status === 429) {
      const seconds = retryAfter(response.headers.get('retry-after'))
      turns.pause(seconds)
      return { outcome: 'later', seconds, reason }
    }
    if (status >= 500) {
      failed(reason)
      return isRead ? { outcome: 'later', seconds: 5, reason } : { outcome: 'unknown', reason }
    }
    if (status === 401 || status === 403) become('down', `the key is refused: ${reason}`)
    else answered()
    return { outcome: 'refused', reason }
  }

  const ask = async (call: ApiRequest): Promise<ServiceResult<JsonApiDocument | null>> => {
    const { method = 'GET', path, query = {}, body, isInteractive = false, isDeletion = false } = call
    const before = resting()
    if (before) return before
    const wait = await turns.wait(isInteractive ? maxQueueMs.hasty : maxQueueMs.patient)
    if (wait !== null) return { outcome: 'later', seconds: wait, reason: 'too many requests are queued' }
    const after = resting()
    if (after) return after
    const isRead = method === 'GET'
    const parameters = new URLSearchParams(query).toString()
    inFlight++
    requestCount++
    try {
      const response = await fetch(`${base}${path}${parameters ? `?${parameters}` : ''}`, {
        method,
        headers: {
          accept: 'application/vnd.api+json',
          'content-type': 'application/vnd.api+json',
          'api-key': settings.api_key,
          'x-didww-api-version': apiVersion,
        },
        redirect: 'error',
        signal: AbortSignal.timeout(requestTimeoutMs),
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      return await sorted(response, isRead, isDeletion)
    } catch (error) {
      const reason = reasonOf(error)
      failed(reason)
      if (isRead || failedBeforeSending(error)) return { outcome: 'later', seconds: 5, reason }
      return { outcome: 'unknown', reason }
    } finally {
      inFlight--
    }
  }

  return { send: ask, state: () => ({ ...life, inFlight, submitted: requestCount }) }
}
