import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'

/**
 * A process of stop.test.ts: it performs operations on numbers, and each is stopped at one of its statements.
 *
 * `before`: stopped instead of sending the statement at that position (from 1). `sent`: stopped once the statement is
 * sent, before its result arrives.
 * `kill`: the process is killed. `cut`: its sockets break and it never reaches the database again, which PostgreSQL
 * cannot distinguish from a kill. The process then takes the next order, which saves its start.
 */
export type Order = {
  url: string
  at: number
  when: 'before' | 'sent'
  how: 'kill' | 'cut'
  work:
    | { method: 'POST' | 'DELETE'; path: string; body: object | null; headers: Record<string, string> }
    | { renew: { account: string; id: string } }
}

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

/** An order in progress: its statements so far, and the sockets of its connections. */
type Course = { order: Order; count: number; isCut: boolean; sockets: Set<Socket>; cut: () => void }
const courses = new AsyncLocalStorage<Course>()

const never = new Promise<never>(() => {})

const stop = (course: Course) => {
  if (course.order.how === 'kill') process.kill(process.pid, 'SIGKILL')
  course.isCut = true
  for (const socket of course.sockets) socket.destroy()
  course.cut()
}

const send = pg.Client.prototype.query
const counted = function (this: InstanceType<typeof pg.Client>, ...given: unknown[]): unknown {
  const course = courses.getStore()
  if (course === undefined) throw new Error('a statement without an order')
  if (course.isCut) return never
  course.count++
  // Not in the types of pg.
  course.sockets.add((this as unknown as { connection: { stream: Socket } }).connection.stream)
  const { at, when } = course.order
  if (course.count === at && when === 'before') {
    stop(course)
    return never
  }
  const answer: unknown = Reflect.apply(send, this, given)
  if (course.count === at) setImmediate(stop, course)
  return answer
}
Object.assign(pg.Client.prototype, { query: counted })

/** @returns the answer of the operation; null when it was cut */
const perform = async (course: Course): Promise<{ status: number; count: number } | null> => {
  const { url, work } = course.order
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
  const app = makeServer({ ...parts, tls: null, alias: makeAlias(null) }, numberRoutes(parts))
  await app.ready()
  course.count = 0
  let status = 0
  if ('renew' in work) await db.begin((tx) => renew(tx, parts.changes, work.renew, 30))
  else {
    const { method, path, body, headers } = work
    status = (await app.inject({ method, url: path, headers, ...(body ? { payload: body } : {}) })).statusCode
  }
  const { count } = course
  // A pool that was cut never ends.
  if (course.isCut) return null
  await db.end()
  return { status, count }
}

for await (const line of createInterface({ input: process.stdin })) {
  const order: Order = JSON.parse(line) // written by stop.test.ts
  const { promise, resolve } = Promise.withResolvers<null>()
  const course = {
    order,
    count: Number.NEGATIVE_INFINITY,
    isCut: false,
    sockets: new Set<Socket>(),
    cut: () => resolve(null),
  }
  const result = await Promise.race([courses.run(course, perform, course), promise])
  process.stdout.write(`${JSON.stringify(result)}\n`)
}
process.exit(0)
