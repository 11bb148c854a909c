import { randomBytes } from 'node:crypto'
import type { AudioDescription, SdpCrypto } from './sdp.ts'
import { SrtpDecryptor, SrtpEncryptor } from './srtp.ts'
import type { MasterKey } from './srtp-keystream.ts'

// SRTP keys in session descriptions (SDES, RFC 4568), for the legs of trunks.

export const srtpSuite = 'AES_CM_128_HMAC_SHA1_80'

const keyBytes = 16

const masterOf = ({ key }: SdpCrypto): MasterKey => ({
  key: key.subarray(0, keyBytes),
  salt: key.subarray(keyBytes),
})

/** The two keys of a leg: ours, constant for its whole life, and the peer's from its last description. */
export class Sdes {
  private readonly key = randomBytes(30)
  private readonly encryptor = new SrtpEncryptor(masterOf({ tag: 1, key: this.key }))
  private theirs: SdpCrypto | null = null
  private decryptor: SrtpDecryptor | null = null
  private isAgreed = false

  /** Whether packets are encrypted. */
  get isOn(): boolean {
    return this.decryptor !== null
  }

  /** Returns the key for our description; null if the peer uses none. */
  ourKey(): { readonly tag: number; readonly suite: string; readonly key: string } | null {
    if (this.isAgreed && !this.theirs) return null
    return { tag: this.theirs?.tag ?? 1, suite: srtpSuite, key: this.key.toString('base64') }
  }

  setRemote({ crypto: [chosen] }: AudioDescription): void {
    this.isAgreed = true
    // An unchanged key keeps its replay list and rollover counter (RFC 3711, 3.3).
    if (!chosen) this.decryptor = null
    else if (!this.decryptor || !this.theirs?.key.equals(chosen.key))
      this.decryptor = new SrtpDecryptor(masterOf(chosen))
    this.theirs = chosen ?? null
  }

  encrypt(packet: Buffer): Buffer | null {
    return this.encryptor.encrypt(packet)
  }

  encryptRtcp(packet: Buffer): Buffer {
    return this.encryptor.encryptRtcp(packet)
  }

  decrypt(packet: Buffer): Buffer | null {
    return this.decryptor?.decrypt(packet) ?? null
  }

  decryptRtcp(packet: Buffer): Buffer | null {
    return this.decryptor?.decryptRtcp(packet) ?? null
  }
}
