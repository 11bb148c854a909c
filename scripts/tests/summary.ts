import type { Cost, Costs } from './costs.ts'
import { fullFormMark, partly } from './forms.ts'
import type { FileResult } from './run-files.ts'
import type { LeftOut } from './selection.ts'

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

const rounded = (value: number) => Math.round(value * 10) / 10

/** The costs of the files of a run, to be stored. */
export const costsOf = (outcomes: readonly FileResult[]): Costs =>
  Object.fromEntries(
    outcomes.map(({ turn, cpu, ms, counts }): [string, Cost] => [
      turn.name,
      { cpu: rounded(cpu ?? 0), seconds: rounded(ms / 1000), tests: counts.tests },
    ]),
  )

/**
 * Prints the processor time of each file. That of the servers cannot be divided: files use them side by side.
 * @param total seconds of the run until now
 */
export const printCost = (outcomes: readonly FileResult[], total: number): void => {
  const all = outcomes.flatMap(({ turn, cpu }) => (cpu === null ? [] : { name: turn.name, cpu }))
  const ofFiles = all.reduce((sum, { cpu }) => sum + cpu, 0)
  console.log(`\nProcessor time, ${seconds(total * 1000)} in total:`)
  const line = (cpu: number, name: string) => console.log(`  ${seconds(cpu * 1000).padStart(8)}  ${name}`)
  line(total - ofFiles, 'servers of the run, the runner, starts and ends of processes')
  for (const { name, cpu } of all.sort((a, b) => b.cpu - a.cpu)) line(cpu, name)
}

export const printSlow = (outcomes: readonly FileResult[]): void => {
  const slow = outcomes.filter(({ ms }) => ms > 10_000).sort((a, b) => b.ms - a.ms)
  if (slow.length > 0) console.log('\nOver 10 s:')
  for (const { turn, ms } of slow) console.log(`  ${seconds(ms).padStart(8)}  ${turn.name}`)
}

const skippedTests = (outcomes: readonly FileResult[]) =>
  outcomes.flatMap(({ turn, skipped }) => skipped.map((one) => ({ ...one, file: turn.name })))

const counted = (count: number) => `${count} ${count === 1 ? 'test' : 'tests'}`

/**
 * Prints the tests that this machine cannot run, and the packages that they need.
 * @param withoutServer why a run has no tests on PostgreSQL 15; false if it has, or needs none
 */
export const printSkipped = (outcomes: readonly FileResult[], withoutServer: string | false): void => {
  const skipped = skippedTests(outcomes).filter(({ reason }) => !reason.startsWith(fullFormMark))
  if (withoutServer)
    skipped.push({ file: 'src', name: 'the SQL of the domains on PostgreSQL 15', reason: withoutServer })
  if (skipped.length === 0) return
  const missingPackages = new Set<string>()
  console.log('\nSKIPPED, not proved by this run:')
  for (const [reason, tests] of Map.groupBy(skipped, ({ reason }) => reason)) {
    console.log(`  ${counted(tests.length)}: ${reason}`)
    for (const { file, name } of tests.slice(0, 5)) console.log(`    ${file}: ${name}`)
    const wanted = /apt-get install ([a-z0-9][a-z0-9+.-]*)/.exec(reason)?.[1]
    if (wanted) missingPackages.add(wanted)
  }
  if (missingPackages.size > 0)
    console.log(`\nTo run them: apt-get install -y ${[...missingPackages].sort().join(' ')}`)
}

/** Prints what only the full form proves: files with the number of their tests in the last full run, and single tests. */
export const printLeftOut = (outcomes: readonly FileResult[], leftOut: readonly LeftOut[], costs: Costs): void => {
  const single = skippedTests(outcomes).filter(({ reason }) => reason.startsWith(fullFormMark))
  const ofFiles = leftOut.map(({ why, names }) => ({
    why,
    count: names.reduce((sum, name) => sum + (costs[name]?.tests ?? 1), 0),
    names: why.includes('PostgreSQL') ? [`${names.length} files`] : names,
  }))
  const ofTests = [...Map.groupBy(single, ({ reason }) => reason)].map(([reason, tests]) => ({
    why: reason.slice(fullFormMark.length),
    count: tests.length,
    names: [...new Set(tests.map(({ file }) => file))],
  }))
  const all = [...ofFiles, ...ofTests]
  if (all.length === 0) return
  const total = all.reduce((sum, { count }) => sum + count, 0)
  console.log(`\nOnly the full form proves (npm test -- --full), ${counted(total)}:`)
  for (const { why, count, names } of all.sort((a, b) => b.count - a.count))
    console.log(`  ${counted(count)}: ${why}: ${names.join(', ')}`)
  if (leftOut.length === 0) return
  for (const { why, files } of partly) console.log(`  in part: ${why}: ${files.join(', ')}`)
}
