/** How a call sounds at the moment: measured over the last seconds, at this end. */
export type Quality = {
  /** Mean opinion score as ITU-T G.107 estimates it: 1 (bad) to 4.4 (as good as a telephone gets). */
  readonly mos: number
  /** Of what came in: lost, in percent; its jitter in milliseconds. */
  readonly lossPercent: number
  readonly jitterMs: number
  /** To the server and back; null before it was measured. */
  readonly roundTripMs: number | null
  /** Since the call began. */
  readonly packetsReceived: number
  readonly packetsSent: number
  /** Such as `audio/PCMU`. */
  readonly codec: string | null
}

type Counted = { received: number; lost: number }

type Line = {
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

/** Buffers, packets and the sound card: what no statistics show, ms. */
const fixedDelayMs = 60

/** G.107 with the defaults of its table 3; loss as of G.711 that is concealed (G.113: Ie 0, Bpl 25.1). A figure to compare calls by. */
export const opinion = (lossPercent: number, jitterMs: number, roundTripMs: number): number => {
  const delay = roundTripMs / 2 + 2 * jitterMs + fixedDelayMs
  const late = delay > 177.3 ? 0.11 * (delay - 177.3) : 0
  const r = Math.max(0, 93.2 - 0.024 * delay - late - (95 * lossPercent) / (lossPercent + 25.1))
  const mos = 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6
  return Math.min(4.5, Math.max(1, mos))
}

const round = (value: number, digits = 0): number => Number(value.toFixed(digits))

/** Measures a connection again and again: each figure is of the time since the one before. @param isHeld nothing need come */
export const makeMeter = (connection: RTCPeerConnection, isHeld: () => boolean) => {
  let before: Counted = { received: 0, lost: 0 }
  return async (): Promise<Quality | null> => {
    const report = await connection.getStats()
    const lines: Line[] = []
    report.forEach((line: Line) => {
      lines.push(line)
    })
    const inbound = lines.find(({ type, kind }) => type === 'inbound-rtp' && kind === 'audio')
    const outbound = lines.find(({ type, kind }) => type === 'outbound-rtp' && kind === 'audio')
    if (!inbound) return null
    const pair = lines.find(({ type, nominated }) => type === 'candidate-pair' && nominated)
    const now = { received: inbound.packetsReceived ?? 0, lost: Math.max(0, inbound.packetsLost ?? 0) }
    // A browser counts anew after some changes of the media.
    if (now.received < before.received) before = { received: 0, lost: 0 }
    const received = now.received - before.received
    const lost = Math.max(0, now.lost - before.lost)
    before = now
    // What does not come at all is not counted as lost: there is no later packet to tell of it.
    const lossPercent = received + lost > 0 ? (100 * lost) / (received + lost) : isHeld() ? 0 : 100
    const jitterMs = (inbound.jitter ?? 0) * 1_000
    const roundTripMs = pair?.currentRoundTripTime === undefined ? null : pair.currentRoundTripTime * 1_000
    return {
      mos: round(opinion(lossPercent, jitterMs, roundTripMs ?? 0), 2),
      lossPercent: round(lossPercent, 1),
      jitterMs: round(jitterMs),
      roundTripMs: roundTripMs === null ? null : round(roundTripMs),
      packetsReceived: now.received,
      packetsSent: outbound?.packetsSent ?? 0,
      codec: lines.find(({ id }) => id === inbound.codecId)?.mimeType ?? null,
    }
  }
}
