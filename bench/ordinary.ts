import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { benchRun } from './bench.ts'
import { type Gateway, handset, startKannelGateway, startSink, startTrunkline } from './gateways.ts'
import { hasKannel } from './kannel.ts'
import { load, paced, post } from './load.ts'
import { from, key, type Platform, startChild, startPlatform } from './platform.ts'
import type { Report } from './sink.ts'
import { prefixed, startMeter, statementCounter, wakeUps } from './usage.ts'

/**
 * Measures the loads that people have: an idle installation, few messages a second with receipts and webhooks, and a
 * client that sends one request after the other. Saturation is measured by sms.ts and relay.ts.
 */
const run = benchRun()
const { rounds, seconds, rows } = run
const paces = run.word('paces').split(',').map(Number)
const only = run.word('only')
const wants = (part: string): boolean => only === '' || only === part
const connections = 64

/** Names of the shares that are reported. */
const shares = { p50: 0.5, p99: 0.99, p999: 0.999 }

const percentiles = (name: string, times: readonly number[]): { [figure: string]: number } => {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return Object.fromEntries(Object.entries(shares).map(([share, value]) => [`${name}.${share}`, at(value)]))
}

type Times = ReadonlyMap<number, bigint>

/** Returns milliseconds from each time of the first map to that of the second one; missing ones are left out. */
const between = (began: Times, ended: Times): number[] =>
  [...ended].flatMap(([n, at]) => {
    const start = began.get(n)
    return start === undefined ? [] : [Number(at - start) / 1e6]
  })

const asTimes = (times: Report['arrivals']): Times => new Map((times ?? []).map(([n, at]) => [n, BigInt(at)]))

/** Sends at a steady rate, and receives as many texts of handsets afterwards. */
const measurePace = async (gateway: Gateway, name: string, pace: number): Promise<void> => {
  const began = new Map<number, bigint>()
  // A slow rate needs more time for as many messages.
  const length = Math.max(seconds, Math.ceil(30 / pace))
  const total = pace * length
  await sink.ask({ reset: { receipts: true } })
  const meters = { node: gateway.node, postgres: gateway.postgres }
  const [costOf, statements] = [await startMeter(meters, gateway.db), await statementCounter(gateway.superuserUrl)]
  const answered = await paced(gateway.port, connections, pace, length, (n) => {
    began.set(handset(n), process.hrtime.bigint())
    return gateway.request(n)
  })
  const report = await sink.waitUntilDrained(answered.size, answered.size)
  const cost = await costOf(total)
  const calls = (await statements()) / total
  const answers = new Map([...answered].map(([n, at]) => [handset(n), at]))
  const [arrivals, written, called] = [report.arrivals, report.written, report.calls].map(asTimes) as [
    Times,
    Times,
    Times,
  ]
  await sink.ask({ reset: { receipts: false } })
  await sink.ask({ inbound: { to: from.slice(1), first: handset(0), count: total, perSecond: pace } })
  const inbound = await sink.waitUntilDrained(0, total)
  const figures = {
    ...percentiles('api', between(began, answers)),
    ...percentiles('submit', between(began, arrivals)),
    ...percentiles('receipt', between(written, called)),
    ...percentiles('inbound', between(asTimes(inbound.written), asTimes(inbound.calls))),
    missing: total - called.size + total - (inbound.calls?.length ?? 0),
    statements: calls,
    ...prefixed('cost', cost),
  }
  console.error(`${name}, ${pace}/s:`, figures)
  run.record(prefixedBy(`${name}.${pace}`, figures))
}

