import { randomBytes } from 'node:crypto'
import type { RemoteInfo } from 'node:dgram'
import { isRtcp, readRtp, writeRtp } from '../../src/connectors/media/codec/rtp.ts'
import { isStun, readBinding, writeCheck, writeSuccess } from '../../src/connectors/media/codec/stun.ts'
import { Handshake } from '../../src/connectors/media/embedded/handshake.ts'
import { Ports } from '../../src/connectors/media/embedded/ports.ts'
import { readAudio } from '../../src/lib/sdp.ts'
import type { Probe } from './softphone.ts'

/** The other end of a leg, that says G.711 and counts what it hears. It takes little, so that a hundred calls have room beside the engine. */
export type LightPeer = {
  offer(): Promise<string>
  answer(offer: string): Promise<string>
  /** Of several the first counts: early media come by the same way. */
  accept(answer: string): Promise<void>
  /** A packet every 20 ms from now on. */
  say(): void
  hush(): void
  /** What went out: a browser's says nothing before it has keys. */
  readonly sent: number
  /** What could be opened. */
  readonly received: number
  close(): Promise<void>
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

export const makeLightPeer = async (kind: 'webrtc' | 'rtp', probe?: Probe): Promise<LightPeer> => {
  const socket = await ports.one()
  let to: Pick<RemoteInfo, 'address' | 'port'> | null = null
  let [sent, received, due] = [0, 0, 0]
  let timer: NodeJS.Timeout | undefined
  const transmit = (packet: Buffer) => {
    if (to) socket.send(packet, to.port, to.address)
  }
  const way = kind === 'webrtc' ? sealed(transmit) : plain
  socket.on('message', (packet: Buffer, from: RemoteInfo) => {
    const media = way.take(packet, from)
    if (!media) return
    received++
    const said = probe ? readRtp(media) : null
    if (said) probe?.heard(said.payload)
  })
  const ssrc = randomBytes(4).readUInt32BE()
  const speak = () => {
    // A busy machine calls late: what is due is made up for.
    for (const now = performance.now(); due <= now; due += packetMs) {
      const [sequence, timestamp] = [sent & 0xffff, (sent * payload.length) >>> 0]
      const said = { payloadType: 0, marker: sent === 0, sequence, timestamp, ssrc }
      const packet = way.give(writeRtp({ ...said, payload: probe?.frame(sent) ?? payload }))
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
  const accept = async (text: string) => {
    if (to) return
    const described = describedBy(text)
    to = described
    way.begin(described)
  }
  return {
    offer: async () => description(),
    answer: async (offer) => {
      await accept(offer)
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
    close: async () => {
      clearInterval(timer)
      way.close()
      socket.close()
    },
  }
}
