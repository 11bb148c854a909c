import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readReports, writeReport } from '@trunkline/rtp/rtcp.ts'
import { readRtp, writeRtp } from '@trunkline/rtp/rtp.ts'
import { readAudio } from '@trunkline/rtp/sdp.ts'
import { digitOf, readEvent } from '@trunkline/rtp/telephone-event.ts'
import { dtmfPackets } from '../../src/adapters/media/embedded/dtmf.ts'
import { decode, makeToneSender, type Peer } from './peer.ts'

export type Telephone = Peer & {
  readonly port: number
  /** Sends a packet unchanged. Default: from the telephone's own port. */
  sendPacket(packet: Buffer, from?: Socket): Promise<void>
  /** Every received packet, complete. */
  readonly packets: readonly Buffer[]
  /** Sends key presses as fast as possible; the chosen packets are dropped. */
  press(digits: string, isLost?: (index: number) => boolean): Promise<void>
}

/** Returns the peer with changed descriptions: lines that it adds, and a pattern of lines that it leaves out. */
export const withDescription = <P extends Peer>(
  peer: P,
  { adds = [], omits = /^$/ }: { readonly adds?: readonly string[]; readonly omits?: RegExp },
): P => {
  const change = (text: string) =>
    [...text.split('\r\n').filter((line) => line !== '' && !omits.test(line)), ...adds, ''].join('\r\n')
  // The prototype keeps the getters alive.
  return Object.assign(Object.create(peer), {
    offer: async () => change(await peer.offer()),
    answer: async (offer: string) => change(await peer.answer(offer)),
  })
}

const bound = async (address: string): Promise<Socket> => {
  const socket = createSocket('udp4')
  socket.bind(0, address)
  await once(socket, 'listening')
  return socket
}

const types = { pcmu: 0, pcma: 8 } as const
const names = { pcmu: 'PCMU', pcma: 'PCMA' } as const

/**
 * A carrier endpoint: plain RTP and RTCP on its own sockets.
 * @param named the address that its description names
 * @param ownKeys the payload type of its DTMF; else the offer's, or 101
 * @param address to which its sockets are bound
 */
export const makeTelephone = async (
  codec: 'pcmu' | 'pcma' = 'pcmu',
  named = '127.0.0.1',
  ownKeys: number | null = null,
  address = '127.0.0.1',
): Promise<Telephone> => {
  const [rtp, rtcp] = [await bound(address), await bound(address)]
  const ssrc = Math.floor(Math.random() * 2 ** 32)
  const heard: number[] = []
  const sequences: number[] = []
  const packets: Buffer[] = []
  let keys = ownKeys ?? 101
  let [digits, pressed, sent, received] = ['', -1, 0, 0]
  let to: { address: string; port: number; rtcpPort: number } | null = null

  const describe = () =>
    [
      'v=0',
      `o=- 1 1 IN IP4 ${named}`,
      's=-',
      `c=IN IP4 ${named}`,
      't=0 0',
      `m=audio ${rtp.address().port} RTP/AVP ${types[codec]} ${keys}`,
      `a=rtpmap:${types[codec]} ${names[codec]}/8000`,
      `a=rtpmap:${keys} telephone-event/8000`,
      `a=fmtp:${keys} 0-15`,
      // The attribute may omit the address (RFC 3605).
      `a=rtcp:${rtcp.address().port}`,
      `a=ssrc:${ssrc} cname:telephone`,
      'a=sendrecv',
      '',
    ].join('\r\n')

  const take = (text: string) => {
    const audio = readAudio(text)
    if (typeof audio === 'string') throw new Error(audio)
    to = audio
    return audio
  }

  rtp.on('message', (datagram) => {
    packets.push(datagram)
    const packet = readRtp(datagram)
    if (!packet) return
    received++
    sequences.push(packet.sequence)
    if (packet.payloadType === types[codec]) heard.push(...decode(codec, packet.payload))
    const event = packet.payloadType === keys ? readEvent(packet.payload) : null
    if (event && pressed !== packet.timestamp) {
      pressed = packet.timestamp
      digits += digitOf(event.event)
    }
  })
  rtcp.on('message', (datagram) => {
    for (const report of readReports(datagram)) {
      if (!report.sent || !to) continue
      const block = { ssrc: report.ssrc, fraction: 0, lost: 0, highest: 0, jitter: 0, delay: 0 }
      const answer = writeReport(ssrc, null, [{ ...block, lastReport: report.sent.middle }], 'telephone')
      rtcp.send(answer, to.rtcpPort, to.address)
    }
  })

  const send = async (packet: Buffer, from = rtp) => {
    const { address, port } = to ?? { address: '127.0.0.1', port: 9 }
    await new Promise((resolve) => from.send(packet, port, address, resolve))
  }
  // Voice and DTMF are one stream: sequence numbers and timestamps continue from one to the other (RFC 4733, 2.1).
  let [sequence, timestamp] = [0, 0]
  const voice = makeToneSender(
    () => codec,
    (payload, index) => {
      if (!to) return
      sent++
      const packet = { payloadType: types[codec], marker: index === 0, sequence: sequence++ & 0xffff, ssrc, payload }
      rtp.send(writeRtp({ ...packet, timestamp: timestamp >>> 0 }), to.port, to.address)
      timestamp += 160
    },
  )
  const press = async (text: string, isLost: (index: number) => boolean = () => false) => {
    for (const [i, { timestamp: offset, marker, payload }] of [...dtmfPackets(text, 8_000)].entries()) {
      const time = (timestamp + offset) >>> 0
      const packet = { payloadType: keys, marker, sequence: sequence++ & 0xffff, timestamp: time, ssrc, payload }
      if (!isLost(i)) await send(writeRtp(packet))
    }
    timestamp += text.length * 1_200
  }

  return {
    press,
    port: rtp.address().port,
    sendPacket: send,
    packets,
    samples: heard,
    sequences,
    get digits() {
      return digits
    },
    get sent() {
      return sent
    },
    get received() {
      return received
    },
    offer: async () => describe(),
    answer: async (offer) => {
      const theirs = take(offer).formats.find(({ name }) => name === 'telephone-event')
      keys = ownKeys ?? theirs?.type ?? keys
      return describe()
    },
    accept: async (answer) => {
      take(answer)
    },
    sendTone: voice.say,
    close: async () => {
      voice.stop()
      rtp.close()
      rtcp.close()
    },
  }
}
