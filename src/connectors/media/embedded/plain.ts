import type { RemoteInfo, Socket } from 'node:dgram'
import type { AudioDescription } from '../../../lib/sdp.ts'
import { isRtcp } from '../codec/rtp.ts'
import type { Peer } from './ice.ts'
import { addressOf, type Line, type LineEvents, type Place } from './line.ts'
import type { Ports } from './ports.ts'

/** How many unexpected addresses are reported for a leg: a flood of them must not fill its call's timeline. */
const mostStrangers = 4

/** An IPv4 address as a socket of IPv4 shows it. */
const unmapped = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/**
 * RTP and RTCP by plain UDP towards a carrier. Packets are taken from the first port that sends from the address of the description, or
 * from the one that the signalling comes from (a peer behind a NAT names an address of its own net): no other host can put sound into a
 * call, nor draw it away. It holds until the peer describes itself anew.
 */
class Plain implements Line {
  private readonly rtp: Socket
  private readonly rtcp: Socket
  private readonly place: Place
  private source: string | null
  private readonly events: LineEvents
  private described: AudioDescription | null = null
  private latched: Peer | null = null
  private isClosed = false
  private readonly strangers = new Set<string>()
  dropped = 0

  constructor(sockets: readonly [Socket, Socket], place: Place, source: string | null, events: LineEvents) {
    this.rtp = sockets[0]
    this.rtcp = sockets[1]
    this.place = place
    this.source = source && unmapped(source)
    this.events = events
    this.rtp.on('message', (packet, from) => this.receive(packet, from))
    this.rtcp.on('message', (packet, from) => this.isPeers(from) && events.rtcp(packet))
    for (const socket of sockets) socket.on('error', (error) => events.failed(`its socket: ${error.message}`))
  }

  get local(): string {
    return addressOf({ address: this.place.advertised, port: this.rtp.address().port })
  }

  get remote(): string | null {
    const to = this.latched ?? this.described
    return to && addressOf(to)
  }

  own() {
    const isMuxed = this.described?.isMuxed ?? false
    return {
      address: this.place.advertised,
      port: this.rtp.address().port,
      rtcpPort: this.rtcp.address().port,
      isMuxed,
      security: null,
    }
  }

  setRemote(description: AudioDescription, source: string | null = null): void {
    if (source !== null) this.source = unmapped(source)
    const isSame = this.described?.address === description.address && this.described.port === description.port
    this.described = description
    if (!isSame) this.latched = null
  }

  send(packet: Buffer): void {
    const to = this.latched ?? this.described
    if (to && !this.isClosed) this.rtp.send(packet, to.port, to.address)
  }

  sendRtcp(packet: Buffer): void {
    if (!this.described || this.isClosed) return
    if (this.described.isMuxed) {
      this.send(packet)
      return
    }
    const isMoved = this.latched && this.latched.port !== this.described.port
    const port = !isMoved ? this.described.rtcpPort : (this.latched?.port ?? 0) + 1
    if (port > 0 && port < 65_536) this.rtcp.send(packet, port, (this.latched ?? this.described).address)
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.rtp.close()
    this.rtcp.close()
  }

  private isPeers({ address }: RemoteInfo): boolean {
    if (!this.described) return false
    return this.latched
      ? this.latched.address === address
      : address === this.described.address || address === this.source
  }

  /** The described port itself comes before any other of its host, whenever it speaks up. */
  private isAsDescribed({ address, port }: RemoteInfo): boolean {
    return this.described?.address === address && this.described.port === port
  }

  private receive(packet: Buffer, from: RemoteInfo): void {
    // Version 2 (RFC 3550, 5.1): anything else is no media, and latches nothing.
    if ((packet[0] ?? 0) >> 6 !== 2) return
    if (!this.isPeers(from)) {
      this.drop(from)
      return
    }
    if (!this.latched) this.events.connected()
    if (!this.latched || this.isAsDescribed(from)) this.latched = { address: from.address, port: from.port }
    if (from.port !== this.latched.port) {
      this.drop(from)
      return
    }
    if (isRtcp(packet)) this.events.rtcp(packet)
    else this.events.rtp(packet)
  }

  /** Counts a packet, and reports its address once. Before the peer has described itself, early packets are no surprise. */
  private drop(from: RemoteInfo): void {
    this.dropped++
    const name = addressOf(from)
    if (!this.described || this.strangers.size >= mostStrangers || this.strangers.has(name)) return
    this.strangers.add(name)
    const { address, port } = this.described
    const others = this.source === null || this.source === address ? '' : ` or ${this.source}`
    this.events.dropped(name, this.latched ? addressOf(this.latched) : `${addressOf({ address, port })}${others}`)
  }
}

/** @throws Error when no port is free */
export const openPlain = async (ports: Ports, place: Place, source: string | null, events: LineEvents): Promise<Line> =>
  new Plain(await ports.pair(), place, source, events)
