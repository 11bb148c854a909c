import { randomBytes } from 'node:crypto'
import type { RemoteInfo } from 'node:dgram'
import { isRtcp, writeRtp } from '../src/connectors/media/codec/rtp.ts'
import { isStun, readBinding, writeCheck, writeSuccess } from '../src/connectors/media/codec/stun.ts'
import { Handshake } from '../src/connectors/media/embedded/handshake.ts'
import { Ports } from '../src/connectors/media/embedded/ports.ts'
import { readAudio } from '../src/lib/sdp.ts'

/** The other end of a leg, that says G.711 and counts what it hears. It takes little, so that a hundred calls have room beside the engine. */
export type VoicePeer = {
  offer(): string
  answer(offer: string): string
  accept(answer: string): void
  /** A packet every 20 ms from now on. */
  say(): void
  hush(): void
  /** What went out: a browser's says nothing before it has keys. */
  readonly sent: number
  /** What could be opened. */
  readonly received: number
  close(): void
}

/** How packets go, and how they come: as they are, or sealed. */
type Way = {
  readonly lines: readonly string[]
  take(packet: Buffer, from: RemoteInfo): Buffer | null
  give(packet: Buffer): Buffer | null
  begin(description: ReturnType<typeof describedBy>): void
  close(): void
}

const host = '127.0.0.1'
const ports = new Ports(host, [0, 0])
const payload = Buffer.from(Array.from({ length: 160 }, (_, i) => (i * 37) & 0xff))
const packetMs = 20
const checkMs = 50

const describedBy = (text: string) => {
  const audio = readAudio(text)
  if (typeof audio === 'string') throw new Error(audio)
  return audio
}

const plain: Way = {
  lines: [],
  take: (packet) => packet,
  give: (packet) => packet,
  begin: () => undefined,
  close: () => undefined,
}

/** ICE as the controlling side with one candidate, and DTLS as the side that the engine leaves to us. */
const sealed = (transmit: (packet: Buffer) => void): Way => {
  const [ufrag, password] = [randomBytes(4).toString('hex'), randomBytes(16).toString('hex')]
  const handshake = new Handshake({
    send: transmit,
    connected: () => undefined,
    failed: (reason) => {
      throw new Error(reason)
    },
  })
  let checks: NodeJS.Timeout | undefined
  return {
    lines: [
      `a=ice-ufrag:${ufrag}`,
      `a=ice-pwd:${password}`,
      `a=fingerprint:sha-256 ${handshake.fingerprint}`,
      'a=setup:actpass',
      'a=rtcp-mux',
    ],
    take: (packet, from) => {
      const first = packet[0] ?? 0
      const request = readBinding(packet)
      if (request) transmit(writeSuccess(request.transaction, from.address, from.port, password))
      else if (isStun(packet)) {
        clearInterval(checks)
        handshake.begin()
      } else if (first < 64) handshake.take(packet)
      else if (!isRtcp(packet)) return handshake.open(packet)
      return null
    },
    give: (packet) => handshake.seal(packet),
    begin: ({ security }) => {
      if (!security) throw new Error('the engine described no security')
      handshake.expect(security.fingerprints, security.setup === 'active' ? 'server' : 'client')
      const check = () => transmit(writeCheck(randomBytes(12), `${security.ufrag}:${ufrag}`, security.password))
      checks = setInterval(check, checkMs)
      check()
    },
    close: () => {
      clearInterval(checks)
      handshake.close()
    },
  }
}

export const makePeer = async (kind: 'webrtc' | 'rtp'): Promise<VoicePeer> => {
  const socket = await ports.one()
  let to: Pick<RemoteInfo, 'address' | 'port'> | null = null
  let [sent, received, due] = [0, 0, 0]
  let timer: NodeJS.Timeout | undefined
  const transmit = (packet: Buffer) => {
    if (to) socket.send(packet, to.port, to.address)
  }
  const way = kind === 'webrtc' ? sealed(transmit) : plain
  socket.on('message', (packet: Buffer, from: RemoteInfo) => {
    if (way.take(packet, from)) received++
  })
  const ssrc = randomBytes(4).readUInt32BE()
  const speak = () => {
    // A busy machine calls late: what is due is made up for.
    for (const now = performance.now(); due <= now; due += packetMs) {
      const [sequence, timestamp] = [sent & 0xffff, (sent * payload.length) >>> 0]
      const packet = way.give(writeRtp({ payloadType: 0, marker: sent === 0, sequence, timestamp, ssrc, payload }))
      if (!packet) continue
      sent++
      transmit(packet)
    }
  }
  const description = () =>
    [
      'v=0',
      `o=- 1 1 IN IP4 ${host}`,
      's=-',
      `c=IN IP4 ${host}`,
      't=0 0',
      `m=audio ${socket.address().port} ${kind === 'webrtc' ? 'UDP/TLS/RTP/SAVPF' : 'RTP/AVP'} 0`,
      'a=rtpmap:0 PCMU/8000',
      'a=sendrecv',
      ...way.lines,
      '',
    ].join('\r\n')
  const accept = (text: string) => {
    const described = describedBy(text)
    to = described
    way.begin(described)
  }
  return {
    offer: description,
    answer: (offer) => {
      accept(offer)
      return description()
    },
    accept,
    say: () => {
      due = performance.now()
      timer = setInterval(speak, packetMs)
    },
    hush: () => clearInterval(timer),
    get sent() {
      return sent
    },
    get received() {
      return received
    },
    close: () => {
      clearInterval(timer)
      way.close()
      socket.close()
    },
  }
}
