/** The middle one; of an even number, the lower of the two. */
export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN

/** 12345 → `12.3 k`. */
export const thousands = (value: number): string =>
  value >= 1000 ? `${(value / 1000).toFixed(1)} k` : value.toFixed(value < 10 ? 2 : 0)

/** Prints rows under headings as a Markdown table. */
export const table = (headings: readonly string[], rows: readonly (readonly string[])[]): void => {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, i) => (cells[i] ?? '').padEnd(width)).join(' | ')} |`
  console.log(line(headings))
  console.log(`|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`)
  for (const row of rows) console.log(line(row))
}

/** A whole number given as `--name 5`, or else the default. */
export const option = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`)
  const value = at < 0 ? otherwise : Number(process.argv[at + 1])
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} needs a whole number`)
  return value
}

export type Latencies = { p50: number; p99: number }

/** Milliseconds that an act takes, one at a time: so many rounds, or 30 s. It is given numbers that were not given before. */
export const latencies = async (act: (i: number) => Promise<unknown>, rounds: number): Promise<Latencies> => {
  const warm = 20
  for (let i = 1; i <= warm; i++) await act(i)
  const times: number[] = []
  const end = performance.now() + 30_000
  for (let i = 1; i <= rounds && performance.now() < end; i++) {
    const began = performance.now()
    await act(warm + i)
    times.push(performance.now() - began)
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  return { p50: at(0.5), p99: at(0.99) }
}
