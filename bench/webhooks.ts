import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import pino from 'pino'
import { assemble } from '../src/assemble.ts'
import { readConfig } from '../src/config.ts'
import { openAccount } from '../src/domains/accounts/ops.ts'
import { record } from '../src/domains/events/ops.ts'
import { allContents } from '../src/domains/inbox/narrowing/ops.ts'
import { makeSimulatorClient } from '../src/domains/sandbox/simulator-client.ts'
import { startDeliveryEngine } from '../src/domains/webhooks/delivery/delivery-engine.ts'
import { subscribe } from '../src/domains/webhooks/subscriptions/subscribe.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { connect } from '../src/platform/db/sql.ts'
import { makeSeal } from '../src/platform/lib/secret.ts'
import { benchRun } from './bench.ts'
import { startDatabase } from './database.ts'
import { median, table, thousands } from './lib.ts'
import { type Cost, prefixed, startMeter, statementCounter } from './usage.ts'

/**
 * Measures webhooks.
 *
 * First: delivered events a second (recorded, fanned out, signed, sent, logged) and CPU per event, compared with a bare
 * keep-alive client to the same receiver. Then: many quiet receivers, 200 events a second over 1,000 of them, each
 * recorded by a transaction of its own: CPU and statements per event, and the delay from cause to arrival, alone, next
 * to a busy receiver, and after a change of webhooks with and without 100 receivers that never answer. The receiver is
 * another process on the same machine. On a busy machine, the CPU per event says more than the throughput.
 */
const run = benchRun()
const { rounds, seconds } = run
const only = run.word('only')
const [pairs, perSecond] = [run.number('pairs'), run.number('rate')]
const receivers = 1_000
/** Receivers that never answer in every second round. */
const deadReceivers = 100
const healthyPerDead = receivers / deadReceivers - 1
/** Maximum number of connections of the platform to one host. */
const connections = 32
/** Concurrent transactions that record events; enough to keep the deliveries busy. */
const causes = 16
/** Events of each transaction that records for a busy receiver. */
const perCause = 10
/** Events of the busy receiver for each event of the quiet ones. */
const busyShare = 5

const server = await startDatabase(run.rows, true)
const patient = connect({ url: server.url, connections: 2, unlimited: true })
await migrate(patient, {})
await patient.end()
const superuser = connect({ url: server.superuserUrl, connections: 1 })
/** Counting costs CPU, which would lower the throughput. */
const countStatements = async (isOn: boolean): Promise<void> => {
  await superuser.raw(`alter system set pg_stat_statements.track = '${isOn ? 'all' : 'none'}'`)
  await superuser.raw('select pg_reload_conf()')
}
await countStatements(false)
const db = connect({ url: server.url, connections: 16 })
const parts = await assemble({
  config: readConfig({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_LOG: 'silent' }),
  db,
  version: 'bench',
  log: pino({ level: 'silent' }),
  seal: makeSeal(randomBytes(32)),
  simulator: makeSimulatorClient(() => null),
  publicUrl: () => 'http://127.0.0.1',
})

