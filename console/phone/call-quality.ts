import type { CallQuality } from '../shell/phone-state.ts'

/** Measurements of the voice SDK, over two seconds. */
type Quality = {
  readonly mos: number
  readonly lossPercent: number
  readonly jitterMs: number
  readonly roundTripMs: number | null
}

/** Limits of the mean opinion score for four, three and two bars. */
const limits = [4, 3.6, 3] as const

const causeOf = ({ lossPercent, jitterMs, roundTripMs }: Quality): CallQuality['cause'] => {
  if (lossPercent >= 100) return 'silence'
  // Points that each of them takes from the score, roughly.
  const costs = [
    ['loss', lossPercent * 0.12],
    ['jitter', jitterMs * 0.012],
    ['delay', Math.max(0, (roundTripMs ?? 0) - 150) * 0.004],
  ] as const
  const [cause] = costs.toSorted(([, one], [, other]) => other - one)[0] ?? costs[0]
  return cause
}

/** Returns the quality of the last seconds, with its cause below four bars. */
export const qualityOf = (quality: Quality): CallQuality => {
  const place = limits.findIndex((limit) => quality.mos >= limit)
  const bars = ([4, 3, 2] as const)[place] ?? 1
  return { bars, mos: quality.mos, cause: bars === 4 ? 'none' : causeOf(quality) }
}
