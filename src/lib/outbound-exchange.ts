import type { IncomingHttpHeaders } from 'node:http'
import type { Judged, Link, Links } from './outbound-links.ts'

/** Why there was no answer. `refused`: by us, nothing was sent. `closed`: by the other side, or with words that are no HTTP. */
export type OutboundCode = 'refused' | 'dns' | 'connect' | 'tls' | 'timeout' | 'closed'

export class OutboundError extends Error {
  readonly code: OutboundCode
  constructor(code: OutboundCode, message: string) {
    super(message)
    this.code = code
  }
}

/** What came back. The body is cut at the limit, or where the other side stopped. */
export type Exchanged = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }

export type Exchange = {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** For all of it, from the connection to the last byte of the answer. */
  readonly timeoutMs: number
  /** Of the answer's body; more is not read, and the connection ends. */
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

const codeOf = (error: Error): string => ('code' in error ? String(error.code) : '')

const tls = /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|UNABLE_TO|SELF_SIGNED|EPROTO|HOSTNAME)/
const away =
  /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EHOSTDOWN|ENETDOWN|EACCES|EPERM|EINVAL|EMFILE|ENFILE)$/
/** What the client says of a connection that ended, or on which there came what it does not take for an answer. */
const ended = 'UND_ERR_SOCKET'

const named = (error: Error, isConnected: boolean): OutboundError => {
  if (error instanceof OutboundError) return error
  const code = codeOf(error)
  if (tls.test(code)) return new OutboundError('tls', `no secure connection: ${error.message || code}`)
  if (!isConnected || away.test(code)) return new OutboundError('connect', `no connection (${code || error.message})`)
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW')
    return new OutboundError('closed', `the answer is no HTTP (${code})`)
  const why = code === ended ? error.message : code || error.message
  return new OutboundError('closed', `the connection was closed before an answer (${why})`)
}

/** An idle connection that the other side ended just as we wrote on it. Nothing was answered on it, so we may ask anew. */
const isStale = ({ isUsed }: Link, error: Error): boolean =>
  isUsed && ['ECONNRESET', 'EPIPE', ended].includes(codeOf(error))

/**
 * One request and its answer, over a connection to a judged address. Redirects are answers like any other; nothing is
 * unpacked; proxies of the environment are not used. Once the status is there it counts, whatever becomes of the body.
 * @throws OutboundError
 */
export const exchange = (links: Links, way: Judged, given: Exchange): Promise<Exchanged> =>
  new Promise((resolve, reject) => {
    const { method, body, timeoutMs, maxBytes, signal } = given
    const { path, hostHeader } = way.target
    const headers = { host: hostHeader, ...given.headers }
    let link: Link
    let head: Omit<Exchanged, 'body'> | null = null
    let isOver = false
    const chunks: Buffer[] = []
    let size = 0

    const finish = () => {
      isOver = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    const answered = (answer: Omit<Exchanged, 'body'>) => {
      finish()
      resolve({ ...answer, body: Buffer.concat(chunks) })
    }
    const fail = (error: Error) => {
      if (isOver) return
      if (head) answered(head)
      else {
        finish()
        reject(named(error, link.isConnected))
      }
      links.drop(link)
    }
    const abort = () => fail(new OutboundError('closed', 'given up: the program is stopping'))

    const ask = (by: Link) => {
      link = by
      by.client.dispatch(
        { method, path, headers, body },
        {
          onRequestStart: () => {},
          onResponseStart: (_, status, headers) => {
            // 102 and 103 come before the answer (RFC 9110, 15.2).
            if (status >= 200) head = { status, headers }
          },
          onResponseData: (_, chunk) => {
            if (isOver || !head) return
            chunks.push(chunk.subarray(0, maxBytes - size))
            size += chunk.length
            if (size <= maxBytes) return
            answered(head)
            links.drop(by)
          },
          onResponseEnd: () => {
            if (isOver || !head) return
            answered(head)
            links.keep(by)
          },
          onResponseError: (_, error) => {
            if (isOver || by !== link) return
            if (head || !isStale(by, error)) return fail(error)
            links.drop(by)
            ask(links.open(way))
          },
        },
      )
    }

    const timer = setTimeout(
      () => fail(new OutboundError('timeout', `no answer within ${timeoutMs / 1000} s`)),
      timeoutMs,
    )
    signal?.addEventListener('abort', abort, { once: true })
    ask(links.take(way))
  })
