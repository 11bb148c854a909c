import { setTimeout as pause } from 'node:timers/promises'
import type { Outbound } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import { maxDocumentBytes, maxProgramRetries, programTimeoutMs, programTimeoutRange, retryPauseMs } from '../limits.ts'
import { type Parameters, requestedUrl, signatureOf, withQuery } from './signature.ts'

/** An address of the program of an account. */
export type Program = { readonly url: string; readonly method: 'GET' | 'POST' }

export type ProgramAnswer = {
  readonly status: number
  /** Media type, in lower case; empty without one. */
  readonly type: string
  readonly body: string
}

/** A failure of a program, by Twilio's code: 11200 for its address, 12100 for its document, 12300 for its type. */
export class ProgramError extends Error {
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

/** Reads the overrides in the fragment of an address: `#rt=5000&rc=2`, the time of an answer and the retries. */
export const overridesOf = (url: string): { readonly timeoutMs: number; readonly retries: number } => {
  const fragment = new URLSearchParams(URL.canParse(url) ? new URL(url).hash.slice(1) : '')
  const read = (name: string, ordinary: number, least: number, most: number): number => {
    const value = fragment.get(name)
    return value !== null && /^\d{1,6}$/.test(value) ? Math.min(most, Math.max(least, Number(value))) : ordinary
  }
  return {
    timeoutMs: read('rt', programTimeoutMs, programTimeoutRange.least, programTimeoutRange.most),
    retries: read('rc', 1, 0, maxProgramRetries),
  }
}

export type ProgramDeps = {
  readonly outbound: Outbound
  /** Value of the User-Agent header. */
  readonly agent: string
  /** Signs the requests. */
  readonly token: string
  readonly signal: AbortSignal
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
  { agent, token }: Pick<ProgramDeps, 'agent' | 'token'>,
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

/**
 * Requests an answer of a program. Only a connection that was never made is tried again, as the program may have acted on
 * any other.
 * @param id the same for repetitions, so that the program can recognise them
 * @throws ProgramError for no answer, and for a status of 400 and above or a redirect
 */
export const requestProgram = async (
  deps: ProgramDeps,
  program: Program,
  parameters: Parameters,
  id: string,
): Promise<ProgramAnswer> => {
  const { outbound, signal } = deps
  const { url } = program
  const { timeoutMs, retries } = overridesOf(url)
  const request = {
    ...writeRequest(deps, program, parameters, id),
    timeoutMs,
    // One more than allowed shows that a document is too long.
    maxBytes: maxDocumentBytes + 1,
    signal,
  } as const
  for (let attempt = 0; ; attempt++) {
    try {
      const { status, headers, excerpt } = await outbound.post(request)
      if (status < 200 || status >= 300)
        throw new ProgramError(11200, url, `the program answered ${status}`, status >= 500 || status === 429)
      const [type = ''] = String([headers['content-type'] ?? ''].flat()[0])
        .toLowerCase()
        .split(';')
      return { status, type: type.trim(), body: excerpt }
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      const isUnsent = error.code === 'connect' || error.code === 'dns' || error.code === 'tls'
      if (!isUnsent || attempt >= retries || signal.aborted)
        throw new ProgramError(11200, url, `${error.code}: ${error.message}`, error.code !== 'refused')
      await pause(retryPauseMs, undefined, { signal }).catch(() => undefined)
    }
  }
}
