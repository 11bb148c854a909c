import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { benchRun } from './bench.ts'
import { type Load, load, post } from './load.ts'
import { from, key, startChild, startPlatform } from './platform.ts'
import { memory, prefixed, startMeter } from './usage.ts'

/**
 * Measures accepted SMS a second over HTTP keep-alive: durable, authenticated, priced and charged. Compares them with
 * an empty route of the same Fastify with the same schema.
 */
const run = benchRun()
const { rounds, seconds, rows } = run
const profile = run.word('profile')

const empty = startChild('empty.ts')
const emptyPort = Number(String((await once(createInterface(empty.stdout), 'line'))[0]))

const platform = await startPlatform(
  rows,
  { TRUNKLINE_ROLES: run.word('roles') },
  profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [],
)
const { db } = platform

/** Requests prepared in advance, each to another number. Making one costs half as much CPU time as answering it. */
const requests = Array.from({ length: 50_000 }, (_, i) =>
  post(
    '/open/sms/send',
    { 'x-user-api-key': key },
    JSON.stringify({
      from_number: from,
      to_number: `+4477${10_000_000 + i * 1_607}`,
      text: 'A message of sixty characters, as people would write one now',
    }),
  ),
)
let sent = 0
const next = (): Buffer => requests[sent++ % requests.length] ?? Buffer.alloc(0)

const rate = ({ count, seconds }: Load) => count / seconds

const processes = { node: [platform.pid], postgres: [platform.postgres] }
for (let round = 0; round < rounds; round++) {
  for (const connections of [64, 256]) {
    // Jobs wait for a worker that this bench does not run. Messages stay.
    await db.raw('truncate jobs')
    await db.raw('checkpoint')
    const costOf = await startMeter(processes, db)
    const accepted = await load(platform.port, connections, seconds, next)
    const cost = await costOf(accepted.count)
    const emptyLoad = await load(emptyPort, connections, seconds, next)
    run.record({
      [`accepted.${connections}`]: rate(accepted),
      [`empty.${connections}`]: rate(emptyLoad),
      [`ratio.${connections}`]: rate(accepted) / rate(emptyLoad),
      [`p50.${connections}`]: accepted.p50,
      [`p99.${connections}`]: accepted.p99,
      ...prefixed(`cost.${connections}`, cost),
    })
    const odd = [...accepted.statuses].filter(([status]) => status !== 202)
    if (odd.length > 0) console.error('responses other than 202:', odd)
    console.error(
      `round ${round + 1}, ${connections}: ${Math.round(rate(accepted))}/s of ${Math.round(rate(emptyLoad))}/s`,
    )
  }
}

console.log(`after the load: platform ${memory(platform.pid)} MB, PostgreSQL ${memory(platform.postgres)} MB`)

empty.kill()
await platform.stop()
