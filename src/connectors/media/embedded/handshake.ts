import { createHash, timingSafeEqual } from 'node:crypto'
import { DtlsClient, DtlsServer, RTCDtlsTransport, type Transport } from 'werift'
import type { Security } from '../../../lib/sdp.ts'
import { Flights, holdsKey } from './flights.ts'
import { Opener, Sealer } from './srtp.ts'

/** AES-128 in counter mode with HMAC-SHA1 (RFC 5764, 4.1.2): every browser has it. GCM needs an object of Node's for each packet: 4.3 µs. */
const profile = 1
const keyBytes = 16
const saltBytes = 14

/** One for the life of the process, as browsers make one a page. */
export const certificate = await RTCDtlsTransport.SetupCertificate()
const fingerprint = certificate.getFingerprints()[0]?.value ?? ''

const deadlineMs = 30_000

/** Gives a server its peer's messages one by one, in their order. */
const order = (dtls: DtlsServer): void => {
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

type HandshakeEvents = {
  send(packet: Buffer): void
  connected(): void
  failed(reason: string): void
}

const hashes = new Map<string, string>(
  Object.entries({ 'sha-256': 'sha256', 'sha-384': 'sha384', 'sha-512': 'sha512' }),
)

/** DTLS to agree upon keys, which is werift's, and SRTP with them. */
export class Handshake {
  readonly fingerprint = fingerprint
  private readonly events: HandshakeEvents
  private readonly transport: Transport
  private expected: Security['fingerprints'] = []
  private dtls: DtlsServer | DtlsClient | null = null
  private role: 'client' | 'server' = 'server'
  private hasBegun = false
  private sealer: Sealer | null = null
  private opener: Opener | null = null
  private deadline: NodeJS.Timeout | undefined
  private lastError = 'the peer says nothing'
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

  /** The certificate that the signalling vouches for; taking another one later is not possible. */
  expect(fingerprints: Security['fingerprints'], role: 'client' | 'server'): void {
    this.expected = fingerprints
    if (!this.dtls) this.role = role
  }

  /** There is a way to the peer. */
  begin(): void {
    if (this.hasBegun || this.isClosed || this.expected.length === 0) return
    this.hasBegun = true
    const dtls = this.make()
    if (dtls instanceof DtlsClient)
      dtls.connect().catch((error: unknown) => {
        this.lastError = String(error)
      })
  }

  /** A DTLS record. A browser may greet before its answer has come by the signalling: it greets again. */
  take(packet: Buffer): void {
    if (this.isClosed || this.expected.length === 0) return
    this.begin()
    try {
      this.transport.onData(packet, ['', 0])
    } catch {
      // Not a record: werift reads lengths on trust.
    }
  }

  /** Null before there are keys. */
  seal(packet: Buffer): Buffer | null {
    return this.sealer?.seal(packet) ?? null
  }

  sealRtcp(packet: Buffer): Buffer | null {
    return this.sealer?.sealRtcp(packet) ?? null
  }

  /** Null for what was not sealed by the peer, or came before; the packet is decrypted where it is. */
  open(packet: Buffer): Buffer | null {
    return this.opener?.open(packet) ?? null
  }

  openRtcp(packet: Buffer): Buffer | null {
    return this.opener?.openRtcp(packet) ?? null
  }

  close(): void {
    this.isClosed = true
    clearTimeout(this.deadline)
    this.transport.onData = () => undefined
    this.sealer = null
    this.opener = null
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
    if (dtls instanceof DtlsServer) order(dtls)
    dtls.onConnect.once(() => this.agree(dtls))
    // A lost or broken datagram is no reason to give up: the browser sends it again.
    dtls.onError.subscribe((error) => {
      this.lastError = String(error)
    })
    this.deadline = setTimeout(
      () => this.fail(`DTLS: no keys after ${deadlineMs / 1_000} s: ${this.lastError}`),
      deadlineMs,
    )
    this.dtls = dtls
    return dtls
  }

  private agree(dtls: DtlsServer | DtlsClient): void {
    if (this.isClosed || this.sealer) return
    const { remoteCertificate } = dtls
    const fault = !this.isVouchedFor(remoteCertificate)
      ? 'the certificate is not the one that was described'
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
    this.sealer = new Sealer({ key: localKey, salt: localSalt })
    this.opener = new Opener({ key: remoteKey, salt: remoteSalt })
    clearTimeout(this.deadline)
    this.events.connected()
  }

  /** RFC 8122, 5: one fingerprint of a hash that we know suffices. */
  private isVouchedFor(certificate: Buffer | undefined): boolean {
    if (!certificate) return false
    return this.expected.some(({ algorithm, value }) => {
      const hash = hashes.get(algorithm)
      if (!hash) return false
      const digest = createHash(hash).update(certificate).digest()
      const wanted = Buffer.from(value.replaceAll(':', ''), 'hex')
      return wanted.length === digest.length && timingSafeEqual(wanted, digest)
    })
  }

  private fail(reason: string): void {
    if (this.isClosed || this.sealer) return
    this.events.failed(reason)
  }
}
