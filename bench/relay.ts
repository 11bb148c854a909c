import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Db } from '../src/platform/db/sql.ts'
import { benchRun } from './bench.ts'
import { hasKannel, type Store, sendsms, startKannel } from './kannel.ts'
import { median, table, thousands } from './lib.ts'
import { type Load, load, paced, post } from './load.ts'
import { from, key, startPlatform } from './platform.ts'
import type { Command, Report } from './sink.ts'
import { type Cost, memory, prefixed, startMeter } from './usage.ts'

/**
 * Measures relaying from HTTP to the SMSC.
 *
 * Compares the throughput of the platform and of Kannel to the same sink, without and with receipts and callbacks. The
 * platform persists and charges every message and records its states. None of the three stores of Kannel calls fsync.
 * Then measures the delay from the HTTP response to submit_sm at a steady rate.
 */
const run = benchRun()
const { rounds, seconds } = run
const connections = run.number('connections')
const pace = run.number('pace')
const [only, wantedReceipts] = [run.word('only'), run.word('receipts')]
const profile = run.word('profile')
const window = 100
const text = 'A message of sixty characters, as people would write one now'

const sink = fork(join(import.meta.dirname, 'sink.ts'))
const [ports]: [{ smsc: number; callbacks: number }] = (await once(sink, 'message')) as never // first message of sink.ts
const askSink = async (command: Command): Promise<Report> => {
  sink.send(command)
  const [answer] = await once(sink, 'message')
  return answer
}

type Gateway = {
  readonly port: number
  /** Process ids. Kannel's count as those of Node do. */
  readonly node: readonly number[]
  readonly postgres: readonly number[]
  /** Absent without a database. */
  readonly db?: Db
  /** Returns the request of the n-th message. */
  request(n: number): Buffer
  stop(): Promise<void>
}

const destination = (n: number) => `+4477${10_000_000 + (n % 80_000_000)}`

