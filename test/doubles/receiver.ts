import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** A received call. */
export type ReceivedCall = {
  readonly path: string
  readonly id: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** Milliseconds of the monotonic clock. */
  readonly at: number
}

/** Faults by path. Every other path responds with 200. */
const faults: Record<string, (response: ServerResponse, argument: string) => void> = {
  /** `/status/503` */
  status: (response, code) => void response.writeHead(Number(code)).end('{"seen":true}'),
  /** `/later/120`: 429 with Retry-After in seconds. */
  later: (response, seconds) => void response.writeHead(429, { 'retry-after': seconds }).end(),
  /** `/slow/500`: responds after that many milliseconds. */
  slow: (response, ms) => void setTimeout(() => response.end('slow'), Number(ms)),
  /** Refuses, and repeats the headers of the request. */
  echo: (response) => {
    const { headers } = response.req
    response.writeHead(400, { 'x-seen': String(headers.authorization) }).end(JSON.stringify(headers))
  },
  /** Never responds. */
  mute: () => {},
  /** One byte a second, endlessly. */
  drip: (response) => {
    response.writeHead(200, { 'content-length': '1000000' })
    const timer = setInterval(() => response.write('.'), 1_000)
    response.on('close', () => clearInterval(timer))
  },
  /** One header line a second, endlessly. */
  'drip-head': (response) => {
    response.socket?.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => response.socket?.write('x: y\r\n'), 1_000)
    response.on('close', () => clearInterval(timer))
  },
  /** A body of one gigabyte. */
  gigabyte: (response) => {
    const chunk = Buffer.alloc(65_536, 'x')
    response.writeHead(200, { 'content-length': String(2 ** 30) })
    let left = 2 ** 30
    const pump = () => {
      while (left > 0 && !response.destroyed) {
        left -= chunk.length
        if (!response.write(chunk)) return void response.once('drain', pump)
      }
      response.end()
    }
    pump()
  },
  /** Redirects to itself, endlessly. */
  redirect: (response) => void response.writeHead(307, { location: 'redirect' }).end(),
  /** Closes in the middle of the response. */
  cut: (response) => {
    response.writeHead(500, { 'content-length': '100' })
    response.write('half of')
    setImmediate(() => response.socket?.destroy())
  },
  /** Closes without a response. */
  hang: (response) => response.socket?.destroy(),
  /** Responds with bytes that are not HTTP. */
  garbage: (response) => void response.socket?.end('BEEP BOOP\r\n\r\n'),
}

const textOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

/** A webhook receiver with faults by path. Records every call. */
export class Receiver {
  readonly calls: ReceivedCall[] = []
  /** Called with each call before the response. */
  onCall: (call: ReceivedCall) => void = () => {}
  /** Status for paths without a fault. */
  status = 200
  #server: Server | null = null
  readonly #sockets = new Set<Socket>()
  #port = 0

  get port(): number {
    return this.#port
  }

  url(path = '/'): string {
    return `http://127.0.0.1:${this.#port}${path}`
  }

  /** Listens, again on the previous port if there is one. */
  async up(): Promise<this> {
    const server = createServer((request, response) => void this.#answer(request, response))
    server.keepAliveTimeout = 60_000
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    server.listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address && typeof address === 'object') this.#port = address.port
    this.#server = server
    return this
  }

  /** Stops listening. */
  async down(): Promise<void> {
    const server = this.#server
    this.#server = null
    if (!server) return
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }

  /** Calls to a path, in order of arrival. */
  of(path: string): ReceivedCall[] {
    return this.calls.filter((call) => call.path === path)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    const { url: path = '/', headers } = request
    const body = await textOf(request).catch(() => null)
    if (body === null) return
    const call = { path, id: String(headers['webhook-id']), headers, body, at: performance.now() }
    this.calls.push(call)
    this.onCall(call)
    const [, fault = '', argument = ''] = path.split(/[/?]/)
    const misbehave = faults[fault]
    if (misbehave) misbehave(response, argument)
    else response.writeHead(this.status).end('{"seen":true}')
  }
}
