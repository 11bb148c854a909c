import type { AudioDescription } from '@trunkline/rtp/sdp.ts'
import { defaultPacketMs, maxPacketMs, minPacketMs } from './limits.ts'

/**
 * Milliseconds of G.711 in each packet to a peer: its preference, within its limit (RFC 8866, 6.4 and 6.5), or the
 * default with a limit alone. Null: the peer takes packets of any length.
 */
export const packetMsOf = ({ ptime, maxptime }: Pick<AudioDescription, 'ptime' | 'maxptime'>): number | null =>
  ptime === null && maxptime === null
    ? null
    : Math.max(Math.min(ptime ?? defaultPacketMs, maxptime ?? Number.POSITIVE_INFINITY, maxPacketMs), minPacketMs)
