/** The quality of a call at this end, measured over the last seconds. */
export type Quality = {
  /** Estimated mean opinion score (ITU-T G.107): 1 (bad) to 4.4 (best possible on a telephone). */
  readonly mos: number
  /** Loss of received packets, percent. */
  readonly lossPercent: number
  /** Jitter of received packets, milliseconds. */
  readonly jitterMs: number
  /** Round-trip time to the server, milliseconds; null before the first measurement. */
  readonly roundTripMs: number | null
  /** Since the start of the call. */
  readonly packetsReceived: number
  /** Since the start of the call. */
  readonly packetsSent: number
  /** MIME type, for example `audio/PCMU`. */
  readonly codec: string | null
}
