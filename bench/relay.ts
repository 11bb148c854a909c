import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { hasKannel, type Store, sendsms, startKannel } from './kannel.ts'
import { median, table, thousands } from './lib.ts'
import { type Load, load, paced, post } from './load.ts'
import { from, key, startPlatform } from './platform.ts'
import type { Command, Report } from './sink.ts'
import { cpuSeconds, memory } from './usage.ts'

/**
 * From HTTP to the SMSC: how many messages a second the platform (every one durable, charged, with its states) and Kannel
 * (three stores, none of which calls fsync) bring to the same sink, without and with receipts and callbacks; and how long
 * from the answer to submit_sm at a steady pace: `npm run bench -- relay [--rounds 3] [--seconds 5] [--pace 1000]`.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    pace: { type: 'string', default: '1000' },
    connections: { type: 'string', default: '32' },
    only: { type: 'string' },
    /** Only without receipts, or only with them. */
    receipts: { type: 'string' },
  },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const connections = Number(values.connections)
const pace = Number(values.pace)
const window = 100
const text = 'A message of sixty characters, as people would write one now'

const sink = fork(join(import.meta.dirname, 'sink.ts'))
const [ports]: [{ smsc: number; callbacks: number }] = (await once(sink, 'message')) as never // what sink.ts says first
const tell = async (command: Command): Promise<Report> => {
  sink.send(command)
  const [answer] = await once(sink, 'message')
  return answer
}

type Contestant = {
  readonly port: number
  /** Of ours: Node and PostgreSQL. */
  readonly pids: readonly number[]
  /** Bytes that the database has written to its log so far; 0 where there is none. */
  written?(): Promise<number>
  /** The request of the n-th message. */
  request(n: number): Buffer
  stop(): Promise<void>
}

const destination = (n: number) => `+4477${10_000_000 + (n % 80_000_000)}`

const startOurs = async (receipts: boolean): Promise<Contestant> => {
  const platform = await startPlatform({
    TRUNKLINE_ROLES: 'api,worker',
    TRUNKLINE_ALLOW_PRIVATE_HOOKS: 'true',
    TRUNKLINE_ALLOW_HTTP_HOOKS: 'true',
  })
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
  await setTimeout(1500) // the connection comes up
  const headers = { 'x-user-api-key': key }
  return {
    port: platform.port,
    pids: [platform.pid, platform.postgres],
    written: async () =>
      Number((await platform.db.one<{ bytes: string }>`select pg_current_wal_lsn() - '0/0' as bytes`).bytes),
    request: (n) =>
      post('/open/sms/send', headers, JSON.stringify({ from_number: from, to_number: destination(n), text })),
    stop: platform.stop,
  }
}

const startTheirs = async (store: Store, receipts: boolean): Promise<Contestant> => {
  const { port, pids, stop } = await startKannel(store, ports.smsc, window)
  await setTimeout(1000)
  const callback = receipts ? `http://127.0.0.1:${ports.callbacks}/` : null
  return { port, pids, request: (n) => sendsms(from, destination(n), text, callback), stop }
}

const contestants: Record<string, (receipts: boolean) => Promise<Contestant>> = {
  'Trunkline, durable': startOurs,
  ...(hasKannel()
    ? {
        'Kannel, memory': (receipts) => startTheirs('memory', receipts),
        'Kannel, file': (receipts) => startTheirs('file', receipts),
        'Kannel, spool': (receipts) => startTheirs('spool', receipts),
      }
    : {}),
}

/** Waits until nothing more comes. */
const drained = async (accepted: number, receipts: boolean): Promise<Report> => {
  let last = await tell({ report: { arrivals: false } })
  for (let idle = 0; idle < 50; ) {
    if (last.arrived >= accepted && (!receipts || last.called >= accepted)) break
    await setTimeout(100)
    const next = await tell({ report: { arrivals: false } })
    idle = next.arrived === last.arrived && next.called === last.called ? idle + 1 : 0
    last = next
  }
  return tell({ report: { arrivals: true } })
}

