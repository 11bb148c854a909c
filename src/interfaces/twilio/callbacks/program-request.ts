import { setTimeout as pause } from 'node:timers/promises'
import { mediaTypeOf } from '../../../platform/lib/media-type.ts'
import type { Outbound, PostResult } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import { followRedirects, RedirectError } from '../../../platform/lib/outbound-redirect.ts'
import {
  maxDocumentBytes,
  maxProgramRetries,
  programConnectMs,
  programTimeoutMs,
  programTimeoutRange,
  retryPauseMs,
} from '../limits.ts'
import { type Parameters, requestedUrl, signatureOf, withQuery } from './signature.ts'

/** An address of the program of an account. */
export type Program = { readonly url: string; readonly method: 'GET' | 'POST' }

export type ProgramAnswer = {
  readonly status: number
  /** The address that answered, after redirects. */
  readonly url: string
  /** Media type, in lower case; empty without one. */
  readonly type: string
  readonly body: string
  /** Milliseconds that the request took, with its retries. The wait for a slot does not count. */
  readonly ms: number
}

/** A failure of a program, by Twilio's code: 11200 for its address, 12100 for its document, 12300 for its type. */
export class RequestError extends Error {
  readonly code: number
  readonly url: string
  /** Whether a repetition may succeed. */
  readonly isTransient: boolean
  constructor(code: number, url: string, message: string, isTransient = false) {
    super(message)
    this.code = code
    this.url = url
    this.isTransient = isTransient
  }
}

/** Times of a request, in milliseconds, and its repetitions. */
export type RequestOverrides = { readonly connectMs: number; readonly timeoutMs: number; readonly retries: number }

/** Reads the overrides that the fragment of an address states: `#ct=2000&rt=5000&rc=2`, the time for a connection, the time
 *  for an answer and the retries. */
export const statedOverrides = (url: string): Partial<RequestOverrides> => {
  const fragment = new URLSearchParams(URL.canParse(url) ? new URL(url).hash.slice(1) : '')
  const read = (name: string, { least, most }: { readonly least: number; readonly most: number }): number | null => {
    const value = fragment.get(name)
    return value !== null && /^\d{1,6}$/.test(value) ? Math.min(most, Math.max(least, Number(value))) : null
  }
  const connectMs = read('ct', programTimeoutRange)
  const timeoutMs = read('rt', programTimeoutRange)
  const retries = read('rc', { least: 0, most: maxProgramRetries })
  return {
    ...(connectMs === null ? {} : { connectMs }),
    ...(timeoutMs === null ? {} : { timeoutMs }),
    ...(retries === null ? {} : { retries }),
  }
}

/** Returns the overrides of an address, or the usual values. */
export const overridesOf = (url: string): RequestOverrides => ({
  ...{ connectMs: programConnectMs, timeoutMs: programTimeoutMs, retries: 1 },
  ...statedOverrides(url),
})

export type RequestDeps = {
  readonly outbound: Pick<Outbound, 'post'>
  /** Value of the User-Agent header. */
  readonly agent: string
  /** Signs the requests. */
  readonly token: string
  readonly signal: AbortSignal
  /** Waits for a slot for a request to an address. @returns the function that releases it */
  enter(url: string): Promise<() => void>
}

/** A request as it is sent. */
type WrittenRequest = {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/**
 * Writes a request to a program: a form, or a query for GET, signed with the token.
 * @param id the same for repetitions, so that the program can recognise them
 */
export const writeRequest = (
  { agent, token }: Pick<RequestDeps, 'agent' | 'token'>,
  { url, method }: Program,
  parameters: Parameters,
  id: string,
): WrittenRequest => {
  const isPost = method === 'POST'
  const target = isPost ? requestedUrl(url) : withQuery(url, parameters)
  return {
    method,
    url: target,
    headers: {
      ...(isPost ? { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' } : {}),
      accept: '*/*',
      'user-agent': agent,
      'x-twilio-signature': signatureOf(token, target, isPost ? parameters : {}),
      'i-twilio-idempotency-token': id,
    },
    body: isPost ? new URLSearchParams(parameters).toString() : null,
  }
}

const answerOf = ({ status, headers, excerpt }: PostResult, url: string, ms: number): ProgramAnswer => {
  if (status < 200 || status >= 300)
    throw new RequestError(11200, url, `the program answered ${status}`, status >= 500 || status === 429)
  return { status, url, type: mediaTypeOf(headers['content-type']), body: excerpt, ms }
}

/**
 * Requests an answer of a program. Only a connection that was never made is tried again, as the program may have acted on
 * any other. Redirects are followed: each is judged, and signed, as the first address.
 * @param id the same for repetitions, so that the program can recognise them
 * @param maxMs milliseconds for all requests, if they are fewer than those of the address
 * @throws RequestError for no answer, for a status of 400 and above, and for too many redirects
 */
export const requestProgram = async (
  deps: RequestDeps,
  program: Program,
  parameters: Parameters,
  id: string,
  maxMs = programTimeoutMs,
): Promise<ProgramAnswer> => {
  let ms = 0
  const sendTo = async (to: Program, redirects: number): Promise<PostResult> => {
    const requestId = redirects === 0 ? id : `${id}-${redirects}`
    const { result, ms: own } = await requestOnce(deps, to, parameters, requestId, maxMs - ms)
    ms += own
    return result
  }
  try {
    const { url, result } = await followRedirects(program, sendTo, () => ms >= maxMs)
    return answerOf(result, url, ms)
  } catch (error) {
    if (!(error instanceof RedirectError)) throw error
    const { reason, url, message } = error
    throw new RequestError(reason === 'loop' ? 11215 : 11200, url, message, reason === 'late')
  }
}

/** Requests an answer of any status at one address. @throws RequestError for no answer */
const requestOnce = async (
  deps: RequestDeps,
  program: Program,
  parameters: Parameters,
  id: string,
  maxMs: number,
): Promise<{ readonly result: PostResult; readonly ms: number }> => {
  const { outbound, signal, enter } = deps
  const { url } = program
  const { connectMs, timeoutMs, retries } = overridesOf(url)
  const request = {
    ...writeRequest(deps, program, parameters, id),
    connectMs,
    // One more than allowed shows that a document is too long.
    maxBytes: maxDocumentBytes + 1,
    signal,
  } as const
  let left = Math.min(timeoutMs, maxMs)
  const limit = left
  for (let attempt = 0; ; attempt++) {
    const leave = await enter(url)
    const began = performance.now()
    try {
      const result = await outbound.post({ ...request, timeoutMs: left })
      return { result, ms: limit - left + performance.now() - began }
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      const isUnsent = error.code === 'connect' || error.code === 'dns' || error.code === 'tls'
      left -= performance.now() - began + retryPauseMs
      if (!isUnsent || attempt >= retries || signal.aborted || left <= 0)
        throw new RequestError(11200, url, `${error.code}: ${error.message}`, error.code !== 'refused')
    } finally {
      leave()
    }
    await pause(retryPauseMs, undefined, { signal }).catch(() => undefined)
  }
}
