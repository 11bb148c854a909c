import { enableCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/**
 * A process of stop.test.ts: it performs one operation on a number and is killed at one of its statements.
 *
 * `before`: killed instead of sending the statement at that position (from 1). `sent`: killed once the statement is
 * sent, before its result arrives.
 */
export type Order = {
  url: string
  at: number
  when: 'before' | 'sent'
  work:
    | { method: 'POST' | 'DELETE'; path: string; body: object | null; headers: Record<string, string> }
    | { renew: { account: string; id: string } }
}

// Half of a start is compilation, and a hundred of these processes start.
enableCompileCache(join(tmpdir(), `trunkline-test-cache-${process.getuid?.() ?? 0}`))

const line = await createInterface({ input: process.stdin })[Symbol.asyncIterator]().next()
const { url, at, when, work } = JSON.parse(line.value ?? '{}') as Order // written by stop.test.ts

const { default: pg } = await import('pg')
const { pino } = await import('pino')
const { readConfig } = await import('../../src/config.ts')
const { connect } = await import('../../src/platform/db/sql.ts')
const { makeAlias } = await import('../../src/platform/http/alias.ts')
const { makeServer } = await import('../../src/platform/http/server.ts')
const { makeSeal } = await import('../../src/platform/lib/secret.ts')
const { renew } = await import('../../src/domains/numbers/lifecycle/renewal.ts')
const { numberRoutes } = await import('../../src/domains/numbers/routes.ts')
const { assemble } = await import('../../src/assemble.ts')
const { makeSimulatorClient } = await import('../../src/domains/sandbox/simulator-client.ts')

const die = () => process.kill(process.pid, 'SIGKILL')
let count = Number.NEGATIVE_INFINITY

const send = pg.Client.prototype.query
const counted = function (this: InstanceType<typeof pg.Client>, ...given: unknown[]): unknown {
  count++
  if (count === at && when === 'before') {
    die()
    return new Promise(() => {})
  }
  const answer: unknown = Reflect.apply(send, this, given)
  if (count === at) setImmediate(die)
  return answer
}
Object.assign(pg.Client.prototype, { query: counted })

const db = connect({ url, connections: 3 })
const parts = await assemble({
  config: readConfig({}),
  version: 'test',
  db,
  log: pino({ level: 'silent' }),
  seal: makeSeal(Buffer.alloc(32, 1)),
  simulator: makeSimulatorClient(() => null),
  publicUrl: () => 'http://127.0.0.1',
})
const app = makeServer({ ...parts, tls: null, trustProxy: false, alias: makeAlias(null) }, numberRoutes(parts))
await app.ready()
count = 0
let status = 0
if ('renew' in work) await db.begin((tx) => renew(tx, parts.changes, work.renew, 30))
else {
  const { method, path, body, headers } = work
  status = (await app.inject({ method, url: path, headers, ...(body ? { payload: body } : {}) })).statusCode
}
process.stdout.write(`${JSON.stringify({ status, count })}\n`, () => process.exit(0))
