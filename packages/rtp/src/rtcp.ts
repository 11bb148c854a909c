/** Report block about a received stream (RFC 3550, 6.4.1). */
export type ReportBlock = {
  readonly ssrc: number
  /** Fraction lost since the last report, in 1/256. */
  readonly fraction: number
  /** Packets lost in total; negative with duplicates. */
  readonly lost: number
  /** Highest sequence number received, with its cycles: 32 bits. */
  readonly highest: number
  /** In units of the codec's clock. */
  readonly jitter: number
  /** Middle 32 bits of the last sender report's time, and the delay since its arrival in 1/65536 s; 0 if none came. */
  readonly lastReport: number
  readonly delay: number
}

export type SenderInfo = {
  /** Unix milliseconds. */
  readonly time: number
  readonly timestamp: number
  readonly packets: number
  readonly octets: number
}

export type RtcpReport = {
  readonly ssrc: number
  /** Null in a receiver report. Only the middle 32 bits of the time, which our report echoes. */
  readonly sent: { readonly middle: number } | null
  readonly blocks: readonly ReportBlock[]
}

/** Seconds between 1900 and 1970 (RFC 5905, 6). */
const ntpEpoch = 2_208_988_800

/** Returns the middle 32 bits of the NTP time, in 1/65536 s. */
export const ntpMiddle = (time: number): number => {
  const seconds = time / 1_000 + ntpEpoch
  return Math.floor((seconds % 65_536) * 65_536) >>> 0
}

const blockBytes = 24

const writeBlock = (into: Buffer, at: number, block: ReportBlock): void => {
  into.writeUInt32BE(block.ssrc, at)
  into[at + 4] = block.fraction
  into.writeIntBE(Math.max(-0x800000, Math.min(0x7fffff, block.lost)), at + 5, 3)
  into.writeUInt32BE(block.highest >>> 0, at + 8)
  into.writeUInt32BE(Math.round(block.jitter) >>> 0, at + 12)
  into.writeUInt32BE(block.lastReport, at + 16)
  into.writeUInt32BE(block.delay >>> 0, at + 20)
}

/**
 * Returns a compound packet: a sender report, or a receiver report if nothing was sent, then the CNAME of the source.
 * Every compound packet must have a CNAME (RFC 3550, 6.1).
 */
export const writeReport = (
  ssrc: number,
  sent: SenderInfo | null,
  blocks: readonly ReportBlock[],
  name: string,
): Buffer => {
  const head = sent ? 28 : 8
  const cname = Buffer.from(name)
  const chunk = Math.ceil((4 + 2 + cname.length + 1) / 4) * 4
  const length = head + blocks.length * blockBytes
  const written = Buffer.alloc(length + 4 + chunk)
  written[0] = 0x80 | blocks.length
  written[1] = sent ? 200 : 201
  written.writeUInt16BE(length / 4 - 1, 2)
  written.writeUInt32BE(ssrc, 4)
  if (sent) {
    const seconds = sent.time / 1_000 + ntpEpoch
    written.writeUInt32BE(Math.floor(seconds) >>> 0, 8)
    written.writeUInt32BE(Math.floor((seconds % 1) * 2 ** 32) >>> 0, 12)
    written.writeUInt32BE(sent.timestamp >>> 0, 16)
    written.writeUInt32BE(sent.packets >>> 0, 20)
    written.writeUInt32BE(sent.octets >>> 0, 24)
  }
  for (const [i, block] of blocks.entries()) writeBlock(written, head + i * blockBytes, block)
  written[length] = 0x81
  written[length + 1] = 202
  written.writeUInt16BE(chunk / 4, length + 2)
  written.writeUInt32BE(ssrc, length + 4)
  written[length + 8] = 1
  written[length + 9] = cname.length
  cname.copy(written, length + 10)
  return written
}

const readBlock = (from: Buffer, at: number): ReportBlock => ({
  ssrc: from.readUInt32BE(at),
  fraction: from[at + 4] ?? 0,
  lost: from.readIntBE(at + 5, 3),
  highest: from.readUInt32BE(at + 8),
  jitter: from.readUInt32BE(at + 12),
  lastReport: from.readUInt32BE(at + 16),
  delay: from.readUInt32BE(at + 20),
})

/** Returns the reports of a compound packet. Skips other packet types, and stops at invalid lengths. */
export const readReports = (packet: Buffer): RtcpReport[] => {
  const reports: RtcpReport[] = []
  for (let at = 0; at + 8 <= packet.length; ) {
    const first = packet[at] ?? 0
    const type = packet[at + 1]
    const end = at + (packet.readUInt16BE(at + 2) + 1) * 4
    if (first >> 6 !== 2 || end > packet.length) break
    const head = type === 200 ? 28 : 8
    const count = first & 0x1f
    if ((type === 200 || type === 201) && at + head + count * blockBytes <= end)
      reports.push({
        ssrc: packet.readUInt32BE(at + 4),
        sent: type === 200 ? { middle: packet.readUInt32BE(at + 10) } : null,
        blocks: Array.from({ length: count }, (_, i) => readBlock(packet, at + head + i * blockBytes)),
      })
    at = end
  }
  return reports
}
