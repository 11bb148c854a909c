import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { endSocket } from '../lib/end-socket.ts'
import { makeFairLimiter } from '../lib/fair-limiter.ts'
import { idleTimeoutMs } from './limits.ts'
import { errorBody, type Problem } from './problem.ts'
import { refusals } from './refusals.ts'

// Refusals of traffic that never becomes a Fastify request.

/** An import by name would also load Node's browser-compatible parts: 25 ms of a start, 11 MB. */
const { STATUS_CODES } = process.getBuiltinModule('node:http')

export const jsonType = 'application/json; charset=utf-8'

/** Headers of all responses: not cached, type not guessed. */
export const noStoreHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

/**
 * Closes connections beyond the limit of an address.
 * @param most connections per address
 * @param isExempt true for a peer without a limit: the connections of all clients come from their proxy
 */
export const limitConnections = (server: Server, most: number, isExempt: (address: string) => boolean): void => {
  const connections = makeFairLimiter({ perKey: most, total: Number.POSITIVE_INFINITY })
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    if (isExempt(address)) return
    if (!connections.tryAcquire(address)) return socket.destroy()
    socket.once('close', () => connections.release(address))
  })
}

const bodyOf = (problem: Problem): string =>
  JSON.stringify(errorBody('full', problem, `req_${randomBytes(8).toString('base64url')}`))

/** Refusals of incomplete requests, by Node's error code. */
const incompleteRequests = new Map<string, () => Problem>(
  Object.entries({
    HPE_HEADER_OVERFLOW: refusals.headersTooLarge,
    ERR_HTTP_REQUEST_TIMEOUT: refusals.requestTooSlow,
  }),
)

/** Writes a refusal to a bare socket and ends it. */
export const endWithProblem = (problem: Problem, socket: Duplex): void => {
  const { status, headers } = problem
  const body = bodyOf(problem)
  const fields = {
    ...noStoreHeaders,
    ...headers,
    'content-type': jsonType,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  endSocket(socket, `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`)
}

const extended = new WeakSet<Duplex>()

/** Replaces the request timeout of a socket by an idle timeout of one hour. @returns the function that ends that */
export const extendTimeout = (socket: Duplex): (() => void) => {
  extended.add(socket)
  if (socket instanceof Socket) socket.setTimeout(idleTimeoutMs)
  // Node itself sets the idle timeout for the next request.
  return () => void extended.delete(socket)
}

/** Answers malformed HTTP on a socket. */
export const refuseMalformed = (error: Error & { code?: string }, socket: Duplex): void => {
  const code = error.code ?? ''
  // A connection that broke, or whose TLS handshake failed, takes no response.
  if (!/^(?:HPE|ERR_HTTP)_/.test(code)) return void socket.destroy()
  if (socket.destroyed) return
  // Node reports a timeout once per request, and leaves the socket to us.
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && extended.has(socket)) return
  const known = incompleteRequests.get(code)
  endWithProblem(known ? known() : refusals.malformedHttp(), socket)
}

/** Answers an unknown Expect; Node itself would answer without a body. */
export const refuseExpectation = (_request: IncomingMessage, response: ServerResponse): void => {
  const problem = refusals.badExpectation()
  const body = bodyOf(problem)
  const length = Buffer.byteLength(body)
  response
    .writeHead(problem.status, {
      ...noStoreHeaders,
      'content-type': jsonType,
      'content-length': length,
      connection: 'close',
    })
    .end(body)
}
