import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Tenant } from './world.ts'

/** A client with a socket of its own for each request. */
export type Client = {
  call(who: Tenant, method: string, url: string, body?: object, headers?: Record<string, string>): Promise<Reply>
  close(): void
}

export type Reply = { readonly status: number; readonly body: string }

export const makeClient = (port: number): Client => {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 1_000 })
  return {
    call: (who, method, url, body, headers = {}) =>
      new Promise((resolve, reject) => {
        const text = body === undefined ? '' : JSON.stringify(body)
        const fields = {
          'x-user-api-key': who.key,
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(text)),
          ...headers,
        }
        const asked = request({ port, host: '127.0.0.1', agent, method, path: url, headers: fields }, (answer) => {
          const pieces: Buffer[] = []
          answer.on('data', (piece) => pieces.push(piece))
          answer.once('error', reject)
          answer.once('end', () =>
            resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(pieces).toString('utf8') }),
          )
        })
        asked.once('error', reject)
        asked.end(text)
      }),
    close: () => agent.destroy(),
  }
}

/** A request whose body never ends. */
export type StalledRequest = { readonly socket: Socket; readonly answer: Promise<string> }

/**
 * Sends the headers and the beginning of a body. `answer` resolves with everything received until the connection ends.
 */
export const stall = (
  port: number,
  who: Tenant,
  { url, type, length }: { url: string; type: string; length: number | 'chunked' },
  beginning: string,
): StalledRequest => {
  const socket = connect(port, '127.0.0.1')
  const size = length === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${length}`
  const body = length === 'chunked' ? `${beginning.length.toString(16)}\r\n${beginning}\r\n` : beginning
  socket.write(
    `POST ${url} HTTP/1.1\r\nhost: x\r\nx-user-api-key: ${who.key}\r\ncontent-type: ${type}\r\n${size}\r\n\r\n${body}`,
  )
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (piece) => {
    text += piece
  })
  socket.on('error', () => {})
  const answer = new Promise<string>((resolve) => socket.once('close', () => resolve(text)))
  return { socket, answer }
}

/** Starts many operations at once, and counts the finished ones. */
export const flood = <T>(count: number, begin: (i: number) => Promise<T>) => {
  let ended = 0
  const all = Array.from({ length: count }, (_, i) =>
    begin(i).finally(() => {
      ended++
    }),
  )
  return { ended: () => ended, all: Promise.all(all) }
}