const prefixedBy = (key: string, figures: { readonly [name: string]: number }): { [name: string]: number } =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${key}.${name}`, value]))

const sink = await startSink()

const measureLoad = async (): Promise<void> => {
  const ours = await startTrunkline(sink, rows, { receipts: true, inbound: true, countsStatements: true })
  await sink.ask({ reset: { receipts: true } })
  const warmUp = await load(ours.port, connections, 3, next(ours))
  const accepted = warmUp.statuses.get(202) ?? 0
  await sink.waitUntilDrained(accepted, accepted)
  for (const pace of paces) await measurePace(ours, 'ours', pace)
  await ours.stop()
  if (!hasKannel()) return
  const kannel = await startKannelGateway(sink, 'file', true)
  for (const pace of paces) await measurePace(kannel, 'kannel', pace)
  await kannel.stop()
}

/** Returns the requests of messages for a warm-up. */
const next = (gateway: Gateway): (() => Buffer) => {
  let n = 20_000_000
  return () => gateway.request(n++)
}

/** Measures an installation that nobody uses for a minute. */
const measureIdle = async (sandbox: boolean): Promise<void> => {
  const platform = await startPlatform(rows, { TRUNKLINE_SANDBOX: String(sandbox) }, [], true)
  await setTimeout(10_000) // what a start leaves to do
  const idleSeconds = run.number('idle')
  const counter = await statementCounter(platform.superuserUrl)
  const costOf = await startMeter(
    { node: [platform.pid], postgres: [platform.postgres], peer: platform.simulator },
    platform.db,
  )
  const processes = [platform.pid, platform.postgres]
  const before = wakeUps(processes)
  await setTimeout(idleSeconds * 1_000)
  const cost = await costOf(idleSeconds)
  const figures = {
    cpu: cost.cpu / 10_000,
    statements: (await counter()) / idleSeconds,
    wal: cost.wal,
    wakeUps: (wakeUps(processes) - before) / idleSeconds,
  }
  console.error(`idle, sandbox ${sandbox}:`, figures)
  run.record(prefixedBy(sandbox ? 'idle.sandbox' : 'idle.plain', figures))
  await platform.stop()
}

const rate = ({ count, seconds }: { count: number; seconds: number }) => count / seconds

/** Returns the accounts that send: each has a key and a number. */
const makeSenders = async (platform: Platform): Promise<{ key: string; from: string }[]> => {
  const numbers = Array.from({ length: run.number('accounts') - 1 }, (_, n) => `+4478${10_000_000 + n}`)
  const keys = await platform.addAccounts(numbers)
  return [{ key, from }, ...numbers.map((number, n) => ({ key: keys[n] ?? '', from: number }))]
}

/** Requests that send one message each. */
const singleRequests = (senders: readonly { key: string; from: string }[]): Buffer[] =>
  Array.from({ length: 20_000 }, (_, i) => {
    const sender = senders[i % senders.length] ?? { key, from }
    const body = { from_number: sender.from, to_number: `+4477${handset(i)}`, text: 'A message as people write' }
    return post('/open/sms/send', { 'x-user-api-key': sender.key }, JSON.stringify(body))
  })

/** Compares with a straightforward durable server on the same PostgreSQL. */
const measureSequential = async (): Promise<void> => {
  const platform = await startPlatform(rows, { TRUNKLINE_ROLES: 'api' })
  const senders = await makeSenders(platform)
  const yardstick = startChild('straightforward.ts', {
    DATABASE_URL: platform.databaseUrl,
    BENCH_KEYS: senders.map((sender) => sender.key).join(),
  })
  const port = Number(String((await once(createInterface(yardstick.stdout), 'line'))[0]))
  // A client that sends one request after the other is one account.
  const [ofOne, ofAll] = [singleRequests(senders.slice(0, 1)), singleRequests(senders)]
  for (const count of [1, 64, 256]) {
    const requests = count === 1 ? ofOne : ofAll
    await platform.db.raw('truncate jobs')
    let sent = 0
    const nextRequest = () => requests[sent++ % requests.length] ?? Buffer.alloc(0)
    const ours = await load(platform.port, count, seconds, nextRequest)
    const its = await load(port, count, seconds, nextRequest)
    const odd = [...ours.statuses, ...its.statuses].filter(([status]) => status !== 202)
    if (odd.length > 0) console.error('responses other than 202:', odd)
    run.record(
      prefixedBy(`direct.${count}`, {
        ours: rate(ours),
        yardstick: rate(its),
        ratio: rate(ours) / rate(its),
        p50: ours.p50,
        yardstickP50: its.p50,
      }),
    )
    console.error(`${count} connections: ${Math.round(rate(ours))}/s of ${Math.round(rate(its))}/s`)
  }
  yardstick.kill()
  await platform.stop()
}

/** Messages of one request, and connections that make such requests one after the other. */
const manySize = 1_000
const manyConnections = 4

/** Makes requests of many messages for a time. @returns the number of accepted messages in a second */
const loadMany = async (port: number): Promise<number> => {
  const began = performance.now()
  const end = began + seconds * 1_000
  let accepted = 0
  await Promise.all(
    Array.from({ length: manyConnections }, async () => {
      while (performance.now() < end) {
        const response = await fetch(`http://127.0.0.1:${port}/open/sms/send-many`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-user-api-key': key },
          body: JSON.stringify({
            from_number: from,
            text: 'A message as people write',
            to_numbers: Array.from({ length: manySize }, (_, i) => `+4477${handset(i)}`),
          }),
        })
        // The body is read, and not parsed: parsing would use CPU time of the measured cores.
        await response.arrayBuffer()
        if (response.status === 202) accepted += manySize
        else console.error(`a request of many messages got ${response.status}`)
      }
    }),
  )
  return accepted / ((performance.now() - began) / 1_000)
}

/** Compares requests of a thousand messages with requests of one, of a single account. */
const measureMany = async (): Promise<void> => {
  const platform = await startPlatform(rows, { TRUNKLINE_ROLES: 'api' })
  const requests = singleRequests([{ key, from }])
  let sent = 0
  const nextRequest = () => requests[sent++ % requests.length] ?? Buffer.alloc(0)
  await load(platform.port, 256, 2, nextRequest) // a warm-up
  const single = rate(await load(platform.port, 256, seconds, nextRequest))
  await platform.db.raw('truncate jobs')
  const many = await loadMany(platform.port)
  console.error(`many: ${Math.round(many)}/s of ${Math.round(single)}/s`)
  run.record(prefixedBy('many', { ours: many, single, ratio: many / single }))
  await platform.stop()
}

for (let round = 0; round < rounds; round++) {
  if (wants('direct')) await measureSequential()
  if (wants('many')) await measureMany()
  if (wants('load')) await measureLoad()
  if (wants('idle')) for (const sandbox of [false, true]) await measureIdle(sandbox)
}
sink.end()
