import { hash } from 'node:crypto'

/** HMAC-SHA1, of which SRTP carries 80 bits (RFC 3711, 4.2.1). */
export const tagBytes = 10

const blockBytes = 64
const hashBytes = 20
/** A block of the key, the longest datagram and a rollover counter. One for the thread: nothing stays in it. */
const inner = Buffer.alloc(blockBytes + 65_536 + 4)
const outer = Buffer.alloc(blockBytes + hashBytes)

const pad = (key: Buffer, octet: number): Buffer => {
  const block = Buffer.alloc(blockBytes, octet)
  for (const [i, byte] of key.entries()) block[i] = octet ^ byte
  return block
}

/**
 * Signs packets by two hashes, as RFC 2104 has it, whose digests are strings of Latin 1: 0.6 µs, where an HMAC object for each packet
 * takes 2.2 and digests in buffers 2.4.
 */
export class Authenticator {
  private readonly innerPad: Buffer
  private readonly outerPad: Buffer

  /** @param key of at most 64 octets */
  constructor(key: Buffer) {
    this.innerPad = pad(key, 0x36)
    this.outerPad = pad(key, 0x5c)
  }

  /** Writes the tag of the first `length` octets behind them. */
  sign(packet: Buffer, length: number, rollover: number | null): void {
    packet.write(this.tag(packet, length, rollover), length, tagBytes, 'latin1')
  }

  /** Whether the tag stands behind the first `length` octets; it takes the same time wherever they differ. */
  isSigned(packet: Buffer, length: number, rollover: number | null): boolean {
    const tag = this.tag(packet, length, rollover)
    let difference = 0
    for (let i = 0; i < tagBytes; i++) difference |= tag.charCodeAt(i) ^ (packet[length + i] ?? 0)
    return difference === 0
  }

  /** @param rollover counter of RTP, which is signed with the packet (RFC 3711, 4.2); null for RTCP, which carries its index itself */
  private tag(packet: Buffer, length: number, rollover: number | null): string {
    this.innerPad.copy(inner)
    packet.copy(inner, blockBytes, 0, length)
    const end = blockBytes + length
    const message = inner.subarray(0, rollover === null ? end : inner.writeUInt32BE(rollover, end))
    this.outerPad.copy(outer)
    outer.write(hash('sha1', message, 'latin1'), blockBytes, 'latin1')
    return hash('sha1', outer, 'latin1')
  }
}
