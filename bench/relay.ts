import { benchRun } from './bench.ts'
import { type Gateway, startKannelGateway, startSink, startTrunkline } from './gateways.ts'
import { hasKannel } from './kannel.ts'
import { median, table, thousands } from './lib.ts'
import { type Load, load, paced } from './load.ts'
import type { Report } from './sink.ts'
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
const sink = await startSink()

const gateways: Record<string, (receipts: boolean) => Promise<Gateway>> = {
  'Trunkline, durable': (receipts) => startTrunkline(sink, run.rows, { receipts, profile }),
  ...(hasKannel()
    ? {
        'Kannel, memory': (receipts) => startKannelGateway(sink, 'memory', receipts),
        'Kannel, file': (receipts) => startKannelGateway(sink, 'file', receipts),
        'Kannel, spool': (receipts) => startKannelGateway(sink, 'spool', receipts),
      }
    : {}),
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
  await sink.ask({ reset: { receipts } })
  const { statuses } = await load(gateway.port, connections, warmSeconds, () => gateway.request(n++))
  const accepted = statuses.get(202) ?? 0
  await sink.waitUntilDrained(accepted, receipts ? accepted : 0)
}

const measure = async (gateway: Gateway, receipts: boolean): Promise<Result> => {
  await warmUp(gateway, receipts)
  let n = 0
  const requests = Array.from({ length: 40_000 }, (_, i) => gateway.request(i))
  await sink.ask({ reset: { receipts } })
  const peer = [sink.pid]
  const costOf = await startMeter({ node: gateway.node, postgres: gateway.postgres, peer }, gateway.db)
  const began = process.hrtime.bigint()
  const done: Load = await load(gateway.port, connections, seconds, () => requests[n++] ?? gateway.request(n))
  const accepted = done.statuses.get(202) ?? 0
  const report = await sink.waitUntilDrained(accepted, receipts ? accepted : 0)
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
  await sink.ask({ reset: { receipts } })
  const answered = await paced(gateway.port, connections, pace, seconds, (n) => gateway.request(n + 1_000_000))
  const report = await sink.waitUntilDrained(answered.size, receipts ? answered.size : 0)
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
sink.end()
