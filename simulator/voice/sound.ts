import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { digitOf, eventOf, readEvent, writeEvent } from '../../src/connectors/media/codec/event.ts'
import { encodeSample, type G711, samplesOf } from '../../src/connectors/media/codec/g711.ts'
import { readReports, writeReport } from '../../src/connectors/media/codec/rtcp.ts'
import { isRtcp, type RtpPacket, readRtp, writeRtp } from '../../src/connectors/media/codec/rtp.ts'
import { type AudioDescription, type Direction, type Format, readAudio, writeAudio } from '../../src/lib/sdp.ts'
import { Reception } from './reception.ts'

/** Hertz of what handsets say. */
export const ownTone = 620

const frameSamples = 160
/** 620 Hz come round after 400 samples: five frames are two whole rounds. */
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

/** A key is down for 100 ms, and 50 ms pass before the next: in packets of 20 ms, the last one three times (RFC 4733, 2.5.1.4). */
const pressFrames = 5
const pauseFrames = 3

/** The answer to what the other end says of who sends. */
const mirrored: Readonly<Record<Direction, Direction>> = {
  sendrecv: 'sendrecv',
  sendonly: 'recvonly',
  recvonly: 'sendonly',
  inactive: 'inactive',
}

type Agreed = {
  readonly to: AudioDescription
  readonly codec: G711
  /** The payload type of keys; null when the other end takes none. */
  readonly keys: number | null
  readonly speaks: boolean
}

const agree = (to: AudioDescription): Agreed | null => {
  const codec = to.formats.flatMap(({ name }) => audio.find((own) => own.name === name) ?? [])[0]
  if (!codec || to.security) return null
  const keys = to.formats.find(({ name, clock }) => name === 'telephone-event' && clock === 8_000)
  const speaks = to.direction === 'sendrecv' || to.direction === 'recvonly'
  return { to, codec: codec.name, keys: keys?.type ?? null, speaks }
}

export type SoundEvents = {
  /** Samples that came, 8,000 a second. */
  heard(samples: readonly number[]): void
  pressed(digit: string): void
}

const bound = async (address: string): Promise<Socket> => {
  const socket = createSocket('udp4')
  socket.bind(0, address)
  await once(socket, 'listening')
  socket.on('error', () => {})
  return socket
}

/** The end of a call's media: plain RTP in G.711 (RFC 3551), keys (RFC 4733), and reports (RFC 3550). */
export class Sound {
  private readonly rtp: Socket
  private readonly rtcp: Socket
  private readonly address: string
  private readonly events: SoundEvents
  /** Sends back what it hears, instead of its tone. */
  private readonly echoes: boolean
  private readonly id = String(Math.floor(Math.random() * 2 ** 40))
  private readonly ssrc = Math.floor(Math.random() * 2 ** 32)
  private version = 0
  private agreed: Agreed | null = null
  private sequence = Math.floor(Math.random() * 2 ** 16)
  private timestamp = Math.floor(Math.random() * 2 ** 32)
  private frame = 0
  private readonly keys: (number | null)[] = []
  private keyFrame = 0
  private keyBegan = 0
  private lastPress: string | null = null
  private readonly reception = new Reception()

  private constructor(sockets: readonly [Socket, Socket], address: string, echoes: boolean, events: SoundEvents) {
    this.rtp = sockets[0]
    this.rtcp = sockets[1]
    this.address = address
    this.echoes = echoes
    this.events = events
    this.rtp.on('message', (packet, from) => this.receive(packet, from.address))
    this.rtcp.on('message', (packet) => this.report(packet))
  }

  static async open(address: string, echoes: boolean, events: SoundEvents): Promise<Sound> {
    return new Sound([await bound(address), await bound(address)], address, echoes, events)
  }

  /** What we say first, or again. */
  offer(): string {
    return this.describe([...audio, keypad], 'sendrecv', null)
  }

  /** Null when there is nothing that both ends speak. */
  answer(offer: string): string | null {
    const to = readAudio(offer)
    const agreed = typeof to === 'string' ? null : agree(to)
    if (!agreed || typeof to === 'string') return null
    this.agreed = agreed
    const formats = to.formats.filter(
      ({ name, type }) => type === agreed.keys || (name === agreed.codec && name !== keypad.name),
    )
    return this.describe(formats, mirrored[to.direction], to)
  }

