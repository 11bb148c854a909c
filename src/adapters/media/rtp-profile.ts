import type { AudioDescription } from '@trunkline/rtp/sdp.ts'
import type { MediaSrtp } from '../../ports/media.ts'

// RTP profiles of trunk legs: RTP/AVP, and RTP/SAVP with keys in the description (SDES, RFC 4568).

const isPlain = ({ protocol }: AudioDescription) => protocol === 'RTP/AVP' || protocol === 'RTP/AVPF'
const isSecure = ({ protocol, crypto }: AudioDescription) =>
  (protocol === 'RTP/SAVP' || protocol === 'RTP/SAVPF') && crypto.length > 0

/** Ranks descriptions by fit to a leg's SRTP setting; 0: unusable. Keys with RTP/AVP offer encryption (RFC 8643). */
export const fitnessFor =
  (srtp: MediaSrtp) =>
  (audio: AudioDescription): number => {
    if (srtp === 'never') return isPlain(audio) ? 1 : 0
    if (isSecure(audio)) return 3
    if (!isPlain(audio)) return 0
    if (audio.crypto.length > 0) return 2
    return srtp === 'require' ? 0 : 1
  }
