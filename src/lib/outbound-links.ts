import net, { type LookupFunction, type Socket } from 'node:net'
import tls from 'node:tls'
import type { buildConnector, Dispatcher } from 'undici'
// Its client alone: all of the package would cost 85 ms of CPU at each start, instead of 35.
import Client from 'undici/lib/dispatcher/client.js'
import type { Target } from './outbound-target.ts'

/** A target whose addresses were judged: the only ones that are connected to. */
export type Judged = {
  readonly target: Target
  /** Tells connections apart: those of one host and its addresses, in whatever order they come, are used again, by nobody else. */
  readonly receiver: string
  readonly lookup: LookupFunction
}

export const judged = (target: Target, addresses: readonly string[]): Judged => {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return {
    target,
    receiver: `${target.isSecure ? 's' : ''} ${target.host} ${target.port} ${addresses.toSorted().join()}`,
    // Asked by net.connect, which tries one after the other. Not called for an address, which is its own answer.
    lookup: (_name, options, answer) => {
      const [first] = found
      if (options.all || !first) answer(null, found)
      else answer(null, first.address, first.family)
    },
  }
}

const idleMs = 4_000
const mostIdle = 512
const mostSessions = 512

/** TLS sessions by receiver, so that the next connection to it costs less. */
type Sessions = Map<string, Buffer>

/** A connection to a receiver, for one exchange at a time. */
export class Link {
  readonly receiver: string
  readonly client: Dispatcher
  /** It was there before, for another exchange. */
  isUsed = false
  isConnected = false
  #socket: Socket | null = null

  constructor(way: Judged, sessions: Sessions) {
    const { isSecure, hostHeader } = way.target
    this.receiver = way.receiver
    this.client = new Client(`${isSecure ? 'https' : 'http'}://${hostHeader}`, {
      // The address that was judged, and nothing that a client might make of the name.
      connect: (_, done) => this.#connect(way, sessions, done),
      allowH2: false,
      maxHeaderSize: 16_384,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
      // An exchange has its own time, for all of it.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** Ends it, whatever is under way. */
  drop(error: Error | null): void {
    void this.client.destroy(error)
    this.#socket?.destroy()
  }

  #connect({ target, receiver, lookup }: Judged, sessions: Sessions, done: buildConnector.Callback): void {
    const { isSecure, isAddress, host, port } = target
    const session = sessions.get(receiver)
    const options = { host, port, lookup, autoSelectFamily: true }
    const socket = isSecure
      ? tls.connect({
          ...options,
          // The name is what the certificate is for; an address is checked as what it is.
          ...(isAddress ? {} : { servername: host }),
          ...(session ? { session } : {}),
        })
      : net.connect(options)
    this.#socket = socket
    this.isConnected = false
    socket.setNoDelay(true)
    socket.once('connect', () => {
      this.isConnected = true
    })
    socket.once(isSecure ? 'secureConnect' : 'connect', () => done(null, socket))
    socket.on('error', (error) => done(error, null))
    socket.on('session', (fresh: Buffer) => {
      if (sessions.size >= mostSessions) sessions.clear()
      sessions.set(receiver, fresh)
    })
  }
}

/** Connections that are kept for the next exchange with the same receiver: for 4 s, 512 in all, the oldest go first. */
export type Links = {
  /** One that is free, or a new one. */
  take(way: Judged): Link
  /** A new one. */
  open(way: Judged): Link
  /** Leaves it to the next. */
  keep(link: Link): void
  drop(link: Link, error?: Error): void
  close(): void
}

export const makeLinks = (): Links => {
  const sessions: Sessions = new Map()
  const all = new Set<Link>()
  /** Those that wait the longest first. */
  const idle = new Set<Link>()
  const byReceiver = new Map<string, Link[]>()
  let isClosed = false

  const drop = (link: Link, error: Error | null = null) => {
    all.delete(link)
    if (idle.delete(link)) {
      const left = byReceiver.get(link.receiver)?.filter((one) => one !== link) ?? []
      if (left.length > 0) byReceiver.set(link.receiver, left)
      else byReceiver.delete(link.receiver)
    }
    link.drop(error)
  }

  const open = (way: Judged): Link => {
    const link = new Link(way, sessions)
    all.add(link)
    // The other side's end, or 4 s. Of one that is in use its exchange hears.
    link.client.on('disconnect', () => {
      if (idle.has(link)) drop(link)
    })
    return link
  }

  return {
    open,
    drop,
    take: (way) => {
      const free = byReceiver.get(way.receiver)
      const link = free?.pop()
      if (free?.length === 0) byReceiver.delete(way.receiver)
      if (!link) return open(way)
      idle.delete(link)
      return link
    },
    keep: (link) => {
      if (isClosed) return drop(link)
      for (const oldest of idle) {
        if (idle.size < mostIdle) break
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
