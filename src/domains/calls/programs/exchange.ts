import { setTimeout as pause } from 'node:timers/promises'
import { uuid } from '../../../platform/lib/id.ts'
import { mediaTypeOf } from '../../../platform/lib/media-type.ts'
import type { Outbound, PostResult } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import { followRedirects, RedirectError } from '../../../platform/lib/outbound-redirect.ts'
import { maxProgramDocumentBytes, programConnectMs, programRetryMs } from '../limits.ts'
import { readAnswer } from './document.ts'
import {
  type ProgramAddress,
  type ProgramDocument,
  ProgramError,
  type ProgramErrorCode,
  type ProgramRequest,
  type ResolvedProgram,
  type WrittenRequest,
} from './program.ts'
import type { ProgramDeps } from './program-deps.ts'

/** Bytes that a character may lack at the limit, and a byte-order mark, which a decoded text leaves out. */
const decodingMargin = 8

const errorCodes: { readonly [C in OutboundError['code']]: ProgramErrorCode } = {
  refused: 'forbidden_address',
  dns: 'unreachable',
  connect: 'unreachable',
  tls: 'unreachable',
  closed: 'unreachable',
  timeout: 'timeout',
}

/** An exchange as it is reported for the story of the call. */
export type ExchangeReport = { readonly url: string; readonly status: number | null; readonly code: string | null }

export type ExchangeDeps = Pick<ProgramDeps, 'writers' | 'compileTwiml'> & {
  readonly outbound: Outbound
  readonly signal: AbortSignal
  /** Called once for each exchange, its repetition included, with its duration. */
  onExchange(report: ExchangeReport, at: number, ms: number): void
}

const programErrorOf = (error: unknown, url: string): ProgramError => {
  if (error instanceof ProgramError) return error
  if (!(error instanceof OutboundError)) throw error
  return new ProgramError(errorCodes[error.code], error.message, url)
}

const redirectCodes = {
  insecure: 'forbidden_address',
  loop: 'loop',
  late: 'timeout',
} as const satisfies { readonly [reason in RedirectError['reason']]: ProgramErrorCode }

const redirectErrorOf = ({ reason, message, url, status }: RedirectError): ProgramError =>
  new ProgramError(redirectCodes[reason], message, url, reason === 'late' ? null : status)

/**
 * Sends a request, and again if no byte of an answer came and there is time. The body is at most a little too long.
 * @param deadline by the monotonic clock
 */
const send = async (
  outbound: Outbound,
  written: WrittenRequest,
  deadline: number,
  signal: AbortSignal,
): Promise<PostResult> => {
  const { method, url, headers, body, connectMs = programConnectMs, retries = 1 } = written
  for (let attempt = 0; ; attempt++) {
    const left = Math.max(1, Math.ceil(deadline - performance.now()))
    const began = performance.now()
    try {
      const result = await outbound.post({
        method,
        url,
        headers,
        body,
        timeoutMs: left,
        connectMs,
        maxBytes: maxProgramDocumentBytes + decodingMargin,
        signal,
      })
      // An answer that was cut short has a status all the same.
      if (performance.now() - began >= left) throw new OutboundError('timeout', `no whole answer within ${left} ms`)
      return result
    } catch (error) {
      const isRepeatable = error instanceof OutboundError && error.code !== 'refused' && error.code !== 'timeout'
      if (!isRepeatable || attempt >= retries || signal.aborted || deadline - performance.now() <= programRetryMs)
        throw error
      await pause(programRetryMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) throw error
    }
  }
}

/**
 * Sends a request of a program. One in the shape of Twilio follows redirects, each judged and signed as the first request;
 * a native one does not.
 * @param answered called with the status of each answer
 * @returns an answer, and the address that gave it
 * @throws ProgramError
 */
const sendRequest = async (
  { writers, outbound, signal }: ExchangeDeps,
  program: ResolvedProgram,
  first: ProgramAddress,
  content: ProgramRequest,
  answered: (status: number) => void,
): Promise<{ readonly url: string; readonly result: PostResult }> => {
  // As Twilio does: a redirect by GET has no result of the verb.
  const withoutResult = { ...content, verb: null, result: null }
  let deadline: number | null = null
  const sendTo = async (to: ProgramAddress, keepsBody: boolean): Promise<PostResult> => {
    try {
      const written = await writers[program.shape](program, to, keepsBody ? content : withoutResult, uuid())
      deadline ??= performance.now() + (written.timeoutMs ?? program.timeoutMs)
      const result = await send(outbound, written, deadline, signal)
      answered(result.status)
      return result
    } catch (error) {
      throw programErrorOf(error, to.url)
    }
  }
  if (program.shape === 'native') return { url: first.url, result: await sendTo(first, true) }
  const isLate = () => deadline !== null && performance.now() >= deadline
  try {
    return await followRedirects(first, ({ keepsBody, ...to }) => sendTo(to, keepsBody), isLate)
  } catch (error) {
    throw error instanceof RedirectError ? redirectErrorOf(error) : error
  }
}

/**
 * Requests a document at an address. Returns null for an empty answer.
 * @throws ProgramError
 */
export const requestDocument = async (
  deps: ExchangeDeps,
  program: ResolvedProgram,
  to: ProgramAddress,
  content: ProgramRequest,
): Promise<ProgramDocument | null> => {
  const at = Date.now()
  const began = performance.now()
  let status: number | null = null
  const report = (code: string | null) =>
    deps.onExchange({ url: to.url, status, code }, at, Math.round(performance.now() - began))
  try {
    const { url, result } = await sendRequest(deps, program, to, content, (answered) => {
      status = answered
    })
    const answer = { status: result.status, type: mediaTypeOf(result.headers['content-type']), body: result.excerpt }
    const document = await readAnswer(answer, url, deps.compileTwiml)
    report(null)
    return document
  } catch (error) {
    // The call ended, or the program was redirected meanwhile.
    if (error instanceof ProgramError) report(deps.signal.aborted ? 'canceled' : error.code)
    throw error
  }
}

/**
 * Requests a document at an address, and at the fallback of the program if that fails.
 * @throws ProgramError of the first address
 */
export const requestWithFallback = async (
  deps: ExchangeDeps,
  program: ResolvedProgram,
  to: ProgramAddress,
  content: ProgramRequest,
  nextSequence: () => number,
): Promise<ProgramDocument | null> => {
  try {
    return await requestDocument(deps, program, to, content)
  } catch (error) {
    const { fallback } = program
    if (!(error instanceof ProgramError) || !fallback || deps.signal.aborted) throw error
    const { code, url, status } = error
    try {
      return await requestDocument(deps, program, fallback, {
        ...content,
        event: 'call.error',
        sequence: nextSequence(),
        error: { code, url, status },
      })
    } catch (second) {
      if (!(second instanceof ProgramError)) throw second
      throw new ProgramError(code, `${error.message}; the fallback: ${second.code}, ${second.message}`, url, status)
    }
  }
}
