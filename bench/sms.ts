import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { uuid } from '../src/platform/lib/id.ts'
import { median, table, thousands } from './lib.ts'
import { type Load, load, post } from './load.ts'
import { from, key, startChild, startPlatform } from './platform.ts'
import { cpuSeconds, memory } from './usage.ts'

/**
 * Measures accepted SMS a second over HTTP keep-alive: durable, authenticated, priced and charged. Compares them with
 * an empty route of the same Fastify with the same schema, and with bare batched inserts into the same database. Prints
 * medians and ratios of interleaved rounds: `npm run bench -- sms [--rounds 5] [--seconds 4]`.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    roles: { type: 'string', default: 'api' },
    /** Folder for a CPU profile of the platform. */
    profile: { type: 'string' },
  },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)

const empty = startChild('empty.ts')
const emptyPort = Number(String((await once(createInterface(empty.stdout), 'line'))[0]))

const platform = await startPlatform(
  { TRUNKLINE_ROLES: values.roles },
  values.profile ? ['--cpu-prof', `--cpu-prof-dir=${values.profile}`] : [],
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

/** Inserts the same rows into a table of the same structure: 128 per statement, two concurrent statements. */
const bareInserts = async (): Promise<Load> => {
  await db.raw('create table if not exists bench_messages (like sms_messages including all)')
  const began = performance.now()
  let count = 0
  const one = async () => {
    while (performance.now() - began < seconds * 1000) {
      const ids = Array.from({ length: 128 }, () => uuid())
      await db.run`
        insert into bench_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price, status, created_at, updated_at)
        select id, id, id, 'outbound', '+447710000000', ${from}, 'A message of sixty characters, as people would write one now',
          'gsm7', 1, 0.04, 'queued', now(), now() from unnest(${ids}::uuid[]) as g (id)`
      count += 128
    }
  }
  await Promise.all([one(), one()])
  await db.raw('drop table bench_messages')
  return { count, seconds: (performance.now() - began) / 1000, statuses: new Map(), p50: 0, p99: 0 }
}

const rate = ({ count, seconds }: Load) => count / seconds

const clear = async () => {
  await db.raw('truncate sms_messages, jobs, transfers')
  await db.raw('checkpoint')
}

type Round = { empty: Load; accepted: Load; bare: Load; node: number; postgres: number }
const results = new Map<number, Round[]>([
  [64, []],
  [256, []],
])
for (let round = 0; round < rounds; round++) {
  for (const [connections, list] of results) {
    await clear()
    const [node, postgres] = [cpuSeconds(platform.pid), cpuSeconds(platform.postgres)]
    const accepted = await load(platform.port, connections, seconds, next)
    const perRequest = (before: number, pid: number) => ((cpuSeconds(pid) - before) / accepted.count) * 1e6
    const cpu = { node: perRequest(node, platform.pid), postgres: perRequest(postgres, platform.postgres) }
    const emptyLoad = await load(emptyPort, connections, seconds, next)
    const bare = await bareInserts()
    list.push({ empty: emptyLoad, accepted, bare, ...cpu })
    const odd = [...accepted.statuses].filter(([status]) => status !== 202)
    if (odd.length > 0) console.error('responses other than 202:', odd)
    console.error(
      `round ${round + 1}, ${connections}: ${Math.round(rate(accepted))}/s of ${Math.round(rate(emptyLoad))}/s`,
    )
  }
}

table(
  [
    'connections',
    'accepted/s',
    'empty/s',
    'of empty',
    'bare inserts/s',
    'of bare',
    'Node µs',
    'PostgreSQL µs',
    'p50 ms',
    'p99 ms',
    'empty p50',
    'empty p99',
  ],
  [...results].map(([connections, list]) => {
    const of = (pick: (round: Round) => number) => median(list.map(pick))
    return [
      String(connections),
      thousands(of((r) => rate(r.accepted))),
      thousands(of((r) => rate(r.empty))),
      of((r) => rate(r.accepted) / rate(r.empty)).toFixed(2),
      thousands(of((r) => rate(r.bare))),
      of((r) => rate(r.accepted) / rate(r.bare)).toFixed(2),
      of((r) => r.node).toFixed(0),
      of((r) => r.postgres).toFixed(0),
      of((r) => r.accepted.p50).toFixed(1),
      of((r) => r.accepted.p99).toFixed(1),
      of((r) => r.empty.p50).toFixed(1),
      of((r) => r.empty.p99).toFixed(1),
    ]
  }),
)

console.log(`after the load: platform ${memory(platform.pid)} MB, PostgreSQL ${memory(platform.postgres)} MB`)

empty.kill()
await platform.stop()
