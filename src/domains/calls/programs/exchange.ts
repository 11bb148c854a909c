import { setTimeout as pause } from 'node:timers/promises'
import { uuid } from '../../../platform/lib/id.ts'
import type { Outbound, PostResult } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
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

/** Sends a request, and again if no byte of an answer came and there is time. The body is at most a little too long. */
const send = async (
  outbound: Outbound,
  written: WrittenRequest,
  ordinaryMs: number,
  signal: AbortSignal,
): Promise<PostResult> => {
  const { method, url, headers, body, connectMs = programConnectMs, timeoutMs = ordinaryMs, retries = 1 } = written
  const deadline = performance.now() + timeoutMs
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
    const written = await deps.writers[program.shape](program, to, content, uuid())
    const result = await send(deps.outbound, written, program.timeoutMs, deps.signal)
    status = result.status
    const document = await readAnswer({ status, type: typeOf(result), body: result.excerpt }, to.url, deps.compileTwiml)
    report(null)
    return document
  } catch (cause) {
    const error = programErrorOf(cause, to.url)
    // The call ended, or the program was redirected meanwhile.
    report(deps.signal.aborted ? 'canceled' : error.code)
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
