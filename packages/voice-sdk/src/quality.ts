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

type PacketCounts = { received: number; lost: number }

type StatsEntry = {
  readonly type: string
  readonly id: string
  readonly codecId?: string
  readonly mimeType?: string
  readonly kind?: string
  readonly packetsReceived?: number
  readonly packetsLost?: number
  readonly packetsSent?: number
  readonly jitter?: number
  readonly nominated?: boolean
  readonly currentRoundTripTime?: number
}

/** Delay of buffers, packetisation and the sound card, which no statistics contain, ms. */
const fixedDelayMs = 60

/**
 * Estimates the mean opinion score: G.107 with the defaults of its table 3 and G.711 with concealed loss (G.113: Ie 0,
 * Bpl 25.1). The figure serves to compare calls.
 */
export const estimateMos = (lossPercent: number, jitterMs: number, roundTripMs: number): number => {
  const delay = roundTripMs / 2 + 2 * jitterMs + fixedDelayMs
  const late = delay > 177.3 ? 0.11 * (delay - 177.3) : 0
  const r = Math.max(0, 93.2 - 0.024 * delay - late - (95 * lossPercent) / (lossPercent + 25.1))
  const mos = 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6
  return Math.min(4.5, Math.max(1, mos))
}

const round = (value: number, digits = 0): number => Number(value.toFixed(digits))

/** Returns a function that measures the quality since its last call. @param isHeld whether no packets are expected */
export const makeQualityMeter = (connection: RTCPeerConnection, isHeld: () => boolean) => {
  let before: PacketCounts = { received: 0, lost: 0 }
  return async (): Promise<Quality | null> => {
    const report = await connection.getStats()
    const entries: StatsEntry[] = []
    report.forEach((entry: StatsEntry) => {
      entries.push(entry)
    })
    const inbound = entries.find(({ type, kind }) => type === 'inbound-rtp' && kind === 'audio')
    const outbound = entries.find(({ type, kind }) => type === 'outbound-rtp' && kind === 'audio')
    if (!inbound) return null
    const pair = entries.find(({ type, nominated }) => type === 'candidate-pair' && nominated)
    const now = { received: inbound.packetsReceived ?? 0, lost: Math.max(0, inbound.packetsLost ?? 0) }
    // Browsers reset the counters after some media changes.
    if (now.received < before.received) before = { received: 0, lost: 0 }
    const received = now.received - before.received
    const lost = Math.max(0, now.lost - before.lost)
    before = now
    // No packets at all count as 100 % loss: browsers detect loss only from a later packet.
    const lossPercent = received + lost > 0 ? (100 * lost) / (received + lost) : isHeld() ? 0 : 100
    const jitterMs = (inbound.jitter ?? 0) * 1_000
    const roundTripMs = pair?.currentRoundTripTime === undefined ? null : pair.currentRoundTripTime * 1_000
    return {
      mos: round(estimateMos(lossPercent, jitterMs, roundTripMs ?? 0), 2),
      lossPercent: round(lossPercent, 1),
      jitterMs: round(jitterMs),
      roundTripMs: roundTripMs === null ? null : round(roundTripMs),
      packetsReceived: now.received,
      packetsSent: outbound?.packetsSent ?? 0,
      codec: entries.find(({ id }) => id === inbound.codecId)?.mimeType ?? null,
    }
  }
}
