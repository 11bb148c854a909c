import type { RemoteInfo, Socket } from 'node:dgram'
import { isRtcp } from '@trunkline/rtp/rtp.ts'
import type { AudioDescription, Security } from '@trunkline/rtp/sdp.ts'
import { isStun } from '@trunkline/rtp/stun.ts'
import { DtlsHandshake } from './dtls-handshake.ts'
import { Ice, type Peer } from './ice.ts'
import { type OwnSocket, openOwnSocket } from './own-addresses.ts'
import { formatAddress, type Transport, type TransportAddresses, type TransportEvents } from './transport.ts'
import type { UdpPorts } from './udp-ports.ts'

/** RTP and RTCP over one port with ICE and DTLS-SRTP (RFC 8827), towards a browser. */
class WebRtcTransport implements Transport {
  private readonly socket: Socket
  private readonly ownSocket: OwnSocket | null
  /** Socket of the nominated pair. */
  private selected: Socket
  private readonly place: TransportAddresses
  private readonly events: TransportEvents
  private readonly ice = new Ice()
  private readonly handshake: DtlsHandshake
  /** Our DTLS role in the last description. */
  private setup: Security['setup'] = 'actpass'
  private isClosed = false

  constructor(socket: Socket, further: OwnSocket | null, place: TransportAddresses, events: TransportEvents) {
    this.socket = socket
    this.ownSocket = further
    this.selected = socket
    this.place = place
    this.events = events
    this.handshake = new DtlsHandshake({
      send: (packet) => this.toPeer(packet),
      connected: () => events.connected(),
      failed: (reason) => events.failed(reason),
    })
    socket.on('message', (packet, from) => this.receive(packet, from, socket))
    socket.on('error', (error) => events.failed(`socket error: ${error.message}`))
    further?.receive((packet, from) => this.receive(packet, from, further.socket))
    // The network of that address has disappeared. The browser notices it and restarts ICE.
    further?.socket.on('error', () => {})
  }

  get local(): string {
    const { address, port } = this.selected.address()
    return formatAddress({ address: this.selected === this.socket ? this.place.advertised : address, port })
  }

  /** Packets from addresses unknown to ICE are ignored (RFC 8445, 12.2). */
  readonly dropped = 0

  get remote(): string | null {
    return this.ice.selected && formatAddress(this.ice.selected)
  }

  describe() {
    const { port } = this.socket.address()
    const address = this.place.advertised
    const candidates = [{ address, port }, ...(this.ownSocket ? [this.ownSocket.socket.address()] : [])]
    const security = { ...this.ice.local, fingerprint: this.handshake.fingerprint, setup: this.setup, candidates }
    return { address, port, rtcpPort: port, isMuxed: true, security }
  }

  setRemote({ security }: AudioDescription): void {
    if (!security) return
    this.ice.setRemote(security.ufrag)
    // We are the DTLS server unless the peer insists on that role (RFC 8842, 5.3).
    this.setup = security.setup === 'passive' ? 'active' : 'passive'
    this.handshake.expectCertificate(security.fingerprints, this.setup === 'active' ? 'client' : 'server')
    if (this.ice.selected) this.handshake.begin()
  }

  send(packet: Buffer): void {
    const sealed = this.handshake.encrypt(packet)
    if (sealed) this.toPeer(sealed)
  }

  sendRtcp(packet: Buffer): void {
    const sealed = this.handshake.encryptRtcp(packet)
    if (sealed) this.toPeer(sealed)
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.handshake.close()
    this.socket.close()
    this.ownSocket?.socket.close()
  }

  private toPeer(packet: Buffer): void {
    const to: Peer | null = this.ice.selected
    if (to && !this.isClosed) this.selected.send(packet, to.port, to.address)
  }

  /** Dispatches a datagram by its first octet (RFC 7983, 7). */
  private receive(packet: Buffer, from: RemoteInfo, socket: Socket): void {
    if (isStun(packet)) {
      const before = this.ice.selected
      const answer = this.ice.answer(packet, from)
      if (answer) {
        socket.send(answer, from.port, from.address)
        this.events.alive()
      }
      if (this.ice.selected !== before) this.selected = socket
      if (!before && this.ice.selected) this.handshake.begin()
      return
    }
    if (!this.ice.knows(from)) return
    const first = packet[0] ?? 0
    if (first >= 20 && first <= 63) this.handshake.receive(packet)
    if (first < 128 || first > 191) return
    const isControl = isRtcp(packet)
    const open = isControl ? this.handshake.decryptRtcp(packet) : this.handshake.decrypt(packet)
    if (!open) return
    if (isControl) this.events.rtcp(open)
    else this.events.rtp(open)
  }
}

/** @throws Error if no port is free */
export const openWebRtcTransport = async (
  ports: UdpPorts,
  place: TransportAddresses,
  events: TransportEvents,
): Promise<Transport> =>
  new WebRtcTransport(await ports.openOne(), place.offersOwnAddress ? await openOwnSocket() : null, place, events)
