import { randomBytes } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { errorBody, Problem } from './problem.ts'

// Refusals of what never becomes a request of Fastify's.

export const json = 'application/json; charset=utf-8'

const bodyOf = (problem: Problem): string =>
  JSON.stringify(errorBody('full', problem, `req_${randomBytes(8).toString('base64url')}`))

/** Requests that were not read to their end, by Node's code. */
const unread: Record<string, () => Problem> = {
  HPE_HEADER_OVERFLOW: () => new Problem('headersTooLarge', 'The headers of the request are too large'),
  ERR_HTTP_REQUEST_TIMEOUT: () => new Problem('timedOut', 'The request took too long to arrive'),
}

/** Answers a refusal on a bare socket, and ends it. */
export const refuseWith = (problem: Problem, socket: Duplex): void => {
  const { status, headers } = problem
  const body = bodyOf(problem)
  const fields = {
    ...headers,
    'content-type': json,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`)
}

/** Answers on a socket whose bytes are no HTTP request. */
export const refuseSocket = (error: Error & { code?: string }, socket: Socket): void => {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const known = unread[error.code ?? '']
  refuseWith(known ? known() : new Problem('invalid', 'The request is not valid HTTP', 'malformed_request'), socket)
}

/** Answers an Expect that nobody knows, which Node would do without a body. */
export const refuseExpectation = (_request: IncomingMessage, response: ServerResponse): void => {
  const problem = new Problem('invalid', 'Expect can only be 100-continue', 'malformed_request')
  const body = bodyOf(problem)
  const length = Buffer.byteLength(body)
  response.writeHead(problem.status, { 'content-type': json, 'content-length': length, connection: 'close' }).end(body)
}
