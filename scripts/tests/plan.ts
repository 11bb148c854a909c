import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeSharing } from './share.ts'

/** A test file, and the server it is tried on. */
export type Turn = { readonly name: string; readonly file: string; readonly env: Readonly<Record<string, string>> }

/** Files of one process: one, or several that share it. */
export type Group = readonly [Turn, ...Turn[]]

export const nameOf = ([first, ...others]: Group): string =>
  others.length === 0 ? first.name : `${first.name} and ${others.length} more`

const onNewest = (file: string): Turn => ({ name: file, file, env: {} })
const onOldest = (file: string): Turn => ({
  name: `${file} on PostgreSQL 15`,
  file,
  env: { TRUNKLINE_TEST_POSTGRES: '15' },
})

/**
 * What takes long, the longest first: both cores are then busy to the end. What is missing here is only run later; `npm test`
 * prints the files that took over 10 s.
 */
const longest = [
  ...['test/fuzz.test.ts', 'test/chaos/stop.test.ts', 'test/contract.test.ts', 'test/start.test.ts'],
  ...['test/chaos/msgapp.test.ts', 'src/msgapp/prosody.test.ts', 'test/isolation.test.ts', 'test/walk.test.ts'],
  ...['test/counterparts/prosody.test.ts', 'test/chaos/webhooks.test.ts', 'src/msgapp/whatsapp-cloud.test.ts'],
  ...['test/checks.test.ts', 'test/sandbox.test.ts', 'src/sms/courier.test.ts', 'test/chaos/deliverers.test.ts'],
  ...['src/msgapp/channels/channels.test.ts', 'src/msgapp/media/media.test.ts', 'test/chaos/links.test.ts'],
  ...['src/sms/wire.test.ts', 'src/numbers/supply.test.ts', 'src/connectors/didww/didww.test.ts'],
  // Alone, since it measures.
  'test/linear.test.ts',
]

/** Tests whose SQL matters: those of the domains and of the queue. What is `onEachPostgres` tries both servers by itself. */
const oldestToo = (root: string): string[] =>
  globSync(['src/{accounts,contacts,jobs,ledger,numbers,sms,tokens}/*.test.ts', 'src/http/idempotency.test.ts'], {
    cwd: root,
  }).filter(
    (file) =>
      !/catalogue|sms.(?:route|order|unwritten|wire|flapping)\.test/.test(file) &&
      !readFileSync(join(root, file), 'utf8').includes('onEachPostgres('),
  )

/** Files as given, on PostgreSQL 18. */
export const plain = (files: readonly string[]): Turn[] => files.map(onNewest)

/** A whole run: what takes long first, and the SQL of the domains once more on PostgreSQL 15 where that is installed. */
export const whole = (files: readonly string[], root: string, hasOldest: boolean): Turn[] => {
  const known = longest.filter((file) => files.includes(file))
  const rest = files.filter((file) => !known.includes(file))
  return [...known, ...rest].map(onNewest).concat(hasOldest ? oldestToo(root).map(onOldest) : [])
}

/** So many files share a process: what they save of it grows no more, and a core is not busy with one of them at the end. */
const together = 8

const alone = (turn: Turn): Group => [turn]

/** Each in a process of its own, as they came. */
export const apart = (turns: readonly Turn[]): Group[] => turns.map(alone)

/** What takes long stays alone and first; then those that may share a process do, with what is tried on the same server. */
export const grouped = (turns: readonly Turn[], root: string): Group[] => {
  const mayShare = makeSharing(root)
  const isShared = ({ file }: Turn) => !longest.includes(file) && mayShare(file)
  const groups: Group[] = []
  for (const same of Map.groupBy(turns.filter(isShared), ({ env }) => JSON.stringify(env)).values())
    for (let at = 0; at < same.length; at += together) {
      const [first, ...others] = same.slice(at, at + together)
      if (first) groups.push([first, ...others])
    }
  const rest = turns.filter((turn) => !isShared(turn))
  const first = rest.filter(({ file }) => longest.includes(file))
  return [...apart(first), ...groups, ...apart(rest.filter((turn) => !first.includes(turn)))]
}
