import { createHash, timingSafeEqual } from 'node:crypto'
import type { Security } from '@trunkline/rtp/sdp.ts'
import { SrtpDecryptor, SrtpEncryptor } from '@trunkline/rtp/srtp.ts'
import { DtlsClient, DtlsServer, RTCDtlsTransport, type Transport } from 'werift'
import { handshakeTimeoutMs, maxDtlsDatagramBytes, maxMessagesOfType, maxServerFragments } from '../limits.ts'
import { Flights, holdsKey } from './flights.ts'

/** AES-128 in counter mode with HMAC-SHA1 (RFC 5764, 4.1.2), which every browser supports. GCM would need a Node object
 *  per packet: 4.3 µs. */
const profile = 1
const keyBytes = 16
const saltBytes = 14

/** Certificate for the life of the process. */
export const certificate = await RTCDtlsTransport.SetupCertificate()
const fingerprint = certificate.getFingerprints()[0]?.value ?? ''

/** Makes a server process its peer's messages one by one, in order. */
const reorderFlights = (dtls: DtlsServer): void => {
  const flights = new Flights()
  dtls.handleFragmentHandshake = (fragments) => {
    for (const fragment of fragments)
      for (const { type, seq, body } of flights.take(fragment)) {
        const whole: typeof fragment = Object.create(Object.getPrototypeOf(fragment))
        const fields = { msg_type: type, message_seq: seq, fragment_offset: 0, fragment: body }
        Object.assign(whole, { ...fields, length: body.length, fragment_length: body.length })
        dtls.onHandleHandshakes([whole]).catch((error: unknown) => dtls.onError.execute(new Error(String(error))))
      }
    return []
  }
}

/** Bounds the work and the memory that a peer causes: werift processes every repetition, and keeps every fragment. */
const limitMessages = (dtls: DtlsServer | DtlsClient): void => {
  const counts = new Map<number, number>()
  const process = dtls.onHandleHandshakes
  dtls.onHandleHandshakes = (messages) =>
    process(
      messages.filter(({ msg_type: type }) => {
        const count = (counts.get(type) ?? 0) + 1
        counts.set(type, count)
        return count <= maxMessagesOfType
      }),
    )
  if (dtls instanceof DtlsServer) return
  const assemble = dtls.handleFragmentHandshake.bind(dtls)
  let fragments = 0
  dtls.handleFragmentHandshake = (messages) =>
    assemble(messages.filter((one) => one.fragment_length === one.length || ++fragments <= maxServerFragments))
}

/** A flight that no handshake has: werift stops its retransmissions once the peer has reached their successor. */
const lastFlight = 99

type HandshakeEvents = {
  send(packet: Buffer): void
  connected(): void
  failed(reason: string): void
}

const hashes = new Map<string, string>(
  Object.entries({ 'sha-256': 'sha256', 'sha-384': 'sha384', 'sha-512': 'sha512' }),
)

/** DTLS handshake (by werift), and SRTP with its keys. */
export class DtlsHandshake {
  readonly fingerprint = fingerprint
  private readonly events: HandshakeEvents
  private readonly transport: Transport
  private expected: Security['fingerprints'] = []
  private dtls: DtlsServer | DtlsClient | null = null
  private role: 'client' | 'server' = 'server'
  private hasBegun = false
  private encryptor: SrtpEncryptor | null = null
  private decryptor: SrtpDecryptor | null = null
  private deadline: NodeJS.Timeout | undefined
  private lastError = 'the peer does not answer'
  private isClosed = false

  constructor(events: HandshakeEvents) {
    this.events = events
    this.transport = {
      type: 'udp',
      address: { address: '', family: 'IPv4', port: 0 },
      onData: () => undefined,
      send: async (packet) => events.send(packet),
      close: async () => undefined,
      closed: false,
    }
  }

  /** Sets the expected certificate from the signalling. The role is fixed once the handshake has started. */
  expectCertificate(fingerprints: Security['fingerprints'], role: 'client' | 'server'): void {
    this.expected = fingerprints
    if (!this.dtls) this.role = role
  }

