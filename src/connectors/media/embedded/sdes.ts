import { randomBytes } from 'node:crypto'
import type { AudioDescription, SdpCrypto } from '../../../lib/sdp.ts'
import type { MediaSrtp } from '../../port.ts'
import type { MasterKey } from './keystream.ts'
import { Opener, Sealer } from './srtp.ts'

// Keys of SRTP in session descriptions (SDES, RFC 4568), on the legs of trunks.

const keyBytes = 16
const suite = 'AES_CM_128_HMAC_SHA1_80'

const masterOf = ({ key }: SdpCrypto): MasterKey => ({
  key: key.subarray(0, keyBytes),
  salt: key.subarray(keyBytes),
})

const isPlain = ({ protocol }: AudioDescription) => protocol === 'RTP/AVP' || protocol === 'RTP/AVPF'
const isSecure = ({ protocol, crypto }: AudioDescription) =>
  (protocol === 'RTP/SAVP' || protocol === 'RTP/SAVPF') && crypto.length > 0

/** How well a description fits what a leg may speak; 0: not at all. Keys beside RTP/AVP are an offer to encrypt (RFC 8643). */
export const fitnessFor =
  (srtp: MediaSrtp) =>
  (audio: AudioDescription): number => {
    if (srtp === 'never') return isPlain(audio) ? 1 : 0
    if (isSecure(audio)) return 3
    if (!isPlain(audio)) return 0
    if (audio.crypto.length > 0) return 2
    return srtp === 'require' ? 0 : 1
  }

/** The two keys of one leg: ours, which stays for its whole life, and the peer's of its last description. */
export class Sdes {
  private readonly key = randomBytes(30)
  private readonly sealer = new Sealer(masterOf({ tag: 1, key: this.key }))
  private theirs: SdpCrypto | null = null
  private opener: Opener | null = null
  private isAgreed = false

  /** True while packets are encrypted. */
  get isOn(): boolean {
    return this.opener !== null
  }

  /** What a description of ours says; null: nothing, as the peer wants none. */
  own(): { readonly tag: number; readonly suite: string; readonly key: string } | null {
    if (this.isAgreed && !this.theirs) return null
    return { tag: this.theirs?.tag ?? 1, suite, key: this.key.toString('base64') }
  }

  setRemote({ crypto: [chosen] }: AudioDescription): void {
    this.isAgreed = true
    // A key that stays keeps its replay list and rollover counter (RFC 3711, 3.3).
    if (!chosen) this.opener = null
    else if (!this.opener || !this.theirs?.key.equals(chosen.key)) this.opener = new Opener(masterOf(chosen))
    this.theirs = chosen ?? null
  }

  seal(packet: Buffer): Buffer | null {
    return this.sealer.seal(packet)
  }

  sealRtcp(packet: Buffer): Buffer {
    return this.sealer.sealRtcp(packet)
  }

  open(packet: Buffer): Buffer | null {
    return this.opener?.open(packet) ?? null
  }

  openRtcp(packet: Buffer): Buffer | null {
    return this.opener?.openRtcp(packet) ?? null
  }
}