/** Time of a message's arrival, in milliseconds after `began`, in their order. */
const timesOf = ({ arrivals = [] }: Report, began: bigint) =>
  arrivals.map(([, at]) => Number(BigInt(at) - began) / 1e6).sort((a, b) => a - b)

type Result = {
  accepted: number
  relayed: number
  lost: number
  /** Microseconds a message, of each process. */
  cpu: number[]
  /** Bytes of the database's log a message. */
  log: number
  memory: number
  p50: number
  p99: number
}

const sum = (figures: readonly number[]) => figures.reduce((total, figure) => total + figure, 0)

const measure = async (contestant: Contestant, receipts: boolean): Promise<Result> => {
  let n = 0
  const requests = Array.from({ length: 40_000 }, (_, i) => contestant.request(i))
  await tell({ reset: { receipts } })
  const cpuBefore = contestant.pids.map(cpuSeconds)
  const written = await contestant.written?.()
  const began = process.hrtime.bigint()
  const done: Load = await load(contestant.port, connections, seconds, () => requests[n++] ?? contestant.request(n))
  const accepted = done.statuses.get(202) ?? 0
  const report = await drained(accepted, receipts)
  const end = receipts ? Number(BigInt(report.lastCall) - began) / 1e9 : (timesOf(report, began).at(-1) ?? 0) / 1000
  const cpu = contestant.pids.map((pid, i) => ((cpuSeconds(pid) - (cpuBefore[i] ?? 0)) / accepted) * 1e6)
  const log = (((await contestant.written?.()) ?? 0) - (written ?? 0)) / accepted
  const came = receipts ? report.called : report.arrived
  return {
    accepted: accepted / done.seconds,
    relayed: came / end,
    lost: accepted - came,
    cpu: cpu.map(Math.round),
    log: Math.round(log),
    memory: sum(contestant.pids.map(memory)),
    ...(await steady(contestant, receipts)),
  }
}

/** Milliseconds from the answer to submit_sm, at a steady pace. */
const steady = async (contestant: Contestant, receipts: boolean): Promise<{ p50: number; p99: number }> => {
  await tell({ reset: { receipts } })
  const answered = await paced(contestant.port, connections, pace, seconds, (n) => contestant.request(n + 1_000_000))
  const report = await drained(answered.size, receipts)
  const waits = (report.arrivals ?? [])
    .flatMap(([number, at]) => {
      const accepted = answered.get(number - 10_000_000 - 1_000_000)
      return accepted === undefined ? [] : [Number(BigInt(at) - accepted) / 1e6]
    })
    .sort((a, b) => a - b)
  const at = (share: number) => Math.max(0, waits[Math.floor(waits.length * share)] ?? Number.NaN)
  return { p50: at(0.5), p99: at(0.99) }
}

if (!hasKannel()) console.error('Kannel is not here (apt-get install kannel): the platform is measured alone')

const rows: string[][] = []
for (const receipts of [false, true].filter((one) => [undefined, String(one)].includes(values.receipts))) {
  const results = new Map<string, Result[]>()
  for (let round = 0; round < rounds; round++)
    for (const [name, start] of Object.entries(contestants)) {
      if (values.only && !name.includes(values.only)) continue
      const contestant = await start(receipts)
      const result = await measure(contestant, receipts).finally(contestant.stop)
      results.set(name, [...(results.get(name) ?? []), result])
      console.error(`round ${round + 1}, ${name}, receipts ${receipts}:`, result)
    }
  const of = (name: string, pick: (result: Result) => number) => median((results.get(name) ?? []).map(pick))
  const ours = 'Trunkline, durable'
  for (const name of results.keys())
    rows.push([
      name,
      receipts ? 'receipts, callbacks' : 'none',
      thousands(of(name, (r) => r.accepted)),
      thousands(of(name, (r) => r.relayed)),
      (of(ours, (r) => r.relayed) / of(name, (r) => r.relayed)).toFixed(2),
      of(name, (r) => r.p50).toFixed(1),
      of(name, (r) => r.p99).toFixed(1),
      of(name, (r) => sum(r.cpu)).toFixed(0),
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
