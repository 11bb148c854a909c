import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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

/**
 * The slowest files, the longest first, so that both cores are busy to the end. A slow file missing here only starts
 * later. `npm test` prints the files that took over 10 s.
 */
export const slowFiles = [
  // Files that wait most stand between those that compute, so that both cores are busy.
  ...['test/console/firefox.test.ts', 'test/voice/processes.test.ts', 'test/checks.test.ts'],
  ...['test/sdk/platform.test.ts', 'test/contract.test.ts', 'src/domains/callers/code-by-call.test.ts'],
  ...['test/console/developers.test.ts', 'test/console/pseudo.test.ts', 'test/counterparts/sipp.test.ts'],
  ...['test/console/ground.test.ts', 'test/fuzz.test.ts', 'test/voice/devices.test.ts', 'test/isolation.test.ts'],
  ...['test/console/numbers.test.ts', 'src/domains/msgapp/networks/prosody.test.ts', 'test/console/phone.test.ts'],
  ...['test/console/inbox.test.ts', 'src/adapters/xmpp/liveness.test.ts'],
  ...['test/console/inbox-sending.test.ts', 'test/voice/rtpengine.test.ts', 'test/start.test.ts'],
  ...['test/csv-export.test.ts', 'test/sandbox.test.ts', 'test/pages.test.ts'],
  ...['test/console/people.test.ts', 'test/console/notifications.test.ts', 'test/counterparts/tshark.test.ts'],
  ...['test/console/contacts.test.ts', 'test/console/logs.test.ts', 'src/domains/backup/backup.test.ts'],
  ...['src/domains/msgapp/networks/whatsapp-web-links.test.ts', 'test/sdk/example.test.ts', 'test/sdk/firefox.test.ts'],
  ...['src/domains/backup/running.test.ts', 'test/sdk/device.test.ts', 'test/walk.test.ts'],
  ...['src/domains/sms/submit/failover-submitter.test.ts', 'test/console/channels.test.ts'],
  ...['src/domains/calls/lease/voice-service.test.ts', 'src/domains/msgapp/networks/ejabberd.test.ts'],
  ...['test/sdk/call.test.ts', 'src/domains/msgapp/networks/sandbox.test.ts', 'test/chaos/stop.test.ts'],
  ...['src/domains/msgapp/channels/channels.test.ts', 'src/domains/numbers/suppliers/supplier-orders.test.ts'],
  // Runs in its own process because it measures time.
  'test/linear.test.ts',
]

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
  'src/domains/sms/submit/failover-submitter.test.ts',
  'src/domains/sms/submit/fair-queue.test.ts',
  'src/domains/sms/submit/national-languages.test.ts',
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

/** Returns a full run: slow files first, then the others, then the quick SQL tests on PostgreSQL 15 if it is installed. */
export const fullRun = (files: readonly string[], root: string, hasOldest: boolean): FileRun[] => {
  const known = slowFiles.filter((file) => files.includes(file))
  const rest = files.filter((file) => !known.includes(file))
  const quickOnOldest = runsOnOldest(root).filter(({ file }) => !oldestOnRequest.includes(file))
  return [...known, ...rest].map(runOnNewest).concat(hasOldest ? quickOnOldest : [])
}

/** Files per shared process. More would save no further time, and could leave one core busy at the end. */
const filesPerProcess = 12

/** Walks of the console per process: they share a browser, and take 20 to 35 s each. */
const walksPerProcess = 3

const isWalk = ({ file }: FileRun): boolean => file.startsWith('test/console/') && slowFiles.includes(file)

const chunks = (turns: readonly FileRun[], size: number): Group[] =>
  Array.from({ length: Math.ceil(turns.length / size) }, (_, n) => turns.slice(n * size, (n + 1) * size)).flatMap(
    ([first, ...others]) => (first ? [[first, ...others] as const] : []),
  )

const alone = (turn: FileRun): Group => [turn]

/** Gives each file its own process, in the given order. */
export const ungrouped = (turns: readonly FileRun[]): Group[] => turns.map(alone)

/**
 * Groups files: slow ones first, each in its own process, and walks of the console between them, three to a process. The
 * others share a process where they may and the server matches.
 */
export const grouped = (turns: readonly FileRun[], root: string): Group[] => {
  const mayShare = makeShareCheck(root)
  const isShared = (turn: FileRun) => (isWalk(turn) || !slowFiles.includes(turn.file)) && mayShare(turn.file)
  const [shared, single] = [turns.filter(isShared), turns.filter((turn) => !isShared(turn))]
  const groups = [...Map.groupBy(shared, ({ env }) => JSON.stringify(env)).values()].flatMap((same) =>
    chunks(
      same.filter((turn) => !isWalk(turn)),
      filesPerProcess,
    ),
  )
  const isSlow = ({ file }: FileRun) => slowFiles.includes(file)
  // Walks use both cores and the others wait, so they alternate.
  const [slow, walks] = [ungrouped(single.filter(isSlow)), chunks(shared.filter(isWalk), walksPerProcess)]
  const first = slow.flatMap((group, n) => [group, ...walks.slice(n, n + 1)])
  return [...first, ...walks.slice(slow.length), ...groups, ...ungrouped(single.filter((turn) => !isSlow(turn)))]
}