const startTrunkline = async (receipts: boolean): Promise<Gateway> => {
  const platform = await startPlatform(
    run.rows,
    {
      TRUNKLINE_ROLES: 'api,worker',
      TRUNKLINE_ALLOW_PRIVATE_HOOKS: 'true',
      TRUNKLINE_ALLOW_HTTP_HOOKS: 'true',
    },
    profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [],
  )
  const settings = { host: '127.0.0.1', port: ports.smsc, system_id: 'bench', password: 'bench', window }
  await platform.operator('POST', '/operator/connections', { kind: 'smpp', name: 'sink', settings })
  if (receipts) {
    const hook = { hook_url: `http://127.0.0.1:${ports.callbacks}/`, channel_uuid: platform.channel }
    const answer = await fetch(`${platform.url}/open/webhooks/subscribe/sms.message.delivered`, {
      method: 'POST',
      headers: { 'x-user-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(hook),
    })
    if (!answer.ok) throw new Error(`the subscription was refused: ${answer.status} ${await answer.text()}`)
  }
  await setTimeout(1500) // waits for the connection
  const headers = { 'x-user-api-key': key }
  return {
    port: platform.port,
    node: [platform.pid],
    postgres: [platform.postgres],
    db: platform.db,
    request: (n) =>
      post('/open/sms/send', headers, JSON.stringify({ from_number: from, to_number: destination(n), text })),
    stop: platform.stop,
  }
}

const startKannelGateway = async (store: Store, receipts: boolean): Promise<Gateway> => {
  const { port, pids, stop } = await startKannel(store, ports.smsc, window)
  await setTimeout(1000)
  const callback = receipts ? `http://127.0.0.1:${ports.callbacks}/` : null
  return { port, node: pids, postgres: [], request: (n) => sendsms(from, destination(n), text, callback), stop }
}

const gateways: Record<string, (receipts: boolean) => Promise<Gateway>> = {
  'Trunkline, durable': startTrunkline,
  ...(hasKannel()
    ? {
        'Kannel, memory': (receipts) => startKannelGateway('memory', receipts),
        'Kannel, file': (receipts) => startKannelGateway('file', receipts),
        'Kannel, spool': (receipts) => startKannelGateway('spool', receipts),
      }
    : {}),
}

/** Waits until all messages have arrived, or none has for 5 s. */
const waitUntilDrained = async (accepted: number, receipts: boolean): Promise<Report> => {
  let last = await askSink({ report: { arrivals: false } })
  for (let idle = 0; idle < 50; ) {
    if (last.arrived >= accepted && (!receipts || last.called >= accepted)) break
    await setTimeout(100)
    const next = await askSink({ report: { arrivals: false } })
    idle = next.arrived === last.arrived && next.called === last.called ? idle + 1 : 0
    last = next
  }
  return askSink({ report: { arrivals: true } })
}

/** Returns the arrival times in milliseconds after `began`, ascending. */
const timesOf = ({ arrivals = [] }: Report, began: bigint) =>
  arrivals.map(([, at]) => Number(BigInt(at) - began) / 1e6).sort((a, b) => a - b)

type Result = {
  accepted: number
  relayed: number
  lost: number
  cost: Cost
  memory: number
  p50: number
  p99: number
}

const sum = (figures: readonly number[]) => figures.reduce((total, figure) => total + figure, 0)

/** Seconds of load before the measurement: a gateway runs for weeks, and V8 compiles hot code in the first seconds. */
const warmSeconds = 3

const warmUp = async (gateway: Gateway, receipts: boolean): Promise<void> => {
  let n = 20_000_000
  await askSink({ reset: { receipts } })
  const { statuses } = await load(gateway.port, connections, warmSeconds, () => gateway.request(n++))
  await waitUntilDrained(statuses.get(202) ?? 0, receipts)
}

const measure = async (gateway: Gateway, receipts: boolean): Promise<Result> => {
  await warmUp(gateway, receipts)
  let n = 0
  const requests = Array.from({ length: 40_000 }, (_, i) => gateway.request(i))
  await askSink({ reset: { receipts } })
  const peer = [sink.pid ?? 0]
  const costOf = await startMeter({ node: gateway.node, postgres: gateway.postgres, peer }, gateway.db)
  const began = process.hrtime.bigint()
  const done: Load = await load(gateway.port, connections, seconds, () => requests[n++] ?? gateway.request(n))
  const accepted = done.statuses.get(202) ?? 0
  const report = await waitUntilDrained(accepted, receipts)
  const end = receipts ? Number(BigInt(report.lastCall) - began) / 1e9 : (timesOf(report, began).at(-1) ?? 0) / 1000
  const came = receipts ? report.called : report.arrived
  return {
    accepted: accepted / done.seconds,
    relayed: came / end,
    lost: accepted - came,
    cost: await costOf(accepted),
    memory: sum([...gateway.node, ...gateway.postgres].map(memory)),
    ...(await measureDelay(gateway, receipts)),
  }
}

/** Returns the milliseconds from the HTTP response to submit_sm at a steady rate. */
const measureDelay = async (gateway: Gateway, receipts: boolean): Promise<{ p50: number; p99: number }> => {
  await askSink({ reset: { receipts } })
  const answered = await paced(gateway.port, connections, pace, seconds, (n) => gateway.request(n + 1_000_000))
  const report = await waitUntilDrained(answered.size, receipts)
  const waits = (report.arrivals ?? [])
    .flatMap(([number, at]) => {
      const accepted = answered.get(number - 10_000_000 - 1_000_000)
      return accepted === undefined ? [] : [Number(BigInt(at) - accepted) / 1e6]
    })
    .sort((a, b) => a - b)
  const at = (share: number) => Math.max(0, waits[Math.floor(waits.length * share)] ?? Number.NaN)
  return { p50: at(0.5), p99: at(0.99) }
}

if (!hasKannel()) console.error('Kannel is not installed (apt-get install kannel): only the platform is measured')

const ours = 'Trunkline, durable'

/** Records the figures of a round. */
const recordRound = (key: string, results: ReadonlyMap<string, Result>): void => {
  const [own, file, spool] = [ours, 'Kannel, file', 'Kannel, spool'].map((name) => results.get(name))
  if (own) {
    const { relayed, p50, p99 } = own
    run.record({
      [`${key}.relayed`]: relayed,
      [`${key}.p50`]: p50,
      [`${key}.p99`]: p99,
      ...prefixed(`${key}.cost`, own.cost),
      ...(file ? { [`${key}.ratio`]: relayed / file.relayed } : {}),
      ...(spool ? { [`${key}.spool`]: relayed / spool.relayed } : {}),
    })
  }
  if (file) run.record({ [`${key}.kannel`]: file.relayed, [`${key}.kannelCpu`]: file.cost.node })
}

const rows: string[][] = []
for (const receipts of [false, true].filter((one) => ['', String(one)].includes(wantedReceipts))) {
  const results = new Map<string, Result[]>()
  for (let round = 0; round < rounds; round++) {
    const now = new Map<string, Result>()
    for (const [name, start] of Object.entries(gateways)) {
      if (!name.includes(only)) continue
      const contestant = await start(receipts)
      const result = await measure(contestant, receipts).finally(contestant.stop)
      results.set(name, [...(results.get(name) ?? []), result])
      now.set(name, result)
      console.error(`round ${round + 1}, ${name}, receipts ${receipts}:`, result)
    }
    recordRound(receipts ? 'receipts' : 'plain', now)
  }
  const of = (name: string, pick: (result: Result) => number) => median((results.get(name) ?? []).map(pick))
  for (const name of results.keys())
    rows.push([
      name,
      receipts ? 'receipts, callbacks' : 'none',
      thousands(of(name, (r) => r.accepted)),
      thousands(of(name, (r) => r.relayed)),
      (of(ours, (r) => r.relayed) / of(name, (r) => r.relayed)).toFixed(2),
      of(name, (r) => r.p50).toFixed(1),
      of(name, (r) => r.p99).toFixed(1),
      of(name, (r) => r.cost.node + (r.cost.postgres || 0)).toFixed(0),
      String(of(name, (r) => r.memory)),
      String(Math.max(...(results.get(name) ?? []).map((r) => r.lost))),
    ])
}

table(
  [
    'gateway, store',
    'reports',
    'accepted/s',
    'relayed/s',
    'ours : it',
    `p50 ms at ${pace}/s`,
    'p99 ms',
    'CPU µs',
    'MB',
    'missing',
  ],
  rows,
)
sink.disconnect()
