import { randomBytes } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { type Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { makeFairLimiter } from '../lib/fair-limiter.ts'
import { errorBody, Problem } from './problem.ts'

// Refusals of what never becomes a request of Fastify's.

export const json = 'application/json; charset=utf-8'

/** Answers of the interface are for who asked alone, and are what their type says. */
export const unstored = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

/** Closes connections of an address that has its share. @param most connections of one address */
export const shareConnections = (server: Server, most: number): void => {
  const connections = makeFairLimiter({ perKey: most, total: Number.POSITIVE_INFINITY })
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    if (!connections.tryAcquire(address)) return socket.destroy()
    socket.once('close', () => connections.release(address))
  })
}

const bodyOf = (problem: Problem): string =>
  JSON.stringify(errorBody('full', problem, `req_${randomBytes(8).toString('base64url')}`))

/** Requests that were not read to their end, by Node's code. */
const unread = new Map<string, () => Problem>(
  Object.entries({
    HPE_HEADER_OVERFLOW: () => new Problem('headersTooLarge', 'The headers of the request are too large'),
    ERR_HTTP_REQUEST_TIMEOUT: () => new Problem('timedOut', 'The request took too long to arrive'),
  }),
)

/** Answers a refusal on a bare socket, and ends it. */
export const refuseWith = (problem: Problem, socket: Duplex): void => {
  const { status, headers } = problem
  const body = bodyOf(problem)
  const fields = {
    ...unstored,
    ...headers,
    'content-type': json,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`)
}

const patient = new WeakSet<Duplex>()

/** An hour without a byte either way: what came is being worked on, or nobody is there any more. */
const longest = 3_600_000

/** Lets the request on a socket take as long as it takes. */
export const bePatient = (socket: Duplex): void => {
  patient.add(socket)
  if (socket instanceof Socket) socket.setTimeout(longest)
}

/** Answers on a socket whose bytes are no HTTP request. */
export const refuseSocket = (error: Error & { code?: string }, socket: Duplex): void => {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  // Node asks about each request once, and leaves the socket to us.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && patient.has(socket)) return
  const known = unread.get(error.code ?? '')
  refuseWith(known ? known() : new Problem('invalid', 'The request is not valid HTTP', 'malformed_request'), socket)
}

/** Answers an Expect that nobody knows, which Node would do without a body. */
export const refuseExpectation = (_request: IncomingMessage, response: ServerResponse): void => {
  const problem = new Problem('invalid', 'Expect can only be 100-continue', 'malformed_request')
  const body = bodyOf(problem)
  const length = Buffer.byteLength(body)
  response
    .writeHead(problem.status, { ...unstored, 'content-type': json, 'content-length': length, connection: 'close' })
    .end(body)
}
