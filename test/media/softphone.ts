import { digitOf, readEvent } from '@trunkline/rtp/telephone-event.ts'
import { MediaStreamTrack, RTCPeerConnection, RTCRtpCodecParameters, RtpHeader, RtpPacket } from 'werift'
import { decode, makeToneSender, type Peer } from './peer.ts'

const pcmu = () => new RTCRtpCodecParameters({ mimeType: 'audio/PCMU', clockRate: 8_000, channels: 1, payloadType: 0 })
const opus = () =>
  new RTCRtpCodecParameters({ mimeType: 'audio/opus', clockRate: 48_000, channels: 2, payloadType: 96 })
const keys = () =>
  new RTCRtpCodecParameters({ mimeType: 'audio/telephone-event', clockRate: 8_000, channels: 1, payloadType: 126 })

/** werift cannot read a=rtcp without an address, which RFC 3605 allows. */
const readable = (sdp: string) => sdp.replaceAll(/^a=rtcp:\d+\r?\n/gm, '')

/** Whether a packet is DTLS's answer HelloVerifyRequest (RFC 6347, 4.2.1), which is never encrypted. */
const isVerification = (packet: Buffer) => packet[0] === 22 && packet.readUInt16BE(3) === 0 && packet[13] === 3

/**
 * Drops repeated verifications, as RFC 6347 demands. A busy machine is late with the first one, so werift asks again, and
 * gives up the connection at the second answer.
 */
const verifyOnce = ({ dtlsTransports }: RTCPeerConnection) => {
  for (const { iceTransport } of dtlsTransports) {
    const { onData } = iceTransport.connection
    const { execute } = onData
    let isVerified = false
    onData.execute = (packet) => {
      if (!isVerification(packet)) return execute(packet)
      if (!isVerified) execute(packet)
      isVerified = true
    }
  }
}

export type Softphone = Peer & {
  /** Hold: it announces sendonly. */
  direct(direction: 'sendonly' | 'sendrecv'): void
}

/**
 * Packets to send instead of a tone, and a listener that receives packets instead of the recording; used for
 * measurements.
 */
export type Probe = { frame(index: number): Buffer; heard(payload: Buffer): void }

/** A browser endpoint without a browser: werift as a full ICE agent with DTLS-SRTP. */
export const makeSoftphone = async (codec: 'pcmu' | 'opus' = 'pcmu', probe?: Probe): Promise<Softphone> => {
  const peer = new RTCPeerConnection({
    codecs: { audio: codec === 'pcmu' ? [pcmu(), keys()] : [opus()] },
    // Without a server of its own, werift uses one of Google's.
    iceServers: [{ urls: 'stun:127.0.0.1:9' }],
    iceStunGatherTimeout: 0.01,
    iceUseIpv6: false,
    iceAdditionalHostAddresses: ['127.0.0.1'],
    iceInterfaceAddresses: { udp4: '127.0.0.1' },
  })
  const track = new MediaStreamTrack({ kind: 'audio' })
  const transceiver = peer.addTransceiver(track, { direction: 'sendrecv' })
  verifyOnce(peer)
  const heard: number[] = []
  const sequences: number[] = []
  const seen = new Set<MediaStreamTrack>()
  let [digits, pressed, sent, received] = ['', -1, 0, 0]
  /** The payload type of DTMF: chosen by the peer when the offer is ours. */
  let presses = 126
  peer.onTrack.subscribe((incoming) => {
    if (seen.has(incoming)) return
    seen.add(incoming)
    incoming.onReceiveRtp.subscribe(({ header, payload }) => {
      received++
      if (probe) {
        probe.heard(payload)
        return
      }
      sequences.push(header.sequenceNumber)
      if (header.payloadType === 0) heard.push(...decode('pcmu', payload))
      const event = header.payloadType === presses ? readEvent(payload) : null
      if (event && pressed !== header.timestamp) {
        pressed = header.timestamp
        digits += digitOf(event.event)
      }
    })
  })
  const voice = makeToneSender(
    () => 'pcmu',
    (payload, index) => {
      if (peer.connectionState !== 'connected') return
      sent++
      const unit = codec === 'pcmu' ? 160 : 960
      const header = new RtpHeader({ payloadType: 0, sequenceNumber: index & 0xffff, timestamp: (index * unit) >>> 0 })
      track.writeRtp(new RtpPacket(header, payload))
    },
    probe && ((_, index) => probe.frame(index)),
  )
  const offer = async () => {
    await peer.setLocalDescription(await peer.createOffer())
    return peer.localDescription?.sdp ?? ''
  }
  return {
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
    offer,
    direct: (direction) => transceiver.setDirection(direction),
    answer: async (sdp) => {
      await peer.setRemoteDescription({ type: 'offer', sdp: readable(sdp) })
      await peer.setLocalDescription(await peer.createAnswer())
      presses = Number(/^a=rtpmap:(\d+) telephone-event/m.exec(peer.localDescription?.sdp ?? '')?.[1] ?? presses)
      return peer.localDescription?.sdp ?? ''
    },
    accept: async (sdp) => {
      await peer.setRemoteDescription({ type: 'answer', sdp: readable(sdp) })
    },
    sendTone: voice.say,
    close: async () => {
      voice.stop()
      await peer.close()
    },
  }
}