  /** False when the answer to our offer leaves nothing to speak. */
  accept(answer: string): boolean {
    const to = readAudio(answer)
    this.agreed = typeof to === 'string' ? null : agree(to)
    return this.agreed !== null
  }

  /** Presses keys, one after the other; what is no key is passed over. */
  press(digits: string): void {
    for (const digit of digits) {
      const event = eventOf(digit)
      if (event !== null) this.keys.push(event, null)
    }
  }

  /** Says what is to be said in the next 20 ms. */
  tick(): void {
    if (!this.agreed?.speaks) return
    if (this.keys.length > 0) this.sendKey(this.agreed)
    else if (!this.echoes)
      this.send(this.typeOf(this.agreed.codec), this.frame === 0, this.nextFrame(this.agreed.codec))
    this.timestamp = (this.timestamp + frameSamples) >>> 0
  }

  close(): void {
    this.agreed = null
    this.rtp.close()
    this.rtcp.close()
  }

  private describe(formats: readonly Format[], direction: Direction, offer: AudioDescription | null): string {
    const written = writeAudio({
      ...{ id: this.id, version: ++this.version, address: this.address, port: this.rtp.address().port },
      ...{ rtcpPort: this.rtcp.address().port, isMuxed: false, direction, protocol: 'RTP/AVP', formats },
      ...{ ssrc: this.ssrc, name: 'handset', security: null, offer },
    })
    // RFC 5576, 4.1, where the audio is what the description ends with: some ends hear only streams that they were told of.
    return offer && offer.lines.length > 1 ? written : `${written}a=ssrc:${this.ssrc} cname:handset\r\n`
  }

  private typeOf(codec: G711): number {
    return this.agreed?.to.formats.find(({ name }) => name === codec)?.type ?? (codec === 'pcmu' ? 0 : 8)
  }

  private nextFrame(codec: G711): Buffer {
    return tones[codec][this.frame++ % 5] ?? Buffer.alloc(0)
  }

  private sendKey({ keys }: Agreed): void {
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
    if (!this.agreed) return
    const sequence = this.sequence++ & 0xffff
    const packet = writeRtp({ payloadType, marker, sequence, timestamp, ssrc: this.ssrc, payload })
    const { address, port } = this.agreed.to
    this.rtp.send(packet, port, address, () => {})
  }

  private receive(datagram: Buffer, from: string): void {
    const packet = isRtcp(datagram) ? null : readRtp(datagram)
    // Nobody else puts sound into a call.
    if (!packet || !this.agreed || from !== this.agreed.to.address) return
    this.reception.take(packet)
    if (packet.payloadType === this.agreed.keys) this.takeKey(packet)
    else {
      const codec = audio.find(({ name }) => packet.payloadType === this.typeOf(name))?.name
      if (codec) this.events.heard(Array.from(packet.payload, (octet) => samplesOf[codec][octet] ?? 0))
      if (codec && this.echoes && this.agreed.speaks && this.keys.length === 0)
        this.send(packet.payloadType, packet.marker, packet.payload, packet.timestamp)
    }
  }

  /** All packets of a press carry its timestamp (RFC 4733, 2.5.1.2): it is told once. */
  private takeKey({ payload, ssrc, timestamp }: RtpPacket): void {
    const digit = digitOf(readEvent(payload)?.event ?? -1)
    const press = `${ssrc} ${timestamp}`
    if (digit === null || press === this.lastPress) return
    this.lastPress = press
    this.events.pressed(digit)
  }

  private report(packet: Buffer): void {
    if (!this.agreed) return
    const { address, rtcpPort } = this.agreed.to
    for (const { ssrc, sent } of readReports(packet)) {
      const block = sent && this.reception.report(ssrc, sent.middle)
      if (block) this.rtcp.send(writeReport(this.ssrc, null, [block], 'handset'), rtcpPort, address, () => {})
    }
  }
}