  /** Starts the handshake, once the peer is reachable. */
  begin(): void {
    if (this.hasBegun || this.isClosed || this.expected.length === 0) return
    this.hasBegun = true
    const dtls = this.make()
    if (dtls instanceof DtlsClient)
      dtls.connect().catch((error: unknown) => {
        this.lastError = String(error)
      })
  }

  /** Processes a DTLS record. A ClientHello before the browser's answer is ignored; the browser repeats it. */
  receive(packet: Buffer): void {
    if (this.isClosed || this.expected.length === 0 || packet.length > maxDtlsDatagramBytes) return
    this.begin()
    try {
      this.transport.onData(packet, ['', 0])
    } catch {
      // Not a valid record: werift does not check lengths.
    }
  }

  /** Returns null before keys exist. */
  encrypt(packet: Buffer): Buffer | null {
    return this.encryptor?.encrypt(packet) ?? null
  }

  encryptRtcp(packet: Buffer): Buffer | null {
    return this.encryptor?.encryptRtcp(packet) ?? null
  }

  /** Decrypts in place. Returns null for packets that the peer did not sign, and for duplicates. */
  decrypt(packet: Buffer): Buffer | null {
    return this.decryptor?.decrypt(packet) ?? null
  }

  decryptRtcp(packet: Buffer): Buffer | null {
    return this.decryptor?.decryptRtcp(packet) ?? null
  }

  close(): void {
    this.isClosed = true
    clearTimeout(this.deadline)
    this.transport.onData = () => undefined
    this.encryptor = null
    this.decryptor = null
    if (this.dtls) this.dtls.dtls.flight = lastFlight
  }

  private make(): DtlsServer | DtlsClient {
    const options = {
      cert: certificate.certPem,
      key: certificate.privateKey,
      signatureHash: certificate.signatureHash,
      transport: this.transport,
      srtpProfiles: [profile] satisfies [1],
      extendedMasterSecret: true,
      certificateRequest: true,
    }
    const dtls = this.role === 'server' ? new DtlsServer(options) : new DtlsClient(options)
    limitMessages(dtls)
    if (dtls instanceof DtlsServer) reorderFlights(dtls)
    dtls.onConnect.once(() => this.agree(dtls))
    // A lost or broken datagram is not fatal: the browser retransmits.
    dtls.onError.subscribe((error) => {
      this.lastError = String(error)
    })
    this.deadline = setTimeout(
      () => this.fail(`DTLS: no keys after ${handshakeTimeoutMs / 1_000} s: ${this.lastError}`),
      handshakeTimeoutMs,
    )
    this.dtls = dtls
    return dtls
  }

  private agree(dtls: DtlsServer | DtlsClient): void {
    if (this.isClosed || this.encryptor) return
    const { remoteCertificate } = dtls
    const fault = !this.isVouchedFor(remoteCertificate)
      ? 'the certificate does not match the fingerprint of the session description'
      : dtls instanceof DtlsServer &&
          !(remoteCertificate && holdsKey(remoteCertificate, dtls.dtls.sortedHandshakeCache))
        ? 'the peer does not hold the key of its certificate'
        : dtls.srtp.srtpProfile !== profile
          ? 'no SRTP profile in common'
          : null
    if (fault) {
      this.fail(`DTLS: ${fault}`)
      return
    }
    const { localKey, localSalt, remoteKey, remoteSalt } = dtls.extractSessionKeys(keyBytes, saltBytes)
    this.encryptor = new SrtpEncryptor({ key: localKey, salt: localSalt })
    this.decryptor = new SrtpDecryptor({ key: remoteKey, salt: remoteSalt })
    clearTimeout(this.deadline)
    this.events.connected()
  }

  /** Checks the fingerprints: one match with a known hash suffices (RFC 8122, 5). */
  private isVouchedFor(certificate: Buffer | undefined): boolean {
    if (!certificate) return false
    return this.expected.some(({ algorithm, value }) => {
      const hash = hashes.get(algorithm)
      if (!hash) return false
      const digest = createHash(hash).update(certificate).digest()
      const expected = Buffer.from(value.replaceAll(':', ''), 'hex')
      return expected.length === digest.length && timingSafeEqual(expected, digest)
    })
  }

  private fail(reason: string): void {
    if (this.isClosed || this.encryptor) return
    this.events.failed(reason)
  }
}
