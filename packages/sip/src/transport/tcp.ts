import { once } from 'node:events'
import { connect as connectTcp, createServer, isIP, type Server, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer, Server as TlsServer } from 'node:tls'
import type { Timers } from '../timers.ts'
import {
  type Flow,
  formatHost,
  type SentBy,
  type SipTarget,
  type TlsTrust,
  type Transport,
  type TransportReceiver,
} from './flow.ts'
import { TcpConnection } from './tcp-connection.ts'

export type TcpSettings = {
  readonly address: string
  /** 0 selects a free port. */
  readonly port: number
  readonly advertised?: SentBy
  /**
   * PEM; enables TLS. Peers we connect to must show a certificate for their name from an authority that the machine
   * trusts.
   */
  readonly tls?: { readonly key: string; readonly cert: string }
  /** Concurrent connections: this many outbound, and as many inbound. */
  readonly maxConnections?: number
  /** Peers whose connections are kept open; others are limited and closed early. Default: all. */
  readonly isKnown?: (address: string) => boolean
  /** Overrides what a peer we connect to must show; null: no override. Not called if the target has its own `trust`. */
  readonly trustOf?: (target: SipTarget) => TlsTrust | null
  /** Silence after which a connection is closed, ms. */
  readonly idleMs?: number
  readonly connectMs?: number
}

/**
 * Limit and lifetime, ms, of connections from unknown addresses. Another proxy of a carrier may need one briefly for
 * the BYE of a call. All other unknown peers are scanners, which must not use the slots of known peers.
 */
const maxUnknownPeers = 100
const unknownPeerMs = 30_000

/** Identifies a connection by peer and trust: a request uses only connections made under its own trust. */
const connectionKey = (address: string, port: number, trust: TlsTrust | null): string =>
  `${address} ${port}${trust ? ` ${trust.name} ${trust.ca}` : ''}`

/** A transport whose certificate can be replaced. */
export type TcpListener = Transport & {
  /** Replaces the certificate and key (PEM) for later handshakes; open connections go on. No effect without TLS.
   *  @throws Error if they are invalid */
  setCertificate(tls: { readonly key: string; readonly cert: string }): void
}

/**
 * SIP over TCP or TLS (RFC 3261, 18): one connection for each peer, opened by either side, for requests and responses.
 */
class TcpTransport implements TcpListener {
  readonly protocol: 'TCP' | 'TLS'
  readonly sentBy: SentBy
  private readonly settings: TcpSettings
  private readonly receiver: TransportReceiver
  private readonly timers: Timers
  private readonly server: Server
  private readonly open = new Map<string, TcpConnection>()
  private readonly opening = new Map<string, Promise<Flow>>()
  /** Inbound connections of known and of other peers. */
  private readonly accepted = { known: new Set<Socket>(), strange: new Set<Socket>() }
  /** Outbound connections, including those being opened. */
  private outboundCount = 0
  private isClosed = false

  constructor(server: Server, settings: TcpSettings, receiver: TransportReceiver, timers: Timers) {
    this.server = server
    this.protocol = settings.tls ? 'TLS' : 'TCP'
    const bound = server.address()
    const port = typeof bound === 'object' && bound ? bound.port : settings.port
    this.sentBy = settings.advertised ?? { host: formatHost(settings.address), port }
    this.settings = settings
    this.receiver = receiver
    this.timers = timers
    // Counted before the TLS handshake, which a silent peer can hold open for 10 s.
    server.on('connection', (socket: Socket) => this.accept(socket))
    if (settings.tls) server.on('secureConnection', (socket: Socket) => this.addInbound(socket))
  }

  flow(target: SipTarget): Promise<Flow> {
    const trust = target.trust ?? this.settings.trustOf?.(target) ?? null
    const key = connectionKey(target.address, target.port, trust)
    const known = this.open.get(key)
    if (known) return Promise.resolve(known)
    const opening = this.opening.get(key)
    if (opening) return opening
    const connecting = this.connect(target, key, trust).finally(() => this.opening.delete(key))
    this.opening.set(key, connecting)
    return connecting
  }

  setCertificate({ key, cert }: { readonly key: string; readonly cert: string }): void {
    if (this.server instanceof TlsServer) this.server.setSecureContext({ key, cert })
  }

  async close(): Promise<void> {
    this.isClosed = true
    const closed = once(this.server, 'close')
    this.server.close()
    for (const connection of this.open.values()) connection.close('closed')
    // Connections still in a handshake.
    for (const peers of Object.values(this.accepted)) for (const socket of peers) socket.destroy()
    await closed
  }

  private get maxConnections(): number {
    return this.settings.maxConnections ?? 2_000
  }

  private accept(socket: Socket): void {
    const isKnown = this.settings.isKnown?.(socket.remoteAddress ?? '') ?? true
    const peers = isKnown ? this.accepted.known : this.accepted.strange
    if (this.isClosed || peers.size >= (isKnown ? this.maxConnections : maxUnknownPeers)) {
      socket.destroy()
      return
    }
    peers.add(socket)
    const stop = isKnown ? () => {} : this.timers.after(unknownPeerMs, () => socket.destroy())
    socket.on('close', () => {
      stop()
      peers.delete(socket)
    })
    if (!this.settings.tls) this.addInbound(socket)
  }

  private addInbound(socket: Socket): void {
    const { remoteAddress = '', remotePort = 0 } = socket
    this.addConnection(socket, connectionKey(remoteAddress, remotePort, null))
  }

  private addConnection(socket: Socket, key: string): TcpConnection {
    const connection = new TcpConnection(socket, this.protocol, this.settings.idleMs ?? 900_000, this.timers, {
      received: this.receiver.received,
      closed: (flow, reason) => {
        if (this.open.get(key) === flow) this.open.delete(key)
        this.receiver.closed(flow, reason)
      },
    })
    this.open.set(key, connection)
    return connection
  }

  private async connect(target: SipTarget, key: string, trust: TlsTrust | null): Promise<Flow> {
    if (this.outboundCount >= this.maxConnections) throw new Error('too many connections')
    const { address: host, port, serverName } = target
    const { tls, connectMs = 4_000 } = this.settings
    const [name, ca] = [trust?.name ?? serverName ?? host, trust?.ca]
    const socket = tls
      ? connectTls({ host, port, ...(ca ? { ca } : {}), ...(isIP(name) ? {} : { servername: name }) })
      : connectTcp({ host, port })
    this.outboundCount++
    socket.on('close', () => this.outboundCount--)
    const giveUp = this.timers.after(connectMs, () => socket.destroy(new Error('no connection in time')))
    try {
      await once(socket, tls ? 'secureConnect' : 'connect')
    } finally {
      giveUp()
    }
    if (!this.isClosed) return this.addConnection(socket, key)
    socket.destroy()
    throw new Error('closed')
  }
}

/** Listens, and connects to others. @throws Error when the port is in use or the certificate is invalid */
export const openTcp = async (
  settings: TcpSettings,
  receiver: TransportReceiver,
  timers: Timers,
): Promise<TcpListener> => {
  const { tls } = settings
  const server = tls ? createTlsServer({ key: tls.key, cert: tls.cert, handshakeTimeout: 10_000 }) : createServer()
  server.listen(settings.port, settings.address)
  await once(server, 'listening')
  server.on('error', () => {})
  return new TcpTransport(server, settings, receiver, timers)
}
