import http, { type Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import type { Target } from './outbound-target.ts'

/** Why there was no answer. `refused`: by us, nothing was sent. `closed`: by the other side, or with words that are no HTTP. */
export type OutboundCode = 'refused' | 'dns' | 'connect' | 'tls' | 'timeout' | 'closed'

export class OutboundError extends Error {
  readonly code: OutboundCode
  constructor(code: OutboundCode, message: string) {
    super(message)
    this.code = code
  }
}

/** A target whose addresses were judged: the only ones that are connected to. */
export type Judged = {
  readonly target: Target
  /** Tells connections apart: those of one host and its addresses are used again, by nobody else. */
  readonly receiver: string
  readonly lookup: LookupFunction
}

export const judged = (target: Target, addresses: readonly string[]): Judged => {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return {
    target,
    receiver: `${target.isSecure ? 's' : ''} ${target.host} ${target.port} ${addresses.join()}`,
    // Asked by net.connect, which tries one after the other. Not called for an address, which is its own answer.
    lookup: (_name, options, answer) => {
      const [first] = found
      if (options.all || !first) answer(null, found)
      else answer(null, first.address, first.family)
    },
  }
}

export type Agents = { readonly plain: Agent; readonly secure: Agent; destroy(): void }

const idleMs = 4_000
const mostIdle = 512

/** Connections that are kept for the next exchange with the same receiver: for 4 s, 512 in all, the oldest go first. */
export const makeAgents = (): Agents => {
  const idle = new Set<Socket>()
  const seen = new WeakSet<Socket>()
  const options = { keepAlive: true, timeout: idleMs, maxFreeSockets: 64 }
  const plain = new http.Agent(options)
  const secure = new https.Agent(options)
  for (const agent of [plain, secure]) {
    const [keep, reuse, nameOf] = [agent.keepSocketAlive, agent.reuseSocket, agent.getName]
    agent.getName = (given) => (given && 'receiver' in given ? String(given.receiver) : nameOf.call(agent, given))
    agent.keepSocketAlive = (socket: Socket) => {
      // Node's own answers false without saying so in its types.
      if (Boolean(keep.call(agent, socket)) === false) return false
      if (!seen.has(socket)) {
        seen.add(socket)
        socket.once('close', () => idle.delete(socket))
      }
      for (const oldest of idle) {
        if (idle.size < mostIdle) break
        idle.delete(oldest)
        oldest.destroy()
      }
      idle.add(socket)
      return true
    }
    agent.reuseSocket = (socket: Socket, request: ClientRequest) => {
      idle.delete(socket)
      reuse.call(agent, socket, request)
    }
  }
  return {
    plain,
    secure,
    destroy: () => {
      plain.destroy()
      secure.destroy()
    },
  }
}

/** What came back. The body is cut at the limit, or where the other side stopped. */
export type Exchanged = { readonly status: number; readonly headers: IncomingMessage['headers']; readonly body: Buffer }

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

const named = (error: Error, isConnected: boolean): OutboundError => {
  if (error instanceof OutboundError) return error
  const code = codeOf(error)
  if (tls.test(code)) return new OutboundError('tls', `no secure connection: ${error.message || code}`)
  if (!isConnected || away.test(code)) return new OutboundError('connect', `no connection (${code || error.message})`)
  if (code.startsWith('HPE_')) return new OutboundError('closed', `the answer is no HTTP (${code})`)
  return new OutboundError('closed', `the connection was closed before an answer (${code || error.message})`)
}

/** An idle connection that the other side ended just as we wrote on it. Nothing was answered on it, so we may ask anew. */
const isStale = (request: ClientRequest, error: Error): boolean =>
  request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(codeOf(error))

/**
 * One request and its answer, over a connection to a judged address. Redirects are answers like any other; nothing is
 * unpacked; proxies of the environment are not used. Once the status is there it counts, whatever becomes of the body.
 * @throws OutboundError
 */
export const exchange = (agents: Agents, { target, receiver, lookup }: Judged, given: Exchange): Promise<Exchanged> =>
  new Promise((resolve, reject) => {
    const { method, body, timeoutMs, maxBytes, signal } = given
    const { isSecure, host, port, path, hostHeader, isAddress } = target
    let request: ClientRequest
    let answer: IncomingMessage | null = null
    let isOver = false
    const chunks: Buffer[] = []
    let size = 0

    const finish = () => {
      isOver = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    const answered = ({ statusCode = 0, headers }: IncomingMessage) => {
      if (isOver) return
      finish()
      resolve({ status: statusCode, headers, body: Buffer.concat(chunks) })
    }
    const fail = (error: Error) => {
      if (isOver) return
      if (answer) return answered(answer)
      finish()
      reject(named(error, request.socket?.connecting === false))
    }
    const stop = (error: OutboundError) => {
      fail(error)
      request.destroy()
    }
    const abort = () => stop(new OutboundError('closed', 'given up: the program is stopping'))

    const ask = (isAgain: boolean) => {
      const options = {
        agent: isSecure ? agents.secure : agents.plain,
        method,
        host,
        port,
        path,
        lookup,
        receiver,
        autoSelectFamily: true,
        maxHeaderSize: 16_384,
        setDefaultHeaders: false,
        headers: { host: hostHeader, ...given.headers, connection: 'keep-alive' },
        // The name is what the certificate is for; an address is checked as what it is.
        ...(isSecure && !isAddress ? { servername: host } : {}),
      }
      request = (isSecure ? https : http).request(options)
      request.on('error', (error) => {
        if (!isOver && !answer && !isAgain && isStale(request, error)) ask(true)
        else fail(error)
      })
      request.on('response', (response) => {
        answer = response
        response.on('data', (chunk: Buffer) => {
          if (size + chunk.length > maxBytes) {
            chunks.push(chunk.subarray(0, maxBytes - size))
            answered(response)
            request.destroy()
            return
          }
          size += chunk.length
          chunks.push(chunk)
        })
        response.on('end', () => answered(response))
        response.on('error', () => answered(response))
        response.on('close', () => answered(response))
      })
      request.end(body ?? undefined)
    }

    const timer = setTimeout(
      () => stop(new OutboundError('timeout', `no answer within ${timeoutMs / 1000} s`)),
      timeoutMs,
    )
    signal?.addEventListener('abort', abort, { once: true })
    ask(false)
  })
