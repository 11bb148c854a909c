import type { RemoteInfo, Socket } from 'node:dgram'
import type { AudioDescription } from '../../../lib/sdp.ts'
import type { MediaSrtp } from '../../port.ts'
import { isRtcp } from '../codec/rtp.ts'
import type { Peer } from './ice.ts'
import { addressOf, type Line, type LineEvents, type Place } from './line.ts'
import type { Ports } from './ports.ts'
import { Sdes } from './sdes.ts'

type PlainWish = { readonly source: string | null; readonly srtp: MediaSrtp }

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
  /** Null where SRTP is never spoken. */
  private readonly sdes: Sdes | null
  private readonly events: LineEvents
  private described: AudioDescription | null = null
  private latched: Peer | null = null
  private isClosed = false
  private readonly strangers = new Set<string>()
  dropped = 0

  constructor(sockets: readonly [Socket, Socket], place: Place, { source, srtp }: PlainWish, events: LineEvents) {
    this.sdes = srtp === 'never' ? null : new Sdes()
    this.rtp = sockets[0]
    this.rtcp = sockets[1]
    this.place = place
    this.source = source && unmapped(source)
    this.events = events
    this.rtp.on('message', (packet, from) => this.receive(packet, from))
    this.rtcp.on('message', (packet, from) => this.isPeers(from) && this.takeRtcp(packet))
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
      crypto: this.sdes?.own() ?? null,
    }
  }

  setRemote(description: AudioDescription, source: string | null = null): void {
    if (source !== null) this.source = unmapped(source)
    const isSame = this.described?.address === description.address && this.described.port === description.port
    this.described = description
    this.sdes?.setRemote(description)
    if (!isSame) this.latched = null
  }

  send(packet: Buffer): void {
    const sealed = this.sdes?.isOn ? this.sdes.seal(packet) : packet
    if (sealed) this.toPeer(sealed)
  }

  sendRtcp(report: Buffer): void {
    if (!this.described || this.isClosed) return
    const packet = this.sdes?.isOn ? this.sdes.sealRtcp(report) : report
    if (this.described.isMuxed) {
      this.toPeer(packet)
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

  private toPeer(packet: Buffer): void {
    const to = this.latched ?? this.described
    if (to && !this.isClosed) this.rtp.send(packet, to.port, to.address)
  }

  private takeRtcp(packet: Buffer): void {
    const open = this.sdes?.isOn ? this.sdes.openRtcp(packet) : packet
    if (open) this.events.rtcp(open)
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

  private receive(datagram: Buffer, from: RemoteInfo): void {
    let packet = datagram
    // Version 2 (RFC 3550, 5.1): anything else is no media, and latches nothing.
    if ((packet[0] ?? 0) >> 6 !== 2) return
    if (!this.isPeers(from)) {
      this.drop(from)
      return
    }
    const isControl = isRtcp(packet)
    if (this.sdes?.isOn) {
      // What the peer's key did not sign latches nothing.
      const open = isControl ? this.sdes.openRtcp(packet) : this.sdes.open(packet)
      if (!open) {
        this.dropped++
        return
      }
      packet = open
    }
    if (!this.latched) this.events.connected()
    if (!this.latched || this.isAsDescribed(from)) this.latched = { address: from.address, port: from.port }
    if (from.port !== this.latched.port) {
      this.drop(from)
      return
    }
    if (isControl) this.events.rtcp(packet)
    else this.events.rtp(packet)
  }

  /** Counts a packet, and reports its address once. Before the peer has described itself, early packets are no surprise. */
  private drop(from: RemoteInfo): void {
    if (!this.described) return
    this.dropped++
    const name = addressOf(from)
    if (this.strangers.size >= mostStrangers || this.strangers.has(name)) return
    this.strangers.add(name)
    const { address, port } = this.described
    const others = this.source === null || this.source === address ? '' : ` or ${this.source}`
    this.events.dropped(name, this.latched ? addressOf(this.latched) : `${addressOf({ address, port })}${others}`)
  }
}

/** @throws Error when no port is free */
export const openPlain = async (ports: Ports, place: Place, wish: PlainWish, events: LineEvents): Promise<Line> =>
  new Plain(await ports.pair(), place, wish, events)