const child = spawn(process.execPath, [join(import.meta.dirname, 'receiver.ts')], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const port = Number(String((await once(createInterface(child.stdout), 'line'))[0]))

const at = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
/** Returns the delays since the last call, ascending. */
const delays = async (): Promise<number[]> => {
  const all: number[] = JSON.parse(await (await fetch(`http://127.0.0.1:${port}`)).text())
  return all.sort((a, b) => a - b)
}

/** Opens an account with a webhook on its own host. */
const subscriber = (host: string) =>
  db.begin(async (tx) => {
    const account = await openAccount(tx, { name: host, sandbox: true })
    const wish = { hook_url: `http://${host}.localhost:${port}/hook` }
    const caller = { account, contents: allContents }
    await subscribe(tx, parts.seal, caller, { spelt: 'contact.created', msgappName: null }, wish, null)
    return account
  })

/** A payload about as large as that of an SMS event. */
const filler = {
  first_name: 'Ada',
  last_name: 'Lovelace',
  details: [{ id: 1, value: '+447700900123', type: 'PH' }],
  note: 'x'.repeat(250),
}
const makeEvent = (account: string, conversation: number) => ({
  account,
  name: 'contact.created' as const,
  channel: null,
  conversation: String(conversation),
  payload: { ...filler, sent_at: performance.timeOrigin + performance.now() },
})
const body = JSON.stringify({ ...filler, sent_at: 0, event: 'contact.created', uuid: randomBytes(16).toString('hex') })

/** Starts to measure the cost of an event. The load runs in the process of the platform. */
const startCost = () => startMeter({ node: [process.pid], postgres: [server.pid()], peer: [child.pid ?? 0] }, db)

/** Returns the requests a second of a client that does nothing else. */
const measureBareClient = async (): Promise<Cost & { rate: number }> => {
  const costOf = await startCost()
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const end = performance.now() + seconds * 1000
  let count = 0
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const sent = request({ host: '127.0.0.1', port, method: 'POST', path: '/hook', agent, headers }, (answer) => {
        answer.resume()
        answer.on('end', resolve)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  const lane = async () => {
    for (; performance.now() < end; count++) await one()
  }
  const began = performance.now()
  await Promise.all(Array.from({ length: connections }, lane))
  agent.destroy()
  return { rate: (count * 1000) / (performance.now() - began), ...(await costOf(count)) }
}

/** Returns the events delivered a second to one webhook, recorded ten per transaction, at most 2,000 ahead. */
const measureThroughput = async (account: string): Promise<Cost & { rate: number }> => {
  await delays()
  const costOf = await startCost()
  const began = performance.now()
  const end = began + seconds * 1000
  let recorded = 0
  let arrived = 0
  const cause = async () => {
    while (performance.now() < end) {
      if (recorded - arrived > 2_000) {
        await pause(2)
        continue
      }
      recorded += perCause
      await db.begin((tx) =>
        record(
          tx,
          Array.from({ length: perCause }, (_, i) => makeEvent(account, recorded + i)),
        ),
      )
    }
  }
  const count = async () => {
    while (performance.now() < end || arrived < recorded) {
      await pause(50)
      arrived += (await delays()).length
    }
  }
  await Promise.all([count(), ...Array.from({ length: causes }, cause)])
  return { rate: (arrived * 1000) / (performance.now() - began), ...(await costOf(arrived)) }
}

type PacedDelays = Cost & { delays: number[]; statements: number }

/**
 * Records events at a steady rate, for each account in turn.
 * @param name one that nobody subscribes to leaves the cost of recording alone
 * @returns the delays of counted receivers, ascending, and statements per event, nested ones included
 */
const measureDelays = async (
  accounts: readonly string[],
  name: 'contact.created' | 'contact.updated' = 'contact.created',
): Promise<PacedDelays> => {
  await delays()
  const [costOf, statements] = [await startCost(), await statementCounter(server.superuserUrl)]
  const began = performance.now()
  const pending: Promise<unknown>[] = []
  for (let n = 0; n < perSecond * seconds; n++) {
    const wait = began + (n * 1000) / perSecond - performance.now()
    if (wait > 0) await pause(wait)
    const account = accounts[(n * 7) % accounts.length] ?? ''
    pending.push(db.begin((tx) => record(tx, [{ ...makeEvent(account, n), name }])))
  }
  await Promise.all(pending)
  await pause(1_000)
  const all = await delays()
  const recorded = perSecond * seconds
  return { delays: all, statements: (await statements()) / recorded, ...(await costOf(recorded)) }
}

const deliveries = startDeliveryEngine(parts)
const one = await subscriber('one')
/** Answered and not counted. */
const busy = await subscriber('spare-busy')
const [healthy, dead, spare]: [string[], string[], string[]] = [[], [], []]
for (let n = 0; n < receivers; n++) {
  if (n % (receivers / deadReceivers) > 0) healthy.push(await subscriber(`well${n}`))
  else {
    dead.push(await subscriber(`dead${n}`))
    spare.push(await subscriber(`spare${n}`))
  }
}
/**
 * Spreads the accounts evenly among the healthy ones, so that both kinds of rounds record events at the same moments.
 */
const interleave = (some: readonly string[]) =>
  some.flatMap((account, n) => [account, ...healthy.slice(n * healthyPerDead, (n + 1) * healthyPerDead)])

/** Enables or disables the dead webhooks, resets their state and fails their pending deliveries. */
const resetDead = async (isCalled: boolean) => {
  await db.begin(async (tx) => {
    await tx.run`
      update webhooks set enabled = ${isCalled}, disabled_reason = case when ${isCalled} then null else 'paused' end
      where account_id = any(${dead}::uuid[])`
    await tx.run`
      update webhook_deliveries set state = 'failed', next_at = null
      where account_id = any(${dead}::uuid[]) and state = 'pending'`
    await tx.run`
      update webhook_endpoint_leases set failures = 0, failing_since = null, succeeded_at = null, hold_until = null
      where account_id = any(${dead}::uuid[])`
    await parts.changes.invalidate(tx, 'webhooks')
  })
  await pause(1_000)
}

// The first round warms up.
const rates: { bare: Cost & { rate: number }; ours: Cost & { rate: number } }[] = []
for (let round = 0; round <= rounds && only !== 'quiet'; round++) {
  const rate = { bare: await measureBareClient(), ours: await measureThroughput(one) }
  if (round === 0) continue
  rates.push(rate)
  const { rate: delivered, ...ownCost } = rate.ours
  run.record({
    delivered,
    client: rate.bare.rate,
    ratio: delivered / rate.bare.rate,
    clientCpu: rate.bare.node,
    ...prefixed('cost', ownCost),
  })
}
const measureWithoutDead = async (): Promise<PacedDelays> => {
  await resetDead(false)
  return await measureDelays(interleave(spare))
}
/** Measures again without a change of webhooks: each receiver has had an event within the seconds before. */
const measureSteady = async (): Promise<PacedDelays> => {
  await measureWithoutDead()
  return await measureDelays(interleave(spare))
}
/** Measures next to a receiver with five times as many events as all others together. */
const measureBesideBusy = async (): Promise<PacedDelays> => {
  let isOver = false
  const keepBusy = async () => {
    const began = performance.now()
    for (let n = 0; !isOver; n++) {
      const wait = began + (n * perCause * 1000) / (perSecond * busyShare) - performance.now()
      if (wait > 0) await pause(wait)
      const events = Array.from({ length: perCause }, (_, i) => makeEvent(busy, i))
      await db.begin((tx) => record(tx, events))
    }
  }
  const load = keepBusy()
  const measured = await measureDelays(interleave(spare))
  isOver = true
  await load
  return measured
}
const measureWithDead = async (): Promise<PacedDelays> => {
  await resetDead(true)
  return await measureDelays(interleave(dead))
}
const steady: PacedDelays[] = []
const compared: { quiet: PacedDelays; beside: PacedDelays }[] = []
if (only !== 'throughput') {
  await countStatements(true)
  await measureWithoutDead()
  for (let round = 0; round < rounds; round++) {
    const measured = await measureSteady()
    const { cpu: recording } = await measureDelays(interleave(spare), 'contact.updated')
    const { delays: besideBusy } = await measureBesideBusy()
    const { delays: waits, statements, ...quietCost } = measured
    run.record({
      'quiet.p50': at(waits, 0.5),
      'quiet.p99': at(waits, 0.99),
      'beside.p50': at(besideBusy, 0.5),
      'beside.p99': at(besideBusy, 0.99),
      'quiet.statements': statements,
      'quiet.recording': recording,
      'quiet.delivery': quietCost.cpu - recording,
      ...prefixed('quiet', quietCost),
    })
    steady.push(measured)
  }
}
// Alternates the order, so that other load on the machine affects both alike.
for (let n = 0; n < pairs && only !== 'throughput'; n++) {
  if (n % 2 === 0) compared.push({ quiet: await measureWithoutDead(), beside: await measureWithDead() })
  else {
    const second = await measureWithDead()
    compared.push({ quiet: await measureWithoutDead(), beside: second })
  }
}

for (const { quiet } of compared) run.record({ delay: at(quiet.delays, 0.5), delayTail: at(quiet.delays, 0.99) })

const of = <T>(rounds: readonly T[], figure: (round: T) => number) => median(rounds.map(figure))
const cost = (rounds: readonly Cost[]) => [
  of(rounds, (r) => r.node).toFixed(0),
  of(rounds, (r) => r.postgres).toFixed(0),
]
console.log(`${rounds} rounds of ${seconds} s, medians; CPU in microseconds\n`)
const [client, ours] = [rates.map((r) => r.bare), rates.map((r) => r.ours)]
const rate = (all: readonly { rate: number }[]) => thousands(of(all, (r) => r.rate))
const ratio = of(rates, (r) => r.ours.rate / r.bare.rate).toFixed(2)
if (only !== 'quiet')
  table(
    ['', 'a second', 'ratio', 'Node per event', 'PostgreSQL per event'],
    [
      ['bare keep-alive client, 32 connections', rate(client), '1.00', ...cost(client)],
      ['events recorded and delivered', rate(ours), ratio, ...cost(ours)],
    ],
  )
console.log(
  `\nFrom cause to arrival, ${perSecond} events a second over ${receivers} receivers, milliseconds: medians of ${pairs} pairs\n`,
)
const line = (name: string, all: readonly PacedDelays[]) => [
  name,
  ...[0.5, 0.99].map((share) => of(all, (r) => at(r.delays, share)).toFixed(1)),
  String(of(all, (r) => r.delays.length)),
  of(all, (r) => r.statements).toFixed(1),
  ...cost(all),
]
table(
  ['', 'p50', 'p99', 'arrived', 'statements per event', 'Node per event', 'PostgreSQL per event'],
  [
    line('all answer, steady', steady),
    line(
      'all answer',
      compared.map((pair) => pair.quiet),
    ),
    line(
      `${deadReceivers} never answer`,
      compared.map((pair) => pair.beside),
    ),
  ],
)
for (const [name, share] of [
  ['p50', 0.5],
  ['p99', 0.99],
] as const) {
  const ratios = compared
    .map((pair) => at(pair.beside.delays, share) / at(pair.quiet.delays, share))
    .sort((a, b) => a - b)
  const [least = 0, most = 0] = [ratios[0], ratios.at(-1)]
  console.log(
    `\n${name} with dead receivers as a ratio to ${name} without: ${median(ratios).toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`,
  )
}
await deliveries.stop(100)
parts.outbound.close()
parts.changes.stop()
child.kill()
await superuser.end()
await db.end()
await server.stop()
