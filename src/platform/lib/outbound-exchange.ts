import type { IncomingHttpHeaders } from 'node:http'
import type { CheckedTarget, ConnectionPool, PooledConnection } from './outbound-pool.ts'

/** Reason for a missing response. `refused`: by our policy, unsent. `closed`: by the receiver, or invalid HTTP. */
export type OutboundCode = 'refused' | 'dns' | 'connect' | 'tls' | 'timeout' | 'closed'

export class OutboundError extends Error {
  readonly code: OutboundCode
  /** Whether the receiver may have got the request, or some of it. */
  readonly mayHaveArrived: boolean
  constructor(code: OutboundCode, message: string, mayHaveArrived = code === 'timeout' || code === 'closed') {
    super(message)
    this.code = code
    this.mayHaveArrived = mayHaveArrived
  }
}

/** A response. The body is truncated at the limit, or where the receiver stopped. */
export type ExchangeResult = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }

export type ExchangeOptions = {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Total time, from the connection to the last byte of the response. */
  readonly timeoutMs: number
  /** Time until the connection is ready for the request. Default: that of `timeoutMs`. */
  readonly connectMs?: number
  /** Maximum size of the response body. Beyond it the connection is closed. */
  readonly maxBytes: number
  readonly signal?: AbortSignal
  /** Whether the request may be sent again if the receiver closed an idle connection meanwhile. Default: true. */
  readonly isRepeatable?: boolean
}

const codeOf = (error: Error): string => ('code' in error ? String(error.code) : '')

const tls = /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|UNABLE_TO|SELF_SIGNED|EPROTO|HOSTNAME)/
const unreachable =
  /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EHOSTDOWN|ENETDOWN|EACCES|EPERM|EINVAL|EMFILE|ENFILE)$/
/** The client's code for a closed connection or an invalid response. */
const socketErrorCode = 'UND_ERR_SOCKET'

const outboundErrorOf = (error: Error, { isConnected, isReady }: PooledConnection): OutboundError => {
  if (error instanceof OutboundError) return error
  const code = codeOf(error)
  if (tls.test(code)) return new OutboundError('tls', `no secure connection: ${error.message || code}`)
  if (!isConnected || unreachable.test(code))
    return new OutboundError('connect', `no connection (${code || error.message})`)
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW')
    return new OutboundError('closed', `the response is not valid HTTP (${code})`, isReady)
  const why = code === socketErrorCode ? error.message : code || error.message
  return new OutboundError('closed', `the connection was closed before a response (${why})`, isReady)
}

/** True if the receiver closed an idle connection just as we wrote to it. Without a response we may send again. */
const isStale = ({ isUsed }: PooledConnection, error: Error): boolean =>
  isUsed && ['ECONNRESET', 'EPIPE', socketErrorCode].includes(codeOf(error))

/**
 * Sends a request to a checked address and returns the response. Redirects are returned like other responses, bodies
 * are not decompressed, and proxies of the environment are not used. A received status counts even if the body fails.
 * @throws OutboundError
 */
export const exchange = (
  pool: ConnectionPool,
  checked: CheckedTarget,
  options: ExchangeOptions,
): Promise<ExchangeResult> =>
  new Promise((resolve, reject) => {
    const { method, body, timeoutMs, connectMs = timeoutMs, maxBytes, signal, isRepeatable = true } = options
    const { path, hostHeader } = checked.target
    const headers = { host: hostHeader, ...options.headers }
    let link: PooledConnection
    let head: Omit<ExchangeResult, 'body'> | null = null
    let isOver = false
    const chunks: Buffer[] = []
    let size = 0

    const finish = () => {
      isOver = true
      clearTimeout(timer)
      clearTimeout(connectTimer)
      signal?.removeEventListener('abort', abort)
    }
    const answered = (answer: Omit<ExchangeResult, 'body'>) => {
      finish()
      resolve({ ...answer, body: Buffer.concat(chunks) })
    }
    const fail = (error: Error) => {
      if (isOver) return
      if (head) answered(head)
      else {
        finish()
        reject(outboundErrorOf(error, link))
      }
      pool.destroy(link)
    }
    const abort = () => fail(new OutboundError('closed', 'cancelled: the program is stopping', link.isReady))

    const ask = (by: PooledConnection) => {
      link = by
      by.client.dispatch(
        { method, path, headers, body },
        {
          onRequestStart: () => {},
          onResponseStart: (_, status, headers) => {
            // 102 and 103 precede the final response (RFC 9110, 15.2).
            if (status >= 200) head = { status, headers }
          },
          onResponseData: (_, chunk) => {
            if (isOver || !head) return
            chunks.push(chunk.subarray(0, maxBytes - size))
            size += chunk.length
            if (size <= maxBytes) return
            answered(head)
            pool.destroy(by)
          },
          onResponseEnd: () => {
            if (isOver || !head) return
            answered(head)
            pool.release(by)
          },
          onResponseError: (_, error) => {
            if (isOver || by !== link) return
            if (head || !isRepeatable || !isStale(by, error)) return fail(error)
            pool.destroy(by)
            ask(pool.open(checked))
          },
        },
      )
    }

    const timer = setTimeout(
      () => fail(new OutboundError('timeout', `no answer within ${timeoutMs / 1000} s`, link.isReady)),
      timeoutMs,
    )
    // A timer for each request would cost, where the other one says the same.
    const connectTimer =
      connectMs >= timeoutMs
        ? undefined
        : setTimeout(() => {
            if (!link.isReady) fail(new OutboundError('connect', `no connection within ${connectMs / 1000} s`))
          }, connectMs)
    signal?.addEventListener('abort', abort, { once: true })
    ask(pool.acquire(checked))
  })
