import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { encodeSample, type G711, samplesOf } from '@trunkline/rtp/g711.ts'
import { readReports, writeReport } from '@trunkline/rtp/rtcp.ts'
import { isRtcp, type RtpPacket, readRtp, writeRtp } from '@trunkline/rtp/rtp.ts'
import { type AudioDescription, type Direction, type Format, readAudio, writeAudio } from '@trunkline/rtp/sdp.ts'
import { digitOf, eventOf, readEvent, writeEvent } from '@trunkline/rtp/telephone-event.ts'
import { ReceptionStats } from './reception-stats.ts'

/** Frequency in hertz of a handset's tone. */
export const ownTone = 620

const frameSamples = 160
/** 620 Hz repeats after 400 samples: five frames are two periods. */
const frames = (codec: G711): Buffer[] =>
  Array.from({ length: 5 }, (_, frame) =>
    Buffer.from(
      Array.from({ length: frameSamples }, (_, i) =>
        encodeSample(
          codec,
          Math.round(12_000 * Math.sin((2 * Math.PI * ownTone * (frame * frameSamples + i)) / 8_000)),
        ),
      ),
    ),
  )
const tones = { pcmu: frames('pcmu'), pcma: frames('pcma') } as const

const audio: readonly (Format & { name: G711 })[] = [
  { type: 0, name: 'pcmu', clock: 8_000, parameters: '' },
  { type: 8, name: 'pcma', clock: 8_000, parameters: '' },
]
const keypad: Format = { type: 101, name: 'telephone-event', clock: 8_000, parameters: '0-15' }

/**
 * A key is down for 100 ms, followed by 50 ms of pause, in packets of 20 ms. The last one is sent three times (RFC
 * 4733, 2.5.1.4).
 */
const pressFrames = 5
const pauseFrames = 3

/** Answer to the direction of an offer. */
const answerDirection: Readonly<Record<Direction, Direction>> = {
  sendrecv: 'sendrecv',
  sendonly: 'recvonly',
  recvonly: 'sendonly',
  inactive: 'inactive',
}

type NegotiatedMedia = {
  readonly to: AudioDescription
  readonly codec: G711
  /** Payload type of telephone-events; null when the peer does not accept them. */
  readonly keys: number | null
  readonly sends: boolean
}

const negotiate = (to: AudioDescription): NegotiatedMedia | null => {
  const codec = to.formats.flatMap(({ name }) => audio.find((own) => own.name === name) ?? [])[0]
  if (!codec || to.security) return null
  const keys = to.formats.find(({ name, clock }) => name === 'telephone-event' && clock === 8_000)
  const speaks = to.direction === 'sendrecv' || to.direction === 'recvonly'
  return { to, codec: codec.name, keys: keys?.type ?? null, sends: speaks }
}

export type MediaEvents = {
  /** Received samples, 8,000 a second. */
  received(samples: readonly number[]): void
  pressed(digit: string): void
}

const bound = async (address: string): Promise<Socket> => {
  const socket = createSocket('udp4')
  socket.bind(0, address)
  await once(socket, 'listening')
  socket.on('error', () => {})
  return socket
}

/** Media endpoint of a call: plain RTP in G.711 (RFC 3551), telephone-events (RFC 4733) and reports (RFC 3550). */
export class MediaEndpoint {
  private readonly rtp: Socket
  private readonly rtcp: Socket
  private readonly address: string
  private readonly events: MediaEvents
  /** Sends received audio back instead of the tone. */
  private readonly echoes: boolean
  private readonly id = String(Math.floor(Math.random() * 2 ** 40))
  private readonly ssrc = Math.floor(Math.random() * 2 ** 32)
  private version = 0
  private negotiated: NegotiatedMedia | null = null
  private sequence = Math.floor(Math.random() * 2 ** 16)
  private timestamp = Math.floor(Math.random() * 2 ** 32)
  private frame = 0
  private readonly keys: (number | null)[] = []
  private keyFrame = 0
  private keyBegan = 0
  private lastPress: string | null = null
  private readonly reception = new ReceptionStats()

  private constructor(sockets: readonly [Socket, Socket], address: string, echoes: boolean, events: MediaEvents) {
    this.rtp = sockets[0]
    this.rtcp = sockets[1]
    this.address = address
    this.echoes = echoes
    this.events = events
    this.rtp.on('message', (packet, from) => this.receive(packet, from.address))
    this.rtcp.on('message', (packet) => this.report(packet))
  }

  static async open(address: string, echoes: boolean, events: MediaEvents): Promise<MediaEndpoint> {
    return new MediaEndpoint([await bound(address), await bound(address)], address, echoes, events)
  }

  /** Builds a first or repeated offer. */
  offer(): string {
    return this.describe([...audio, keypad], 'sendrecv', null)
  }

