/** An RTP packet (RFC 3550, 5.1). The payload is a view of the datagram. */
export type RtpPacket = {
  readonly payloadType: number
  readonly marker: boolean
  /** 16 bits. */
  readonly sequence: number
  /** 32 bits, in units of the codec's clock. */
  readonly timestamp: number
  readonly ssrc: number
  readonly payload: Buffer
}

/** Recognises RTCP on a shared port (RFC 5761, 4): its packet type takes the place of RTP's marker and payload type. */
export const isRtcp = (packet: Buffer): boolean => {
  const type = packet[1] ?? 0
  return type >= 192 && type <= 223
}

/** Parses a datagram. Returns null if it is not RTP: another version, or lengths that exceed the datagram. */
export const readRtp = (packet: Buffer): RtpPacket | null => {
  if (packet.length < 12) return null
  const first = packet[0] ?? 0
  const second = packet[1] ?? 0
  if (first >> 6 !== 2) return null
  let start = 12 + (first & 0x0f) * 4
  if (first & 0x10) {
    if (packet.length < start + 4) return null
    start += 4 + packet.readUInt16BE(start + 2) * 4
  }
  const padding = first & 0x20 ? (packet[packet.length - 1] ?? 0) : 0
  const end = packet.length - padding
  if (start > end || (first & 0x20 && padding === 0)) return null
  return {
    payloadType: second & 0x7f,
    marker: second >> 7 === 1,
    sequence: packet.readUInt16BE(2),
    timestamp: packet.readUInt32BE(4),
    ssrc: packet.readUInt32BE(8),
    payload: packet.subarray(start, end),
  }
}

/** Serialises a packet without extensions, contributing sources or padding. */
export const writeRtp = (packet: RtpPacket): Buffer => {
  const written = Buffer.allocUnsafe(12 + packet.payload.length)
  written[0] = 0x80
  written[1] = (packet.marker ? 0x80 : 0) | packet.payloadType
  written.writeUInt16BE(packet.sequence, 2)
  written.writeUInt32BE(packet.timestamp, 4)
  written.writeUInt32BE(packet.ssrc, 8)
  packet.payload.copy(written, 12)
  return written
}

/** Returns how far `b` is ahead of `a` modulo 2^16: -32768 to 32767. */
export const sequenceAhead = (a: number, b: number): number => ((b - a) << 16) >> 16

/** Returns how far `b` is ahead of `a` modulo 2^32. */
export const timestampAhead = (a: number, b: number): number => (b - a) | 0
