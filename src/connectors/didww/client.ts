import { setTimeout as pause } from 'node:timers/promises'
import { codeOf, isUnsent } from '../../lib/unsent.ts'
import type { Asked, LinkState } from '../port.ts'
import { type Document, FormatError, readDocument, readErrors } from './document.ts'
import { apiVersion, type DidwwSettings, production } from './settings.ts'

export type Call = {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below the base address; ids in it are escaped. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  /** Somebody waits for the answer: it gives up its turn sooner, so that searches do not hold up what jobs ask. */
  readonly isHasty?: boolean
  /** Ends something: that it is gone already (404, 410) is as good. */
  readonly isEnd?: boolean
}

export type Client = {
  ask(call: Call): Promise<Asked<Document | null>>
  state(): LinkState
}

/** Of one request, from its turn to the end of its answer. */
const timeoutMs = 8_000
/** How long a request waits for its turn. The rest of the longer one is left to the jobs, however much is searched. */
const longestQueueMs = { hasty: 2_500, patient: 5_000 }
/** Octets. A page of 100 groups with all that belongs to it takes about 500,000. */
const longestAnswer = 8 * 1024 * 1024

/** Failures in a row after which nobody waits for the supplier for a while. */
const tolerated = 3
const restMs = 10_000

const reasonOf = (error: unknown): string => {
  const code = codeOf(error)
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
    if (size > longestAnswer) throw new FormatError(`the answer is longer than ${longestAnswer} octets`)
    pieces.push(piece)
  }
  if (size === 0) return null
  try {
    return JSON.parse(Buffer.concat(pieces).toString('utf8'))
  } catch {
    throw new FormatError('the answer is no JSON')
  }
}

/** HTTP with DIDWW: paced, bounded, and with every way to fail sorted by what it means for who asks. */
export const makeClient = (settings: DidwwSettings): Client => {
  const base = (settings.base_url ?? production).replace(/\/$/, '')
  const gapMs = 1000 / (settings.requests_per_second ?? 5)
  /** When the next request has its turn, by the monotonic clock. */
  let turn = 0
  /** Until when the supplier wants to be left alone (429). */
  let quietUntil = 0
  let failures = 0
  let restUntil = 0
  let inFlight = 0
  let asked = 0
  let life: Pick<LinkState, 'state' | 'since' | 'lastError'> = {
    state: 'connecting',
    since: Date.now(),
    lastError: null,
  }

  const become = (state: 'up' | 'down', lastError: string | null) => {
    life = { state, since: life.state === state ? life.since : Date.now(), lastError }
  }
  const answered = () => {
    failures = 0
    if (life.state !== 'up') become('up', null)
  }
  const failed = (reason: string) => {
    if (++failures >= tolerated) restUntil = performance.now() + restMs
    become('down', reason)
  }

  /** Waits for its turn, and for another one when the supplier wants to be left alone meanwhile. Seconds to wait when that is too
   *  far away. */
  const queue = async (longest: number): Promise<number | null> => {
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

  const resting = (): Asked<never> | null => {
    const rest = restUntil - performance.now()
    return rest > 0 ? { outcome: 'later', seconds: rest / 1000, reason: life.lastError ?? 'it does not answer' } : null
  }

  const sorted = async (response: Response, isRead: boolean, isEnd: boolean): Promise<Asked<Document | null>> => {
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
      quietUntil = Math.max(quietUntil, performance.now() + seconds * 1000)
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

  const ask = async (call: Call): Promise<Asked<Document | null>> => {
    const { method = 'GET', path, query = {}, body, isHasty = false, isEnd = false } = call
    const before = resting()
    if (before) return before
    const wait = await queue(isHasty ? longestQueueMs.hasty : longestQueueMs.patient)
    if (wait !== null) return { outcome: 'later', seconds: wait, reason: 'too many requests wait for their turn' }
    const after = resting()
    if (after) return after
    const isRead = method === 'GET'
    const parameters = new URLSearchParams(query).toString()
    inFlight++
    asked++
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
        signal: AbortSignal.timeout(timeoutMs),
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      return await sorted(response, isRead, isEnd)
    } catch (error) {
      const reason = reasonOf(error)
      failed(reason)
      if (isRead || isUnsent(error)) return { outcome: 'later', seconds: 5, reason }
      return { outcome: 'unknown', reason }
    } finally {
      inFlight--
    }
  }

  return { ask, state: () => ({ ...life, inFlight, submitted: asked }) }
}
