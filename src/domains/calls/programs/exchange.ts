import { setTimeout as pause } from 'node:timers/promises'
import { uuid } from '../../../platform/lib/id.ts'
import type { Outbound, PostResult } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import { redirectionOf } from '../../../platform/lib/outbound-redirect.ts'
import { maxProgramDocumentBytes, maxProgramRedirects, programConnectMs, programRetryMs } from '../limits.ts'
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

const typeOf = ({ headers }: PostResult): string => {
  const [type = ''] = String([headers['content-type'] ?? ''].flat()[0])
    .toLowerCase()
    .split(';')
  return type.trim()
}

/** An answer, and the address that gave it. */
type UrlAnswer = { readonly url: string; readonly result: PostResult }

/**
 * Sends a request of a program. One in the shape of Twilio follows redirects, each judged and signed as the first request;
 * a native one does not.
 * @param answered called with the status of each answer
 * @throws ProgramError
 */
const sendRequest = async (
  { writers, outbound, signal }: ExchangeDeps,
  program: ResolvedProgram,
  first: ProgramAddress,
  content: ProgramRequest,
  answered: (status: number) => void,
): Promise<UrlAnswer> => {
  let deadline: number | null = null
  let [to, sent] = [first, content]
  for (let redirects = 0; ; redirects++) {
    const { url } = to
    try {
      const written = await writers[program.shape](program, to, sent, uuid())
      deadline ??= performance.now() + (written.timeoutMs ?? program.timeoutMs)
      const result = await send(outbound, written, deadline, signal)
      answered(result.status)
      const next = program.shape === 'twilio' ? redirectionOf(result, to) : null
      if (next === null) return { url, result }
      if ('fault' in next) throw new ProgramError('forbidden_address', next.fault, url, result.status)
      if (redirects === maxProgramRedirects)
        throw new ProgramError('loop', `more than ${maxProgramRedirects} redirects of HTTP`, url, result.status)
      to = next
      if (performance.now() >= deadline) throw new OutboundError('timeout', 'its redirects took too long')
      // As Twilio does: the result of a verb is not sent along.
      if (!next.keepsBody) sent = { ...sent, verb: null, result: null }
    } catch (error) {
      throw programErrorOf(error, url)
    }
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
    const answer = { status: result.status, type: typeOf(result), body: result.excerpt }
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
