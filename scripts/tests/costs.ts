import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The cost of a file: seconds of processor time of its whole process tree, seconds until it ended, and its tests. */
export type Cost = { readonly cpu: number; readonly seconds: number; readonly tests: number }

/** Costs by the name of a run, such as `test/start.test.ts` or `src/… on PostgreSQL 15`. */
export type Costs = Readonly<Record<string, Cost>>

const stored = join(import.meta.dirname, 'costs.json')

/** An ordinary file: one world, a dozen requests. */
const ordinary: Cost = { cpu: 1.5, seconds: 2, tests: 5 }

export const costOf = (costs: Costs, name: string): Cost => costs[name] ?? ordinary

/** Reads the costs of the last full run with `--cost`. */
export const readCosts = (): Costs => (existsSync(stored) ? (JSON.parse(readFileSync(stored, 'utf8')) as Costs) : {})

/** Stores costs, one line a file, for the order of later runs. */
export const writeCosts = (costs: Costs): void => {
  const lines = Object.keys(costs)
    .sort()
    .map((name) => `  ${JSON.stringify(name)}: ${JSON.stringify(costs[name])}`)
  writeFileSync(stored, `{\n${lines.join(',\n')}\n}\n`)
}
