import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Costs, costOf, readCosts } from './costs.ts'
import { makeShareCheck } from './share.ts'

/** A test file and the environment that selects its database server. */
export type FileRun = { readonly name: string; readonly file: string; readonly env: Readonly<Record<string, string>> }

/** The files of one process. */
export type Group = readonly [FileRun, ...FileRun[]]

export const groupName = ([first, ...others]: Group): string =>
  others.length === 0 ? first.name : `${first.name} and ${others.length} more`

const runOnNewest = (file: string): FileRun => ({ name: file, file, env: {} })
const runOnOldest = (file: string): FileRun => ({
  name: `${file} on PostgreSQL 15`,
  file,
  env: { TRUNKLINE_TEST_POSTGRES: '15' },
})

/** Files of the domains without SQL of their own, or too slow to run twice. */
export const newestOnly = [
  'src/domains/numbers/catalogue/load-catalogue.test.ts',
  'src/domains/sms/route/route-table.test.ts',
  'src/domains/sms/submit/flapping.test.ts',
  'src/domains/sms/submit/long-messages.test.ts',
  'src/domains/sms/submit/pair-sequencer.test.ts',
  'src/domains/sms/submit/pending-commits.test.ts',
]

/**
 * Files that run on PostgreSQL 15 only with `--oldest`: they wait, or compute much, for few statements of their own.
 * Measured: 11 of the 29 s of processor time that Node spent there.
 */
export const oldestOnRequest = [
  'src/domains/contacts/address-book-sync.test.ts',
  'src/domains/contacts/duplicates/duplicates.test.ts',
  'src/domains/contacts/pictures/pictures.test.ts',
  'src/domains/ledger/concurrent-spenders.test.ts',
  'src/domains/numbers/suppliers/supplier-limiter.test.ts',
  'src/domains/numbers/suppliers/supplier-order-job.test.ts',
  'src/domains/numbers/suppliers/supplier-orders.test.ts',
  'src/domains/numbers/suppliers/supplier-registry.test.ts',
  'src/domains/sms/carrier-providers.test.ts',
  'src/domains/sms/sendings/sending-crash.test.ts',
  'src/domains/sms/submit/failover-submitter.test.ts',
  'src/domains/sms/submit/fair-queue.test.ts',
  'src/domains/sms/submit/national-languages.test.ts',
  'src/domains/sms/submit/sender-rate-limit.test.ts',
  'src/domains/sms/submit/submit-monitor.test.ts',
  'src/domains/sms/submit/window-capacity.test.ts',
  'src/domains/tokens/forgeries.test.ts',
]

/**
 * The tests of SQL for PostgreSQL 15: those of the domains and of the queue. Tests with `onEachPostgres` run there
 * anyway.
 */
const oldestServerFiles = (root: string): string[] =>
  globSync(
    [
      'src/domains/{accounts,contacts,ledger,numbers,sms,tokens}/**/*.test.ts',
      'src/platform/jobs/**/*.test.ts',
      'src/platform/http/idempotency.test.ts',
    ],
    { cwd: root },
  ).filter(
    (file) =>
      !newestOnly.includes(file) &&
      !/contacts\/files|numbers\/(?:imports|operator|pricing)/.test(file) &&
      !readFileSync(join(root, file), 'utf8').includes('onEachPostgres('),
  )

/** Returns all runs on PostgreSQL 15. */
export const runsOnOldest = (root: string): FileRun[] => oldestServerFiles(root).map(runOnOldest)

/** Returns the runs of files on PostgreSQL 18, in the given order. */
export const runsOf = (files: readonly string[]): FileRun[] => files.map(runOnNewest)

/** Returns the SQL tests on PostgreSQL 15 that a full run has. */
export const quickRunsOnOldest = (root: string): FileRun[] =>
  runsOnOldest(root).filter(({ file }) => !oldestOnRequest.includes(file))

/** One of several machines that share a run, such as the second of four. */
export type Shard = { readonly number: number; readonly of: number }

/** Reads a shard such as `2/4`. @throws Error when it is none */
export const shardFrom = (text: string): Shard => {
  const [, number, of] = /^(\d+)\/(\d+)$/.exec(text)?.map(Number) ?? []
  if (!number || !of || number > of) throw new Error(`--shard must be a part such as 2/4, not ${text}`)
  return { number, of }
}

/** Returns the runs of a shard: the dearest run first, each goes to the shard that has the least work so far. */
export const runsOfShard = (turns: readonly FileRun[], { number, of }: Shard, costs: Costs): FileRun[] => {
  const shards = Array.from({ length: of }, () => ({ cpu: 0, turns: new Set<FileRun>() }))
  const cpuOf = ({ name }: FileRun) => costOf(costs, name).cpu
  for (const turn of turns.toSorted((a, b) => cpuOf(b) - cpuOf(a))) {
    const least = shards.reduce((best, shard) => (shard.cpu < best.cpu ? shard : best))
    least.cpu += cpuOf(turn)
    least.turns.add(turn)
  }
  return turns.filter((turn) => shards[number - 1]?.turns.has(turn))
}

/** Files of a shared process: at most so many, and so long together, so that both cores are busy to the end. */
const mostFiles = 40
const mostSeconds = 60

/** Files of a process with a browser. They compute all the time, start first, and share what a start takes: 3 s of work. */
const mostBrowserSeconds = 110

/** A file that takes longer starts early and by itself, unless it has a browser. */
const longFile = 30

/** Gives each file its own process, in the given order. */
export const ungrouped = (turns: readonly FileRun[]): Group[] => turns.map((turn) => [turn])

const filled = (turns: readonly FileRun[], costs: Costs, most: number): Group[] => {
  const groups: [FileRun, ...FileRun[]][] = []
  let total = 0
  for (const turn of turns) {
    const last = groups.at(-1)
    const { seconds } = costOf(costs, turn.name)
    if (last && last.length < mostFiles && total + seconds <= most) last.push(turn)
    else groups.push([turn])
    total = last === groups.at(-1) ? total + seconds : seconds
  }
  return groups
}

const browserKind = 'browser'

/** Share of a core below which a file counts as one that waits. */
const waiting = 0.4

/** Whether a group mostly waits: for timers, for a carrier, for sounds. */
export const mostlyWaits = (group: Group, costs: Costs): boolean => {
  const sum = (what: 'cpu' | 'seconds') => group.reduce((total, { name }) => total + costOf(costs, name)[what], 0)
  return sum('cpu') <= waiting * sum('seconds')
}

/**
 * Groups files: those share a process that may, that have the same server and browser, and that wait or compute alike. The
 * longest groups come first. Costs are those of an earlier run; an unknown file counts as an ordinary one.
 */
export const grouped = (turns: readonly FileRun[], root: string, costs: Costs = readCosts()): Group[] => {
  const { mayShare, usesBrowser } = makeShareCheck(root)
  const kindOf = (turn: FileRun) => {
    if (!mayShare(turn.file)) return turn.name
    if (usesBrowser(turn.file)) return browserKind
    if (costOf(costs, turn.name).seconds > longFile) return turn.name
    return `${JSON.stringify(turn.env)} ${mostlyWaits([turn], costs)}`
  }
  const secondsOf = (group: Group) => group.reduce((sum, { name }) => sum + costOf(costs, name).seconds, 0)
  return [...Map.groupBy(turns, kindOf)]
    .flatMap(([kind, same]) => filled(same, costs, kind === browserKind ? mostBrowserSeconds : mostSeconds))
    .sort((a, b) => secondsOf(b) - secondsOf(a))
}
