import { createRequire } from 'node:module'
import net, { type LookupFunction, type Socket } from 'node:net'
import tls from 'node:tls'
import type { buildConnector, Dispatcher, Client as UndiciClient } from 'undici'
import type { Target } from './outbound-target.ts'

const require = createRequire(import.meta.url)

/**
 * Loads the client of undici with the first connection, which takes 35 ms of CPU. The whole package would take 85 ms.
 */
const loadClient = (): typeof UndiciClient => require('undici/lib/dispatcher/client.js')

/** A target with checked addresses. Only these are connected to. */
export type CheckedTarget = {
  readonly target: Target
  readonly addresses: readonly string[]
  /** Key for connection reuse: only requests to the same host, port and set of addresses share connections. */
  readonly receiver: string
  readonly lookup: LookupFunction
}

export const checkedTarget = (target: Target, addresses: readonly string[]): CheckedTarget => {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return {
    target,
    addresses,
    receiver: `${target.isSecure ? 's' : ''} ${target.host} ${target.port} ${addresses.toSorted().join()}`,
    // Called by net.connect, which tries the addresses in turn. Not called for IP addresses.
    lookup: (_name, options, answer) => {
      const [first] = found
      if (options.all || !first) answer(null, found)
      else answer(null, first.address, first.family)
    },
  }
}

/**
 * Milliseconds for which an idle connection stays open, or less if the receiver announced less: with TLS, a receiver
 * with an event every few seconds is spared a handshake for each. Network address translation may forget connections
 * after a minute.
 */
const idleMs = 30_000
const maxIdle = 1_024
const maxSessions = 512

/** TLS sessions by receiver, for cheaper reconnects. */
type Sessions = Map<string, Buffer>

/** A connection to a receiver, for one exchange at a time. */
export class PooledConnection {
  readonly receiver: string
  readonly client: Dispatcher
  /** True if an earlier exchange used the connection. */
  isUsed = false
  isConnected = false
  /** True if requests can be written: with TLS, after the handshake. */
  isReady = false
  #socket: Socket | null = null

  constructor(way: CheckedTarget, sessions: Sessions) {
    const { isSecure, hostHeader } = way.target
    this.receiver = way.receiver
    const Client = loadClient()
    this.client = new Client(`${isSecure ? 'https' : 'http'}://${hostHeader}`, {
      // Connects to the checked addresses; the client must not resolve the name again.
      connect: (_, done) => this.#connect(way, sessions, done),
      allowH2: false,
      maxHeaderSize: 16_384,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
      // An exchange has its own timeout.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** Closes the connection at once. */
  destroy(error: Error | null): void {
    void this.client.destroy(error)
    this.#socket?.destroy()
  }

  #connect({ target, receiver, lookup }: CheckedTarget, sessions: Sessions, done: buildConnector.Callback): void {
    const { isSecure, isAddress, host, port } = target
    const session = sessions.get(receiver)
    const options = { host, port, lookup, autoSelectFamily: true }
    const socket = isSecure
      ? tls.connect({
          ...options,
          // The certificate is verified for the name, or for the IP address.
          ...(isAddress ? {} : { servername: host }),
          ...(session ? { session } : {}),
        })
      : net.connect(options)
    this.#socket = socket
    this.isConnected = false
    this.isReady = false
    socket.setNoDelay(true)
    socket.once('connect', () => {
      this.isConnected = true
    })
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      this.isReady = true
      done(null, socket)
    })
    socket.on('error', (error) => done(error, null))
    socket.on('session', (fresh: Buffer) => {
      if (sessions.size >= maxSessions) sessions.clear()
      sessions.set(receiver, fresh)
    })
  }
}

/** Pool of idle connections by receiver: for 30 s, 1,024 in all, the oldest are closed first. */
export type ConnectionPool = {
  /** Returns an idle connection, or a new one. */
  acquire(way: CheckedTarget): PooledConnection
  /** Returns a new connection. */
  open(way: CheckedTarget): PooledConnection
  /** Returns a connection to the pool. */
  release(link: PooledConnection): void
  destroy(link: PooledConnection, error?: Error): void
  close(): void
}

export const makeConnectionPool = (): ConnectionPool => {
  const sessions: Sessions = new Map()
  const all = new Set<PooledConnection>()
  /** Idle connections, longest idle first. */
  const idle = new Set<PooledConnection>()
  const byReceiver = new Map<string, PooledConnection[]>()
  let isClosed = false

  const drop = (link: PooledConnection, error: Error | null = null) => {
    all.delete(link)
    if (idle.delete(link)) {
      const left = byReceiver.get(link.receiver)?.filter((one) => one !== link) ?? []
      if (left.length > 0) byReceiver.set(link.receiver, left)
      else byReceiver.delete(link.receiver)
    }
    link.destroy(error)
  }

  const open = (way: CheckedTarget): PooledConnection => {
    const link = new PooledConnection(way, sessions)
    all.add(link)
    // The receiver closed an idle connection, or it timed out. Exchanges handle connections in use.
    link.client.on('disconnect', () => {
      if (idle.has(link)) drop(link)
    })
    return link
  }

  return {
    open,
    destroy: drop,
    acquire: (way) => {
      const free = byReceiver.get(way.receiver)
      const link = free?.pop()
      if (free?.length === 0) byReceiver.delete(way.receiver)
      if (!link) return open(way)
      idle.delete(link)
      return link
    },
    release: (link) => {
      if (isClosed) return drop(link)
      for (const oldest of idle) {
        if (idle.size < maxIdle) break
        drop(oldest)
      }
      link.isUsed = true
      idle.add(link)
      const free = byReceiver.get(link.receiver)
      if (free) free.push(link)
      else byReceiver.set(link.receiver, [link])
    },
    close: () => {
      isClosed = true
      for (const link of all) drop(link)
    },
  }
}
