import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StoredResult } from '../bench/bench.ts'
import { benches } from '../bench/list.ts'

const root = join(import.meta.dirname, '..')

/** The page with the table of figures. */
export const figuresFile = join(root, 'docs/performance.md')

/** Returns the stored results, in the order of the benches. @throws Error for the result of a bench that is gone */
export const storedResults = (): StoredResult[] => {
  const results = globSync('bench/results/*.json', { cwd: root }).map(
    // Written by bench/bench.ts.
    (file) => JSON.parse(readFileSync(join(root, file), 'utf8')) as StoredResult,
  )
  const place = ({ name }: StoredResult) => benches.findIndex((bench) => bench.name === name)
  const unknown = results.find((result) => place(result) < 0)
  if (unknown) throw new Error(`bench/results/${unknown.name}.json has no bench in bench/list.ts`)
  return results.sort((a, b) => place(a) - place(b))
}

const present = (value: number): string => value.toLocaleString('en', { maximumSignificantDigits: 3 })

const rowsOf = ({ name, figures }: StoredResult): string[] => {
  const bench = benches.find((one) => one.name === name)
  return Object.entries(bench?.figures ?? {}).flatMap(([key, { label, unit, isHeadline, goal }]) => {
    const of = figures[key]
    if (!of || !isHeadline) return []
    const range = `${present(of.least)} to ${present(of.most)}`
    const most = goal === undefined ? '' : `at most ${present(goal)} `
    return [`| ${name} | ${label} | ${present(of.median)} ${unit} | ${range} | ${most}|`]
  })
}

/** Returns where and when a result was measured. */
const originOf = ({ name, commit, date, cores, rounds, rows }: StoredResult): string =>
  `- ${name}: ${[
    `commit \`${commit.slice(0, 7)}\``,
    date,
    `${cores} cores`,
    ...(rounds > 1 ? [`${rounds} rounds`] : []),
    ...(rows ? [`${rows.toLocaleString('en')} messages in the database`] : []),
  ].join(', ')}`

/** Returns the table of the headline figures of results, and their origins. */
export const tableOf = (results: readonly StoredResult[]): string =>
  results.length === 0
    ? 'No results are stored yet: `npm run bench -- sms --store` stores those of one bench.'
    : [
        '| Bench | Figure | Median | Least to most | Goal |',
        '|---|---|---|---|---|',
        ...results.flatMap(rowsOf),
        '',
        ...results.map(originOf),
      ].join('\n')

/** Returns a page with the table between its markers generated from results. */
export const withFigures = (page: string, results: readonly StoredResult[]): string =>
  page.replace(
    /(<!-- figures -->\n).*?(<!-- \/figures -->)/s,
    (_, start: string, end: string) => `${start}\n${tableOf(results)}\n\n${end}`,
  )

if (import.meta.main) writeFileSync(figuresFile, withFigures(readFileSync(figuresFile, 'utf8'), storedResults()))
