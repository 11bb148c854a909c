import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A test file, and the server it is tried on. */
export type Turn = { readonly name: string; readonly file: string; readonly env: Record<string, string> }

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
