import { randomBytes } from 'node:crypto'
import type { RemoteInfo } from 'node:dgram'
import { isRtcp, readRtp, writeRtp } from '@trunkline/rtp/rtp.ts'
import { readAudio } from '@trunkline/rtp/sdp.ts'
import { isStun, readBinding, writeCheck, writeSuccess } from '@trunkline/rtp/stun.ts'
import { DtlsHandshake } from '../../src/adapters/media/embedded/dtls-handshake.ts'
import { UdpPorts } from '../../src/adapters/media/embedded/udp-ports.ts'
import type { Probe } from './softphone.ts'

/**
 * A peer of a leg that sends G.711 and counts received packets. A hundred of them can run on the machine of the engine.
 */
export type LightPeer = {
  offer(): Promise<string>
  answer(offer: string): Promise<string>
  /** Only the first answer counts: early media arrive in the same way. */
  accept(answer: string): Promise<void>
  /** Starts to send a packet every 20 ms. */
  startSending(): void
  stopSending(): void
  /** Sent packets: a browser sends none before it has keys. */
  readonly sent: number
  /** Packets that could be decrypted. */
  readonly received: number
  close(): Promise<void>
}

/** Converts packets for sending and receiving: unchanged, or with SRTP. */
type PacketConverter = {
  readonly lines: readonly string[]
  take(packet: Buffer, from: RemoteInfo): Buffer | null
  give(packet: Buffer): Buffer | null
  begin(description: ReturnType<typeof describedBy>): void
  close(): void
}

const host = '127.0.0.1'
const ports = new UdpPorts(host, [0, 0])
const payload = Buffer.from(Array.from({ length: 160 }, (_, i) => (i * 37) & 0xff))
const packetMs = 20
const checkMs = 50

const describedBy = (text: string) => {
  const audio = readAudio(text)
  if (typeof audio === 'string') throw new Error(audio)
  return audio
}

const plainConverter: PacketConverter = {
  lines: [],
  take: (packet) => packet,
  give: (packet) => packet,
  begin: () => undefined,
  close: () => undefined,
}

/** ICE as the controlling side with one candidate, and the DTLS role that the engine leaves to us. */
const srtpConverter = (transmit: (packet: Buffer) => void): PacketConverter => {
  const [ufrag, password] = [randomBytes(4).toString('hex'), randomBytes(16).toString('hex')]
  const handshake = new DtlsHandshake({
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
      } else if (first < 64) handshake.receive(packet)
      else if (!isRtcp(packet)) return handshake.decrypt(packet)
      return null
    },
    give: (packet) => handshake.encrypt(packet),
    begin: ({ security }) => {
      if (!security) throw new Error('the engine described no security')
      handshake.expectCertificate(security.fingerprints, security.setup === 'active' ? 'server' : 'client')
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
  const socket = await ports.openOne()
  let to: Pick<RemoteInfo, 'address' | 'port'> | null = null
  let [sent, received, due] = [0, 0, 0]
  let timer: NodeJS.Timeout | undefined
  const transmit = (packet: Buffer) => {
    if (to) socket.send(packet, to.port, to.address)
  }
  const way = kind === 'webrtc' ? srtpConverter(transmit) : plainConverter
  socket.on('message', (packet: Buffer, from: RemoteInfo) => {
    const media = way.take(packet, from)
    if (!media) return
    received++
    const said = probe ? readRtp(media) : null
    if (said) probe?.heard(said.payload)
  })
  const ssrc = randomBytes(4).readUInt32BE()
  const speak = () => {
    // Timers of a busy machine fire late: overdue packets are sent at once.
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
    startSending: () => {
      due = performance.now()
      timer = setInterval(speak, packetMs)
    },
    stopSending: () => clearInterval(timer),
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
