import type { G711 } from '@trunkline/rtp/g711.ts'
import type { RtpPacket } from '@trunkline/rtp/rtp.ts'

/**
 * Hears the G.711 audio of a leg packet by packet, as it comes from the peer or goes to it: late packets too, lost ones
 * not. It must not change the packet. `at`: milliseconds of the monotonic clock.
 */
export type Tap = (codec: G711, packet: RtpPacket, at: number) => void

/** Taps of one direction of a leg. Null without taps, so that a relayed packet costs nothing. */
export type Taps = readonly Tap[] | null

export const withTap = (taps: Taps, tap: Tap): Taps => [...(taps ?? []), tap]

export const withoutTap = (taps: Taps, tap: Tap): Taps => {
  const rest = taps?.filter((one) => one !== tap) ?? []
  return rest.length === 0 ? null : rest
}
