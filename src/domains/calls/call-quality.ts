import type { MediaLegStats } from '../../ports/media.ts'
import { fixedDelayMs } from './limits.ts'

/** Quality of one side of a call, measured where its sound arrives at the platform. */
export type LegQuality = {
  readonly mos: number
  readonly loss_percent: number
  readonly jitter_ms: number
  readonly round_trip_ms?: number
}

export type CallQuality = { readonly caller?: LegQuality; readonly callee?: LegQuality }

/** Estimates the mean opinion score: G.107 with the defaults of its table 3, and G.711 with concealed loss (G.113). */
export const estimateMos = (lossPercent: number, jitterMs: number, roundTripMs: number): number => {
  const delay = roundTripMs / 2 + 2 * jitterMs + fixedDelayMs
  const late = delay > 177.3 ? 0.11 * (delay - 177.3) : 0
  const r = Math.max(0, 93.2 - 0.024 * delay - late - (95 * lossPercent) / (lossPercent + 25.1))
  const mos = 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6
  return Math.min(4.5, Math.max(1, mos))
}

const round = (value: number, digits: number): number => Number(value.toFixed(digits))

const legQuality = ({ received, roundTripMs }: MediaLegStats): LegQuality | null => {
  const { packets, lost, jitterMs } = received
  if (packets === 0) return null
  const missing = Math.max(0, lost ?? 0)
  const loss = (100 * missing) / (packets + missing)
  return {
    mos: round(estimateMos(loss, jitterMs ?? 0, roundTripMs ?? 0), 2),
    loss_percent: round(loss, 2),
    jitter_ms: round(jitterMs ?? 0, 1),
    ...(roundTripMs === null ? {} : { round_trip_ms: round(roundTripMs, 0) }),
  }
}

/** Returns the quality of the sides that sent sound; null if neither did. */
export const qualityOf = (stats: readonly MediaLegStats[]): CallQuality | null => {
  const of = (leg: 'caller' | 'callee') => {
    const found = stats.find((one) => one.leg === leg)
    const quality = found ? legQuality(found) : null
    return quality ? { [leg]: quality } : {}
  }
  const both: CallQuality = { ...of('caller'), ...of('callee') }
  return Object.keys(both).length > 0 ? both : null
}
