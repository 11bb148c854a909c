import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { startEmbedded } from '../src/db/embedded.ts'
import { connect, type Db } from '../src/db/sql.ts'
import { uuid } from '../src/lib/id.ts'
import { median, table, thousands } from './lib.ts'
import { type Load, load, post } from './load.ts'

/**
 * How many SMS a second the platform accepts – durable, authenticated, priced and charged, over HTTP keep-alive – beside an
 * empty route of the same Fastify with the same schema, and beside bare batched inserts into the same database. Interleaved
 * rounds, medians, ratios: `npm run bench -- sms [--rounds 5] [--seconds 4]`.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    roles: { type: 'string', default: 'api' },
    /** A folder for a CPU profile of the platform. */
    profile: { type: 'string' },
  },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)

const key = `bench-${'x'.repeat(40)}`
const from = '+447700900001'
const quiet = { info: () => {}, warn: () => {}, error: console.error }

const home = mkdtempSync(join(tmpdir(), 'trunkline-bench-'))
const server = await startEmbedded({ home, log: quiet })
const db = connect({ url: server.url, connections: 4 })

const child = (file: string, env: NodeJS.ProcessEnv = {}, flags: string[] = []) =>
  spawn(process.execPath, [...flags, join(import.meta.dirname, file)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, ...env },
  })

const empty = child('empty.ts')
const emptyPort = Number(String((await once(createInterface(empty.stdout), 'line'))[0]))

const readyFile = join(home, 'ready.json')
const platform = child(
  '../src/main.ts',
  {
    DATABASE_URL: server.url,
    TRUNKLINE_HOME: join(home, 'platform'),
    TRUNKLINE_PORT: '0',
    TRUNKLINE_ROLES: values.roles,
    TRUNKLINE_API_KEY: key,
    TRUNKLINE_LOG: 'warn',
    TRUNKLINE_READY_FILE: readyFile,
  },
  values.profile ? ['--cpu-prof', `--cpu-prof-dir=${values.profile}`] : [],
)
for await (const line of createInterface(platform.stdout)) if (line.includes('is ready')) break
const platformPort = Number(new URL(JSON.parse(readFileSync(readyFile, 'utf8')).url).port)

/** An account that may do as much as it can, with a number to send from. */
const furnish = async (db: Db) => {
  const { account } = await db.one<{ account: string }>`select id as account from accounts limit 1`
  const [number, channel] = [uuid(), uuid()]
  await db.run`update accounts set requests_per_minute = 100000000 where id = ${account}`
  await db.run`update balances set balance = 1000000 where account_id = ${account}`
  await db.run`insert into prices (kind, prefix, price) values ('sms_out', '', 0.04)`
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at)
    values (${account}, ${number}, ${from}, 'bench', 'GB', '', 'mobile', 'bench', 1, 0, 'ACTIVE', 'infinity')`
  await db.run`
    insert into sms_channels (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code,
      supports_sms_in, supports_sms_out)
    values (${account}, ${channel}, ${number}, ${from}, 'bench', 'GB', true, true)`
  await db.run`insert into changes (topic) values ('accounts'), ('prices') on conflict (topic) do update set version = changes.version + 1`
}
await furnish(db)
await new Promise((resolve) => setTimeout(resolve, 1500)) // the platform looks for changes twice a second

/** Requests made beforehand, each to another number: making them costs as much as half an answer. */
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

/** Bare inserts: the same rows into the same table, 128 to a statement, two statements under way. */
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

/** A file of /proc, where there is one. */
const proc = (path: string): string => {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return ''
  }
}

/** A figure summed over a process and its children. */
const summed = (pid: number, figure: (id: string) => number): number => {
  const children = proc(`${pid}/task/${pid}/children`).split(' ').filter(Boolean)
  return [String(pid), ...children].reduce((sum, id) => sum + figure(id), 0)
}

/** CPU seconds used (100 ticks a second). */
const cpuSeconds = (pid: number): number =>
  summed(pid, (id) => {
    const fields = proc(`${id}/stat`).split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100
  })

/** Megabytes held, shared pages by their share (PSS). */
const memory = (pid: number): number =>
  Math.round(summed(pid, (id) => Number(/^Pss:\s+(\d+)/m.exec(proc(`${id}/smaps_rollup`))?.[1] ?? 0)) / 1024)
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
    const [node, postgres] = [cpuSeconds(platform.pid ?? 0), cpuSeconds(server.pid())]
    const accepted = await load(platformPort, connections, seconds, next)
    const perRequest = (before: number, pid: number) => ((cpuSeconds(pid) - before) / accepted.count) * 1e6
    const cpu = { node: perRequest(node, platform.pid ?? 0), postgres: perRequest(postgres, server.pid()) }
    const emptyLoad = await load(emptyPort, connections, seconds, next)
    const bare = await bareInserts()
    list.push({ empty: emptyLoad, accepted, bare, ...cpu })
    const odd = [...accepted.statuses].filter(([status]) => status !== 202)
    if (odd.length > 0) console.error('answers that are not 202:', odd)
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

console.log(`after the load: platform ${memory(platform.pid ?? 0)} MB, PostgreSQL ${memory(server.pid())} MB`)

empty.kill()
platform.kill()
await once(platform, 'exit')
await db.end()
await server.stop()
rmSync(home, { recursive: true, force: true })
