import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { benchRun } from './bench.ts'
import { table } from './lib.ts'
import { paced, post } from './load.ts'
import { from, key, startChild, startPlatform } from './platform.ts'

/**
 * Measures the response times of an account that sends little, alone and next to an account that sends as fast as it
 * gets answers. Both share one process, its event loop and its database.
 */
const run = benchRun()
const { rounds, seconds, rows } = run
const [pace, connections] = [run.number('pace'), run.number('connections')]

const platform = await startPlatform(rows, { TRUNKLINE_ROLES: 'api' })
const greedyFrom = '+447700900002'
const [greedyKey] = await platform.addAccounts([greedyFrom])

type Times = { p50: number; p99: number }

/** Returns the response times of the quiet account, milliseconds. */
const measure = async (): Promise<Times> => {
  const began = new Map<number, bigint>()
  const answered = await paced(platform.port, 8, pace, seconds, (n) => {
    const body = { from_number: from, to_number: `+4477${20_000_000 + n}`, text: 'A message now and then' }
    const request = post('/open/sms/send', { 'x-user-api-key': key }, JSON.stringify(body))
    began.set(n, process.hrtime.bigint())
    return request
  })
  if (answered.size < pace * seconds) throw new Error(`${pace * seconds - answered.size} requests were refused`)
  const times = [...answered].map(([n, at]) => Number(at - (began.get(n) ?? at)) / 1e6).sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

/** Measures next to the greedy account, and its rate. */
const measureBeside = async (): Promise<Times & { rate: number }> => {
  const count = async () =>
    (
      await platform.db.one<{ count: number }>`
        select coalesce(sum((note::text ~ ' sent$')::integer * split_part(note, ' ', 1)::integer), 0)::integer as count
        from transfers where kind = 'sms' and account_id <> ${platform.account}`
    ).count
  const greedy = startChild('greedy.ts', {
    BENCH_PORT: String(platform.port),
    BENCH_KEY: greedyKey,
    BENCH_FROM: greedyFrom,
    BENCH_CONNECTIONS: String(connections),
  })
  await once(greedy.stdout, 'data')
  await pause(1_000) // its first statements are planned
  const [before, began] = [await count(), performance.now()]
  const times = await measure()
  const rate = ((await count()) - before) / ((performance.now() - began) / 1_000)
  greedy.kill()
  await once(greedy, 'exit')
  return { ...times, rate }
}

// Warms up: statements and code of both accounts.
await measureBeside()
await measure()
const lines: string[][] = []
for (let round = 0; round < rounds; round++) {
  // Alternating order: later measurements find warmer caches.
  const first = round % 2 === 0 ? await measure() : null
  const beside = await measureBeside()
  const alone = first ?? (await measure())
  const ratios = { 'ratio.p50': beside.p50 / alone.p50, 'ratio.p99': beside.p99 / alone.p99 }
  run.record({ 'alone.p50': alone.p50, 'alone.p99': alone.p99, 'beside.p50': beside.p50, 'beside.p99': beside.p99 })
  run.record({ ...ratios, greedy: beside.rate })
  lines.push([alone.p50, beside.p50, alone.p99, beside.p99, ratios['ratio.p99'], beside.rate].map((n) => n.toFixed(1)))
}
table(['alone p50', 'beside p50', 'alone p99', 'beside p99', 'ratio of p99', 'greedy, per second'], lines)
await platform.stop()
