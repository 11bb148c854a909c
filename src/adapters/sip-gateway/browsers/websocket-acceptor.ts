import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { maxMessageLength } from '@trunkline/sip/parse.ts'
import type { Timers } from '@trunkline/sip/timers.ts'
import type { Flow } from '@trunkline/sip/transport/flow.ts'
import type { WebSocketTransport } from '@trunkline/sip/transport/websocket-transport.ts'
import { type WebSocket, WebSocketServer } from 'ws'
import { endSocket } from '../../../platform/lib/end-socket.ts'
import { browserPingMs, maxUnregistered, reconnectMs } from '../limits.ts'

/** Close codes that browsers receive. */
const closeCodes = { replaced: 4001, expired: 4002, suspended: 4003 } as const

export type WebSocketAcceptorSettings = {
  readonly transport: WebSocketTransport
  readonly timers: Timers
  readonly maxBrowsers: number
  /** True while a user is registered over the flow or a call uses it. */
  isUsed(flow: Flow): boolean
  hasCalls(flow: Flow): boolean
}

type Connection = {
  readonly flow: Flow
  readonly socket: WebSocket
  isAlive: boolean
  /** Since when it has been unused; null while it is in use. */
  idleSince: number | null
  closeReason: keyof typeof closeCodes | null
}

const refuse = (socket: Duplex, status: string): void => {
  endSocket(socket, `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}

/** Accepts the WebSocket connections of browsers (RFC 7118), checks that they are alive, and closes unused ones. */
export class WebSocketAcceptor {
  private readonly settings: WebSocketAcceptorSettings
  private readonly server = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageLength,
    perMessageDeflate: false,
    handleProtocols: () => 'sip',
  })
  private readonly connections = new Map<string, Connection>()
  /** Connections without a registration, by address. */
  private readonly unregistered = new Map<string, Set<Connection>>()
  private stopChecks = () => {}

  constructor(settings: WebSocketAcceptorSettings) {
    this.settings = settings
    this.checkAll()
  }

  /** @param address of the client, which may be behind a proxy */
  async accept(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): Promise<void> {
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
    if (!offered.includes('sip')) refuse(socket, '400 Bad Request')
    else if (this.connections.size >= this.settings.maxBrowsers) refuse(socket, '503 Service Unavailable')
    else if (this.unregisteredFrom(address) >= maxUnregistered) refuse(socket, '429 Too Many Requests')
    else this.server.handleUpgrade(request, socket, head, (opened) => this.addConnection(opened, request, address))
  }

  /** Closes the connection once its calls have ended. */
  closeWhenUnused(flow: Flow, why: keyof typeof closeCodes): void {
    const connection = this.connections.get(flow.id)
    if (!connection) return
    connection.closeReason = why
    this.closeIfDue(flow)
  }

  /** A call over the connection has ended: closes it if that is due. */
  closeIfDue(flow: Flow): void {
    const connection = this.connections.get(flow.id)
    if (!connection?.closeReason || this.settings.hasCalls(flow)) return
    // The user registered again during the last call.
    if (this.settings.isUsed(flow)) connection.closeReason = null
    else connection.socket.close(closeCodes[connection.closeReason], connection.closeReason)
  }

  close(): void {
    this.stopChecks()
    for (const { socket } of this.connections.values()) socket.close(1001, 'the server stops')
    this.server.close()
  }

  private unregisteredFrom(asker: string): number {
    const found = this.unregistered.get(asker) ?? new Set()
    for (const connection of found) if (this.settings.isUsed(connection.flow)) found.delete(connection)
    if (found.size === 0) this.unregistered.delete(asker)
    return found.size
  }

  private addConnection(socket: WebSocket, request: IncomingMessage, asker: string): void {
    const { socket: under } = request
    const flow = this.settings.transport.attach(socket, under.remoteAddress ?? '', under.remotePort ?? 0)
    const connection: Connection = {
      ...{ flow, socket, isAlive: true, closeReason: null },
      idleSince: this.settings.timers.now(),
    }
    this.connections.set(flow.id, connection)
    socket.on('pong', () => {
      connection.isAlive = true
    })
    const unregistered = this.unregistered.get(asker) ?? new Set()
    this.unregistered.set(asker, unregistered.add(connection))
    socket.on('close', () => {
      this.connections.delete(flow.id)
      this.unregistered.get(asker)?.delete(connection)
      this.unregisteredFrom(asker)
    })
  }

  private checkAll(): void {
    for (const connection of this.connections.values()) this.check(connection)
    this.stopChecks = this.settings.timers.after(browserPingMs, () => this.checkAll())
  }

  private check(connection: Connection): void {
    const { timers, isUsed } = this.settings
    const now = timers.now()
    if (isUsed(connection.flow)) connection.idleSince = null
    else connection.idleSince ??= now
    if (!connection.isAlive) connection.socket.terminate()
    else if (connection.idleSince !== null && now - connection.idleSince >= reconnectMs)
      connection.socket.close(1000, 'no user registered')
    else {
      connection.isAlive = false
      connection.socket.ping()
    }
  }
}
