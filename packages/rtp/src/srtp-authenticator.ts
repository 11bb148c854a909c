import { hash } from 'node:crypto'

/** HMAC-SHA1, of which SRTP carries 80 bits (RFC 3711, 4.2.1). */
export const tagBytes = 10

const blockBytes = 64
const hashBytes = 20
/** Holds a key block, the longest datagram and a rollover counter. Shared in the thread, as no state remains in it. */
const inner = Buffer.alloc(blockBytes + 65_536 + 4)
const outer = Buffer.alloc(blockBytes + hashBytes)

const pad = (key: Buffer, octet: number): Buffer => {
  const block = Buffer.alloc(blockBytes, octet)
  for (const [i, byte] of key.entries()) block[i] = octet ^ byte
  return block
}

/**
 * Signs packets by two hashes (RFC 2104) with digests as Latin-1 strings: 0.6 µs per packet. An HMAC object per packet
 * takes 2.2 µs, digests in buffers 2.4 µs.
 */
export class Authenticator {
  private readonly innerPad: Buffer
  private readonly outerPad: Buffer

  /** @param key of at most 64 octets */
  constructor(key: Buffer) {
    this.innerPad = pad(key, 0x36)
    this.outerPad = pad(key, 0x5c)
  }

  /** Writes the tag of the first `length` octets after them. */
  sign(packet: Buffer, length: number, rollover: number | null): void {
    packet.write(this.tag(packet, length, rollover), length, tagBytes, 'latin1')
  }

  /** Whether the tag after the first `length` octets is valid. Takes constant time. */
  isSigned(packet: Buffer, length: number, rollover: number | null): boolean {
    const tag = this.tag(packet, length, rollover)
    let difference = 0
    for (let i = 0; i < tagBytes; i++) difference |= tag.charCodeAt(i) ^ (packet[length + i] ?? 0)
    return difference === 0
  }

  /** @param rollover RTP counter signed with the packet (RFC 3711, 4.2); null for RTCP, which contains its index */
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
