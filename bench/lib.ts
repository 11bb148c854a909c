/** Returns the median; with an even count, the lower of the two middle values. */
export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN

/** 12345 → `12.3 k`. */
export const thousands = (value: number): string =>
  value >= 1000 ? `${(value / 1000).toFixed(1)} k` : value.toFixed(value < 10 ? 2 : 0)

/** Prints a Markdown table. */
export const table = (headings: readonly string[], rows: readonly (readonly string[])[]): void => {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, i) => (cells[i] ?? '').padEnd(width)).join(' | ')} |`
  console.log(line(headings))
  console.log(`|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`)
  for (const row of rows) console.log(line(row))
}

export type Latencies = { p50: number; p99: number }

/**
 * Measures an operation sequentially for `rounds` rounds, at most 30 s. Each run receives a new number.
 * @returns milliseconds
 */
export const latencies = async (operation: (i: number) => Promise<unknown>, rounds: number): Promise<Latencies> => {
  const warmUpRuns = 20
  for (let i = 1; i <= warmUpRuns; i++) await operation(i)
  const times: number[] = []
  const end = performance.now() + 30_000
  for (let i = 1; i <= rounds && performance.now() < end; i++) {
    const began = performance.now()
    await operation(warmUpRuns + i)
    times.push(performance.now() - began)
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  return { p50: at(0.5), p99: at(0.99) }
}

/** Returns the medians of several measurements. */
export const medianOf = (list: readonly Latencies[]): Latencies => ({
  p50: median(list.map(({ p50 }) => p50)),
  p99: median(list.map(({ p99 }) => p99)),
})
