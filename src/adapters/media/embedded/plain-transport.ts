import type { RemoteInfo, Socket } from 'node:dgram'
import { isRtcp } from '@trunkline/rtp/rtp.ts'
import { Sdes } from '@trunkline/rtp/sdes.ts'
import type { AudioDescription } from '@trunkline/rtp/sdp.ts'
import type { MediaSrtp } from '../../../ports/media.ts'
import { maxReportedAddresses, relearnAfterMs } from '../limits.ts'
import type { Peer } from './ice.ts'
import { formatAddress, type Transport, type TransportAddresses, type TransportEvents } from './transport.ts'
import type { UdpPorts } from './udp-ports.ts'

type PlainTransportOptions = { readonly source: string | null; readonly srtp: MediaSrtp }

/** Converts an IPv4-mapped IPv6 address to IPv4. */
const unmapped = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/**
 * RTP and RTCP over plain UDP towards a carrier. Accepts the first port that sends from the address of the description
 * or of the signalling: a peer behind a NAT names an address of its own network. Other hosts can neither inject audio
 * nor divert it. The choice holds until the peer sends another description, or its address is silent and the peer sends
 * from another one of those.
 */
class PlainTransport implements Transport {
  private readonly rtp: Socket
  private readonly rtcp: Socket
  private readonly place: TransportAddresses
  private source: string | null
  /** Null if SRTP is disabled. */
  private readonly sdes: Sdes | null
  private readonly events: TransportEvents
  private described: AudioDescription | null = null
  private latched: Peer | null = null
  /** Time of the last packet of `latched`, by the monotonic clock. */
  private heardAt = 0
  private isClosed = false
  private readonly reported = new Set<string>()
  dropped = 0

  constructor(
    sockets: readonly [Socket, Socket],
    place: TransportAddresses,
    { source, srtp }: PlainTransportOptions,
    events: TransportEvents,
  ) {
    this.sdes = srtp === 'never' ? null : new Sdes()
    this.rtp = sockets[0]
    this.rtcp = sockets[1]
    this.place = place
    this.source = source && unmapped(source)
    this.events = events
    this.rtp.on('message', (packet, from) => this.receive(packet, from))
    this.rtcp.on('message', (packet, from) => this.isPeers(from) && this.takeRtcp(packet))
    for (const socket of sockets) socket.on('error', (error) => events.failed(`socket error: ${error.message}`))
  }

  get local(): string {
    return formatAddress({ address: this.place.advertised, port: this.rtp.address().port })
  }

  get remote(): string | null {
    const to = this.latched ?? this.described
    return to && formatAddress(to)
  }

  describe() {
    const isMuxed = this.described?.isMuxed ?? false
    return {
      address: this.place.advertised,
      port: this.rtp.address().port,
      rtcpPort: this.rtcp.address().port,
      isMuxed,
      security: null,
      crypto: this.sdes?.ourKey() ?? null,
    }
  }

  setRemote(description: AudioDescription, source: string | null = null): void {
    if (source !== null) this.source = unmapped(source)
    const isSame = this.described?.address === description.address && this.described.port === description.port
    this.described = description
    // After a hold the peer may begin late.
    this.heardAt = performance.now()
    this.sdes?.setRemote(description)
    if (!isSame) this.latched = null
  }

  send(packet: Buffer): void {
    const sealed = this.sdes?.isOn ? this.sdes.encrypt(packet) : packet
    if (sealed) this.toPeer(sealed)
  }

  sendRtcp(report: Buffer): void {
    if (!this.described || this.isClosed) return
    const packet = this.sdes?.isOn ? this.sdes.encryptRtcp(report) : report
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
    const open = this.sdes?.isOn ? this.sdes.decryptRtcp(packet) : packet
    if (open) this.events.rtcp(open)
  }

  private isExpected({ address }: RemoteInfo): boolean {
    return address === this.described?.address || address === this.source
  }

  private isPeers(from: RemoteInfo): boolean {
    if (this.latched && !this.hasMoved) return this.latched.address === from.address
    return this.isExpected(from)
  }

  /** The peer may have moved: it sends media, and nothing comes from the chosen address. */
  private get hasMoved(): boolean {
    const isSending = this.described?.direction === 'sendrecv' || this.described?.direction === 'sendonly'
    return isSending && performance.now() - this.heardAt >= relearnAfterMs
  }

  /** The described port takes precedence over other ports of its host, whenever it starts to send. */
  private isAsDescribed({ address, port }: RemoteInfo): boolean {
    return this.described?.address === address && this.described.port === port
  }

  private receive(datagram: Buffer, from: RemoteInfo): void {
    let packet = datagram
    // Version 2 (RFC 3550, 5.1): other packets are not media, and latch nothing.
    if ((packet[0] ?? 0) >> 6 !== 2) return
    if (!this.isPeers(from)) {
      this.drop(from)
      return
    }
    const isControl = isRtcp(packet)
    if (this.sdes?.isOn) {
      // Packets not signed by the peer's key latch nothing.
      const open = isControl ? this.sdes.decryptRtcp(packet) : this.sdes.decrypt(packet)
      if (!open) {
        this.dropped++
        return
      }
      packet = open
    }
    if (!this.latched) this.events.connected()
    if (!this.latched || this.isAsDescribed(from) || this.hasMoved)
      this.latched = { address: from.address, port: from.port }
    if (from.port !== this.latched.port) {
      this.drop(from)
      return
    }
    this.heardAt = performance.now()
    if (isControl) this.events.rtcp(packet)
    else this.events.rtp(packet)
  }

  /** Counts a packet and reports its address once. Packets before the peer's description are expected. */
  private drop(from: RemoteInfo): void {
    if (!this.described) return
    this.dropped++
    const name = formatAddress(from)
    if (this.reported.size >= maxReportedAddresses || this.reported.has(name)) return
    this.reported.add(name)
    const { address, port } = this.described
    const others = this.source === null || this.source === address ? '' : ` or ${this.source}`
    this.events.dropped(
      name,
      this.latched ? formatAddress(this.latched) : `${formatAddress({ address, port })}${others}`,
    )
  }
}

/** @throws Error if no port is free */
export const openPlainTransport = async (
  ports: UdpPorts,
  place: TransportAddresses,
  options: PlainTransportOptions,
  events: TransportEvents,
): Promise<Transport> => new PlainTransport(await ports.openPair(), place, options, events)
