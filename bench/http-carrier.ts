import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { benchRun } from './bench.ts'
import { handset } from './gateways.ts'
import { median, table } from './lib.ts'
import { paced, post } from './load.ts'
import { from, key, startPlatform } from './platform.ts'
import { prefixed, startMeter } from './usage.ts'

/**
 * Measures a carrier over HTTP, with its default policy: each part is stored before its submit. The carrier runs in
 * this process, answers at once, and reports on each message right after its answer.
 */
const run = benchRun()
const { rounds, seconds } = run
const pace = run.number('pace')
const connections = run.number('connections')

type Submit = { readonly to: string; readonly callback: string }

/** Times of arrival by the position of the message, in nanoseconds. */
const arrivals = new Map<number, bigint>()
let repeated = 0
let reported = 0

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

const report = (callback: string): void => {
  const body = JSON.stringify({ state: 'delivered' })
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  const call = request(callback, { method: 'POST', agent, headers }, (answer) => {
    answer.resume()
    if (answer.statusCode === 200) reported++
  })
  call.on('error', () => {})
  call.end(body)
}

const server = createServer(async (incoming, response) => {
  const { to, callback }: Submit = JSON.parse(await text(incoming))
  const n = Number(to.slice('+4477'.length)) - handset(0)
  if (arrivals.has(n)) repeated++
  else arrivals.set(n, process.hrtime.bigint())
  response.end(`{"id":"${n}"}`)
  report(callback)
}).listen(0, '127.0.0.1')
await once(server, 'listening')
const bound = server.address()
const port = typeof bound === 'object' ? bound?.port : 0

const platform = await startPlatform(run.rows, { TRUNKLINE_ROLES: 'api,worker' })
await platform.operator('POST', '/operator/connections', {
  kind: 'sms-http',
  name: 'sink',
  settings: {
    provider: 'generic',
    url: `http://127.0.0.1:${port}/messages`,
    body: '{"to":"{to}","callback":"{callback}","text":"{text}"}',
    id_path: '/id',
    receipt_state: '/state',
    window: run.number('window'),
  },
})
// Waits for the connection.
await pause(1_500)

const headers = { 'x-user-api-key': key }
let base = 0
const send = (n: number): Buffer =>
  post(
    '/open/sms/send',
    headers,
    JSON.stringify({ from_number: from, to_number: `+4477${handset(base + n)}`, text: 'A message of the bench' }),
  )

/** Waits until all messages arrived and were reported on. */
const drain = async (count: number): Promise<void> => {
  for (let i = 0; i < 300 && (arrivals.size < count || reported < count); i++) await pause(100)
}

const rows: string[][] = []
for (let round = 0; round <= rounds; round++) {
  arrivals.clear()
  repeated = 0
  reported = 0
  base += 1_000_000
  const processes = { node: [platform.pid], postgres: [platform.postgres], peer: [process.pid] }
  const costOf = await startMeter(processes, platform.db)
  const answered = await paced(platform.port, connections, pace, seconds, send)
  await drain(answered.size)
  const cost = await costOf(answered.size)
  // The first round warms up.
  if (round === 0) continue
  const waits = [...answered].flatMap(([n, at]) => {
    const arrived = arrivals.get(base + n)
    return arrived === undefined ? [] : [Math.max(0, Number(arrived - at) / 1e6)]
  })
  waits.sort((a, b) => a - b)
  const at = (share: number) => waits[Math.floor(waits.length * share)] ?? Number.NaN
  run.record({
    p50: at(0.5),
    p99: at(0.99),
    missing: answered.size - arrivals.size,
    repeated,
    unreported: answered.size - reported,
    ...prefixed('cost', cost),
  })
  rows.push([String(answered.size), at(0.5).toFixed(1), at(0.99).toFixed(1), String(answered.size - arrivals.size)])
}

table(['messages', 'to the submit, p50 ms', 'p99 ms', 'missing'], rows)
console.error(`median p99: ${median(rows.map(([, , p99]) => Number(p99))).toFixed(1)} ms`)
server.close()
agent.destroy()
await platform.stop()
