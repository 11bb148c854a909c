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

const text = 'A message of sixty characters, as people would write one now'
const recipient = (i: number) => `+4477${10_000_000 + i * 1_607}`

/** Prepares requests in advance, each to another number. Making one costs half as much CPU time as answering it. */
const prepare = (requestOf: (to: string) => Buffer): (() => Buffer) => {
  const requests = Array.from({ length: 50_000 }, (_, i) => requestOf(recipient(i)))
  let sent = 0
  return () => requests[sent++ % requests.length] ?? Buffer.alloc(0)
}

const next = prepare((to) =>
  post('/open/sms/send', { 'x-user-api-key': key }, JSON.stringify({ from_number: from, to_number: to, text })),
)

const made = await fetch(`${platform.url}/open/compat/credentials`, {
  method: 'POST',
  headers: { 'x-user-api-key': key },
})
const { account_sid: sid, auth_token: token } = Object(await made.json())
const authorization = `Basic ${Buffer.from(`${sid}:${token}`).toString('base64')}`
/** The same message in the shape of Twilio. */
const nextCompat = prepare((to) =>
  post(
    `/2010-04-01/Accounts/${sid}/Messages.json`,
    { authorization },
    new URLSearchParams({ From: from, To: to, Body: text }).toString(),
    'application/x-www-form-urlencoded',
  ),
)

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
    await db.raw('truncate jobs')
    const compat = await load(platform.port, connections, seconds, nextCompat)
    const emptyLoad = await load(emptyPort, connections, seconds, next)
    run.record({
      [`accepted.${connections}`]: rate(accepted),
      [`empty.${connections}`]: rate(emptyLoad),
      [`ratio.${connections}`]: rate(accepted) / rate(emptyLoad),
      [`compat.${connections}`]: rate(compat),
      [`compat_ratio.${connections}`]: rate(compat) / rate(accepted),
      [`p50.${connections}`]: accepted.p50,
      [`p99.${connections}`]: accepted.p99,
      ...prefixed(`cost.${connections}`, cost),
    })
    const odd = [...accepted.statuses, ...compat.statuses].filter(([status]) => status !== 202 && status !== 201)
    if (odd.length > 0) console.error('responses other than 202 and 201:', odd)
    console.error(
      `round ${round + 1}, ${connections}: ${Math.round(rate(accepted))}/s of ${Math.round(rate(emptyLoad))}/s; in the shape of Twilio ${Math.round(rate(compat))}/s`,
    )
  }
}

console.log(`after the load: platform ${memory(platform.pid)} MB, PostgreSQL ${memory(platform.postgres)} MB`)

empty.kill()
await platform.stop()
