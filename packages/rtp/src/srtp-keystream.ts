import { type Cipheriv, createCipheriv } from 'node:crypto'

/** Master key and salt of a direction (RFC 5764, 4.2): 16 and 14 octets. */
export type MasterKey = { readonly key: Buffer; readonly salt: Buffer }

const blockBytes = 16

const aes = (key: Buffer): Cipheriv => createCipheriv('aes-128-ecb', key, null).setAutoPadding(false)

/** Derives a session key for a label (RFC 3711, 4.3.1 to 4.3.3), with a key derivation rate of zero. */
export const derive = ({ key, salt }: MasterKey, label: number, bytes: number): Buffer => {
  const blocks = Buffer.alloc(Math.ceil(bytes / blockBytes) * blockBytes)
  for (let at = 0; at < blocks.length; at += blockBytes) {
    salt.copy(blocks, at)
    blocks[at + 7] = (blocks[at + 7] ?? 0) ^ label
    blocks[at + 15] = at / blockBytes
  }
  return aes(key).update(blocks).subarray(0, bytes)
}

/**
 * Key stream of AES in counter mode (RFC 3711, 4.1.1), for packets of any index. One cipher object serves all packets,
 * as creating one per packet takes longer than the encryption.
 */
export class KeyStream {
  private readonly cipher: Cipheriv
  private readonly salt: readonly [number, number, number, number]

  constructor(key: Buffer, salt: Buffer) {
    this.cipher = aes(key)
    this.salt = [salt.readUInt32BE(0), salt.readUInt32BE(4), salt.readUInt32BE(8), salt.readUInt16BE(12)]
  }

  /**
   * Returns the key streams of consecutive packets from `index` on, all of the same length.
   * @param bytes minimum length per packet
   */
  of(ssrc: number, index: number, bytes: number, packets = 1): Buffer {
    const blocks = Math.ceil(bytes / blockBytes)
    const counters = Buffer.allocUnsafe(packets * blocks * blockBytes)
    const [first, second, third, fourth] = this.salt
    let at = 0
    for (let packet = index; packet < index + packets; packet++)
      for (let block = 0; block < blocks; block++) {
        at = counters.writeUInt32BE(first, at)
        at = counters.writeUInt32BE((second ^ ssrc) >>> 0, at)
        at = counters.writeUInt32BE((third ^ Math.floor(packet / 0x10000)) >>> 0, at)
        at = counters.writeUInt16BE(fourth ^ (packet & 0xffff), at)
        at = counters.writeUInt16BE(block, at)
      }
    return this.cipher.update(counters)
  }
}
