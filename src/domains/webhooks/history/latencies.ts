// A histogram of durations. Its bounds grow by at most a half, so that an estimate is good enough for a chart.

/** Upper bounds of the bins in milliseconds; the last bin has none. Stored rows depend on them: only append. */
const bounds = [
  5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1_000, 1_500, 2_000, 3_000, 4_000, 5_000, 7_000,
  10_000,
] as const

export const makeHistogram = (): number[] => new Array<number>(bounds.length + 1).fill(0)

export const addDuration = (histogram: number[], ms: number): void => {
  const bin = bounds.findIndex((bound) => ms <= bound)
  const at = bin < 0 ? bounds.length : bin
  histogram[at] = (histogram[at] ?? 0) + 1
}

/** Estimates a quantile, in milliseconds, by interpolation within its bin; 0 for an empty histogram. */
export const quantile = (histogram: readonly number[], part: number): number => {
  const rank = part * histogram.reduce((sum, n) => sum + n, 0)
  let before = 0
  for (const [i, n] of histogram.entries()) {
    const [low, high] = [bounds[i - 1] ?? 0, bounds[i] ?? bounds.at(-1) ?? 0]
    if (n > 0 && before + n >= rank) return Math.round(low + ((rank - before) / n) * (high - low))
    before += n
  }
  return 0
}
