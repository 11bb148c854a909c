import type { RemoteInfo, Socket } from 'node:dgram'
import type { AudioDescription, Security } from '../../../lib/sdp.ts'
import { isRtcp } from '../codec/rtp.ts'
import { isStun } from '../codec/stun.ts'
import { Handshake } from './handshake.ts'
import { Ice, type Peer } from './ice.ts'
import { addressOf, type Line, type LineEvents, type Place } from './line.ts'
import type { Ports } from './ports.ts'

/** RTP and RTCP by one port with ICE and DTLS-SRTP (RFC 8827) towards a browser. */
class Browser implements Line {
  private readonly socket: Socket
  private readonly place: Place
  private readonly events: LineEvents
  private readonly ice = new Ice()
  private readonly handshake: Handshake
  /** Ours, as the last description said. */
  private setup: Security['setup'] = 'actpass'
  private isClosed = false

  constructor(socket: Socket, place: Place, events: LineEvents) {
    this.socket = socket
    this.place = place
    this.events = events
    this.handshake = new Handshake({
      send: (packet) => this.toPeer(packet),
      connected: () => events.connected(),
      failed: (reason) => events.failed(reason),
    })
    socket.on('message', (packet, from) => this.receive(packet, from))
    socket.on('error', (error) => events.failed(`its socket: ${error.message}`))
  }

  get local(): string {
    return addressOf({ address: this.place.advertised, port: this.socket.address().port })
  }

  /** What ICE does not know is no packet of a peer's (RFC 8445, 12.2). */
  readonly dropped = 0

  get remote(): string | null {
    return this.ice.selected && addressOf(this.ice.selected)
  }

  own() {
    const { port } = this.socket.address()
    const security = { ...this.ice.local, fingerprint: this.handshake.fingerprint, setup: this.setup }
    return { address: this.place.advertised, port, rtcpPort: port, isMuxed: true, security }
  }

  setRemote({ security }: AudioDescription): void {
    if (!security) return
    this.ice.setRemote(security.ufrag)
    // We wait for the peer's hello unless it insists on waiting for ours (RFC 8842, 5.3).
    this.setup = security.setup === 'passive' ? 'active' : 'passive'
    this.handshake.expect(security.fingerprints, this.setup === 'active' ? 'client' : 'server')
    if (this.ice.selected) this.handshake.begin()
  }

  send(packet: Buffer): void {
    const sealed = this.handshake.seal(packet)
    if (sealed) this.toPeer(sealed)
  }

  sendRtcp(packet: Buffer): void {
    const sealed = this.handshake.sealRtcp(packet)
    if (sealed) this.toPeer(sealed)
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.handshake.close()
    this.socket.close()
  }

  private toPeer(packet: Buffer): void {
    const to: Peer | null = this.ice.selected
    if (to && !this.isClosed) this.socket.send(packet, to.port, to.address)
  }

  /** What it is tells its first octet (RFC 7983, 7). */
  private receive(packet: Buffer, from: RemoteInfo): void {
    if (isStun(packet)) {
      const before = this.ice.selected
      const answer = this.ice.answer(packet, from)
      if (answer) this.socket.send(answer, from.port, from.address)
      if (!before && this.ice.selected) this.handshake.begin()
      return
    }
    if (!this.ice.knows(from)) return
    const first = packet[0] ?? 0
    if (first >= 20 && first <= 63) this.handshake.take(packet)
    if (first < 128 || first > 191) return
    const isControl = isRtcp(packet)
    const open = isControl ? this.handshake.openRtcp(packet) : this.handshake.open(packet)
    if (!open) return
    if (isControl) this.events.rtcp(open)
    else this.events.rtp(open)
  }
}

/** @throws Error when no port is free */
export const openBrowser = async (ports: Ports, place: Place, events: LineEvents): Promise<Line> =>
  new Browser(await ports.one(), place, events)
