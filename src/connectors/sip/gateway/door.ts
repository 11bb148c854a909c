import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { largest } from '../codec/parse.ts'
import type { Timers } from '../codec/timers.ts'
import type { Flow } from '../codec/transport/flow.ts'
import type { WebSockets } from '../codec/transport/websocket.ts'
import { returnMs } from './parts.ts'

/** Codes with which we close a browser's connection. */
const closeCodes = { replaced: 4001, expired: 4002, suspended: 4003 } as const

export type DoorSettings = {
  readonly transport: WebSockets
  readonly timers: Timers
  readonly mostBrowsers: number
  /** True while somebody is registered over it, or a call goes over it. */
  isUsed(flow: Flow): boolean
  hasCalls(flow: Flow): boolean
}

type Guest = {
  readonly flow: Flow
  readonly socket: WebSocket
  isAlive: boolean
  /** Since when nobody has used it; null while somebody does. */
  idleSince: number | null
  farewell: keyof typeof closeCodes | null
}

/** Proxies in between close what is silent for a minute. */
const pingMs = 25_000

/** Connections of one address over which nobody has registered yet: an office comes back after a restart at once. */
const mostNewcomers = 200

const ownNetwork = /^(::ffff:)?(127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)|^(::1$|f[cd])/i

/** Who asks. Of a proxy in our own network, what that proxy has seen: the last of X-Forwarded-For. */
const askerOf = ({ socket, headers }: IncomingMessage): string => {
  const address = socket.remoteAddress ?? ''
  const forwarded = [headers['x-forwarded-for'] ?? ''].flat().join(',').split(',').at(-1)?.trim()
  return forwarded && ownNetwork.test(address) ? forwarded : address
}

const refuse = (socket: Duplex, status: string): void => {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}

/** The browsers' connections (RFC 7118): lets them in, sees whether they live, and sends away who has no business here. */
export class Door {
  private readonly settings: DoorSettings
  private readonly server = new WebSocketServer({
    noServer: true,
    maxPayload: largest,
    perMessageDeflate: false,
    handleProtocols: () => 'sip',
  })
  private readonly guests = new Map<string, Guest>()
  /** Over whose connection nobody has registered yet, by address. */
  private readonly newcomers = new Map<string, Set<Guest>>()
  private stopRound = () => {}

  constructor(settings: DoorSettings) {
    this.settings = settings
    this.round()
  }

  async open(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
    if (!offered.includes('sip')) refuse(socket, '400 Bad Request')
    else if (this.guests.size >= this.settings.mostBrowsers) refuse(socket, '503 Service Unavailable')
    else if (this.newcomersOf(askerOf(request)) >= mostNewcomers) refuse(socket, '429 Too Many Requests')
    else this.server.handleUpgrade(request, socket, head, (opened) => this.welcome(opened, request))
  }

  /** Sends it away once its calls have ended. */
  dismiss(flow: Flow, why: keyof typeof closeCodes): void {
    const guest = this.guests.get(flow.id)
    if (!guest) return
    guest.farewell = why
    this.look(flow)
  }

  /** A call over it has ended. */
  look(flow: Flow): void {
    const guest = this.guests.get(flow.id)
    if (!guest?.farewell || this.settings.hasCalls(flow)) return
    // It registered anew while its last call went on.
    if (this.settings.isUsed(flow)) guest.farewell = null
    else guest.socket.close(closeCodes[guest.farewell], guest.farewell)
  }

  close(): void {
    this.stopRound()
    for (const { socket } of this.guests.values()) socket.close(1001, 'the server stops')
    this.server.close()
  }

  private newcomersOf(asker: string): number {
    const found = this.newcomers.get(asker) ?? new Set()
    for (const guest of found) if (this.settings.isUsed(guest.flow)) found.delete(guest)
    if (found.size === 0) this.newcomers.delete(asker)
    return found.size
  }

  private welcome(socket: WebSocket, request: IncomingMessage): void {
    const { socket: under } = request
    const flow = this.settings.transport.attach(socket, under.remoteAddress ?? '', under.remotePort ?? 0)
    const guest: Guest = {
      ...{ flow, socket, isAlive: true, farewell: null },
      idleSince: this.settings.timers.now(),
    }
    this.guests.set(flow.id, guest)
    socket.on('pong', () => {
      guest.isAlive = true
    })
    const asker = askerOf(request)
    const newcomers = this.newcomers.get(asker) ?? new Set()
    this.newcomers.set(asker, newcomers.add(guest))
    socket.on('close', () => {
      this.guests.delete(flow.id)
      this.newcomers.get(asker)?.delete(guest)
      this.newcomersOf(asker)
    })
  }

  private round(): void {
    for (const guest of this.guests.values()) this.visit(guest)
    this.stopRound = this.settings.timers.after(pingMs, () => this.round())
  }

  private visit(guest: Guest): void {
    const { timers, isUsed } = this.settings
    const now = timers.now()
    if (isUsed(guest.flow)) guest.idleSince = null
    else guest.idleSince ??= now
    if (!guest.isAlive) guest.socket.terminate()
    else if (guest.idleSince !== null && now - guest.idleSince >= returnMs)
      guest.socket.close(1000, 'nobody registered')
    else {
      guest.isAlive = false
      guest.socket.ping()
    }
  }
}