  /** Answers an offer; null without a common codec. */
  answer(offer: string): string | null {
    const to = readAudio(offer)
    const agreed = typeof to === 'string' ? null : negotiate(to)
    if (!agreed || typeof to === 'string') return null
    this.negotiated = agreed
    const formats = to.formats.filter(
      ({ name, type }) => type === agreed.keys || (name === agreed.codec && name !== keypad.name),
    )
    return this.describe(formats, answerDirection[to.direction], to)
  }

  /** Applies the answer to our offer; false without a common codec. */
  accept(answer: string): boolean {
    const to = readAudio(answer)
    this.negotiated = typeof to === 'string' ? null : negotiate(to)
    return this.negotiated !== null
  }

  /** Queues key presses; other characters are skipped. */
  press(digits: string): void {
    for (const digit of digits) {
      const event = eventOf(digit)
      if (event !== null) this.keys.push(event, null)
    }
  }

  /** Sends the packets of the next 20 ms. */
  tick(): void {
    if (!this.negotiated?.sends) return
    if (this.keys.length > 0) this.sendKey(this.negotiated)
    else if (!this.echoes)
      this.send(this.typeOf(this.negotiated.codec), this.frame === 0, this.nextFrame(this.negotiated.codec))
    this.timestamp = (this.timestamp + frameSamples) >>> 0
  }

  close(): void {
    this.negotiated = null
    this.rtp.close()
    this.rtcp.close()
  }

  private describe(formats: readonly Format[], direction: Direction, offer: AudioDescription | null): string {
    const written = writeAudio({
      ...{ id: this.id, version: ++this.version, address: this.address, port: this.rtp.address().port },
      ...{ rtcpPort: this.rtcp.address().port, isMuxed: false, direction, protocol: 'RTP/AVP', formats },
      ...{ ssrc: this.ssrc, name: 'handset', security: null, offer },
    })
    // RFC 5576, 4.1, where the audio ends the description: some peers play only announced streams.
    return offer && offer.lines.length > 1 ? written : `${written}a=ssrc:${this.ssrc} cname:handset\r\n`
  }

  private typeOf(codec: G711): number {
    return this.negotiated?.to.formats.find(({ name }) => name === codec)?.type ?? (codec === 'pcmu' ? 0 : 8)
  }

  private nextFrame(codec: G711): Buffer {
    return tones[codec][this.frame++ % 5] ?? Buffer.alloc(0)
  }

  private sendKey({ keys }: NegotiatedMedia): void {
    const [event] = this.keys
    const most = event === null ? pauseFrames : pressFrames
    if (this.keyFrame === 0) this.keyBegan = this.timestamp
    this.keyFrame++
    const isLast = this.keyFrame >= most
    if (event !== null && event !== undefined && keys !== null) {
      const payload = writeEvent({ event, end: isLast, duration: this.keyFrame * frameSamples })
      for (let again = isLast ? 3 : 1; again > 0; again--) this.send(keys, this.keyFrame === 1, payload, this.keyBegan)
    }
    if (!isLast) return
    this.keyFrame = 0
    this.keys.shift()
  }

  private send(payloadType: number, marker: boolean, payload: Buffer, timestamp = this.timestamp): void {
    if (!this.negotiated) return
    const sequence = this.sequence++ & 0xffff
    const packet = writeRtp({ payloadType, marker, sequence, timestamp, ssrc: this.ssrc, payload })
    const { address, port } = this.negotiated.to
    this.rtp.send(packet, port, address, () => {})
  }

  private receive(datagram: Buffer, from: string): void {
    const packet = isRtcp(datagram) ? null : readRtp(datagram)
    // Accepts audio only from the peer of the call.
    if (!packet || !this.negotiated || from !== this.negotiated.to.address) return
    this.reception.addPacket(packet)
    if (packet.payloadType === this.negotiated.keys) this.receiveKey(packet)
    else {
      const codec = audio.find(({ name }) => packet.payloadType === this.typeOf(name))?.name
      if (codec) this.events.received(Array.from(packet.payload, (octet) => samplesOf[codec][octet] ?? 0))
      if (codec && this.echoes && this.negotiated.sends && this.keys.length === 0)
        this.send(packet.payloadType, packet.marker, packet.payload, packet.timestamp)
    }
  }

  /** All packets of a press carry the same timestamp (RFC 4733, 2.5.1.2); it is reported once. */
  private receiveKey({ payload, ssrc, timestamp }: RtpPacket): void {
    const digit = digitOf(readEvent(payload)?.event ?? -1)
    const press = `${ssrc} ${timestamp}`
    if (digit === null || press === this.lastPress) return
    this.lastPress = press
    this.events.pressed(digit)
  }

  private report(packet: Buffer): void {
    if (!this.negotiated) return
    const { address, rtcpPort } = this.negotiated.to
    for (const { ssrc, sent } of readReports(packet)) {
      const block = sent && this.reception.report(ssrc, sent.middle)
      if (block) this.rtcp.send(writeReport(this.ssrc, null, [block], 'handset'), rtcpPort, address, () => {})
    }
  }
}
