import { once } from 'node:events'
import { connect as connectTcp, createServer, isIP, type Server, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import type { Timers } from '../timers.ts'
import { Connection } from './connection.ts'
import { type Flow, hostOf, type Receiver, type SentBy, type Target, type Transport, type Trust } from './flow.ts'

export type TcpSettings = {
  readonly address: string
  /** 0 takes any. */
  readonly port: number
  readonly advertised?: SentBy
  /** PEM: makes it TLS. Peers that we connect to must show a certificate of an authority that the machine knows, for their name. */
  readonly tls?: { readonly key: string; readonly cert: string }
  /** Connections at a time: ours, and as many of theirs. */
  readonly mostConnections?: number
  /** Whose connections stay; those of others are few and end soon. Everybody's unless told. */
  readonly isKnown?: (address: string) => boolean
  /** Where a peer that we connect to is to show something else than that; null where not. Not asked where the target says it. */
  readonly trustOf?: (target: Target) => Trust | null
  /** Silence after which a connection is closed, ms. */
  readonly idleMs?: number
  readonly connectMs?: number
}

/**
 * Connections of addresses that are not known, at a time, and how long one lasts, ms. Another proxy of a carrier may bring the
 * BYE of a call, and needs no longer for it; what else comes there is whoever scans the Internet, and takes nobody's place.
 */
const mostStrangers = 100
const strangerMs = 30_000

/** A connection is used for requests under the trust alone under which it was made. */
const keyOf = (address: string, port: number, trust: Trust | null): string =>
  `${address} ${port}${trust ? ` ${trust.name} ${trust.ca}` : ''}`

/** SIP over TCP or TLS (RFC 3261, 18): one connection for each peer, whoever opened it, for requests and answers alike. */
class Tcp implements Transport {
  readonly protocol: 'TCP' | 'TLS'
  readonly sentBy: SentBy
  private readonly settings: TcpSettings
  private readonly receiver: Receiver
  private readonly timers: Timers
  private readonly server: Server
  private readonly open = new Map<string, Connection>()
  private readonly opening = new Map<string, Promise<Flow>>()
  /** Those that we accepted: of peers that are known, and of others. */
  private readonly accepted = { known: new Set<Socket>(), strange: new Set<Socket>() }
  /** Those that we opened, or are about to. */
  private ours = 0
  private isClosed = false

  constructor(server: Server, settings: TcpSettings, receiver: Receiver, timers: Timers) {
    this.server = server
    this.protocol = settings.tls ? 'TLS' : 'TCP'
    const bound = server.address()
    const port = typeof bound === 'object' && bound ? bound.port : settings.port
    this.sentBy = settings.advertised ?? { host: hostOf(settings.address), port }
    this.settings = settings
    this.receiver = receiver
    this.timers = timers
    // Counted before the handshake of TLS: that alone takes ten seconds of whoever says nothing.
    server.on('connection', (socket: Socket) => this.accept(socket))
    if (settings.tls) server.on('secureConnection', (socket: Socket) => this.take(socket))
  }

  flow(target: Target): Promise<Flow> {
    const trust = target.trust ?? this.settings.trustOf?.(target) ?? null
    const key = keyOf(target.address, target.port, trust)
    const known = this.open.get(key)
    if (known) return Promise.resolve(known)
    const opening = this.opening.get(key)
    if (opening) return opening
    const made = this.connect(target, key, trust).finally(() => this.opening.delete(key))
    this.opening.set(key, made)
    return made
  }

  async close(): Promise<void> {
    this.isClosed = true
    const closed = once(this.server, 'close')
    this.server.close()
    for (const connection of this.open.values()) connection.close('closed')
    // Those in the midst of a handshake.
    for (const peers of Object.values(this.accepted)) for (const socket of peers) socket.destroy()
    await closed
  }

  private get most(): number {
    return this.settings.mostConnections ?? 2_000
  }

  private accept(socket: Socket): void {
    const isKnown = this.settings.isKnown?.(socket.remoteAddress ?? '') ?? true
    const peers = isKnown ? this.accepted.known : this.accepted.strange
    if (this.isClosed || peers.size >= (isKnown ? this.most : mostStrangers)) {
      socket.destroy()
      return
    }
    peers.add(socket)
    const stop = isKnown ? () => {} : this.timers.after(strangerMs, () => socket.destroy())
    socket.on('close', () => {
      stop()
      peers.delete(socket)
    })
    if (!this.settings.tls) this.take(socket)
  }

  private take(socket: Socket): void {
    const { remoteAddress = '', remotePort = 0 } = socket
    this.keep(socket, keyOf(remoteAddress, remotePort, null))
  }

  private keep(socket: Socket, key: string): Connection {
    const connection = new Connection(socket, this.protocol, this.settings.idleMs ?? 900_000, this.timers, {
      received: this.receiver.received,
      closed: (flow, reason) => {
        if (this.open.get(key) === flow) this.open.delete(key)
        this.receiver.closed(flow, reason)
      },
    })
    this.open.set(key, connection)
    return connection
  }

  private async connect(target: Target, key: string, trust: Trust | null): Promise<Flow> {
    if (this.ours >= this.most) throw new Error('too many connections')
    const { address: host, port, serverName } = target
    const { tls, connectMs = 4_000 } = this.settings
    const [name, ca] = [trust?.name ?? serverName ?? host, trust?.ca]
    const socket = tls
      ? connectTls({ host, port, ...(ca ? { ca } : {}), ...(isIP(name) ? {} : { servername: name }) })
      : connectTcp({ host, port })
    this.ours++
    socket.on('close', () => this.ours--)
    const giveUp = this.timers.after(connectMs, () => socket.destroy(new Error('no connection in time')))
    try {
      await once(socket, tls ? 'secureConnect' : 'connect')
    } finally {
      giveUp()
    }
    if (!this.isClosed) return this.keep(socket, key)
    socket.destroy()
    throw new Error('closed')
  }
}

/** Listens, and connects to others. @throws Error when the port is taken or the certificate is none */
export const openTcp = async (settings: TcpSettings, receiver: Receiver, timers: Timers): Promise<Transport> => {
  const { tls } = settings
  const server = tls ? createTlsServer({ key: tls.key, cert: tls.cert, handshakeTimeout: 10_000 }) : createServer()
  server.listen(settings.port, settings.address)
  await once(server, 'listening')
  server.on('error', () => {})
  return new Tcp(server, settings, receiver, timers)
}
