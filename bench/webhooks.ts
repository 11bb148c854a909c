import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import pino from 'pino'
import { openAccount } from '../src/accounts/ops.ts'
import { readConfig } from '../src/config.ts'
import { startEmbedded } from '../src/db/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { connect } from '../src/db/sql.ts'
import { record } from '../src/events/ops.ts'
import { makeSeal } from '../src/lib/secret.ts'
import { makeParts } from '../src/parts.ts'
import { makeSimulator } from '../src/sandbox/simulator.ts'
import { startDeliveries } from '../src/webhooks/engine.ts'
import { subscribe } from '../src/webhooks/subscribe.ts'
import { median, option, table, thousands } from './lib.ts'
import { cpuSeconds } from './usage.ts'

/**
 * Webhooks, in one run: events delivered a second – recorded, fanned out, signed, sent, logged – beside a bare keep-alive client
 * against the same receiver, and what each of them costs; the time from cause to arrival at 200 events a second over 1,000
 * receivers; and what 100 of those do to the others by never answering: `npm run bench -- webhooks [--rounds 3] [--pairs 9]
 * [--seconds 5]`. The receiver is a process of its own on the same machine. Where that is busy, what an event costs says more
 * than how many there were.
 */
const rounds = option('rounds', 3)
const pairs = option('pairs', 9)
const seconds = option('seconds', 5)
const perSecond = option('rate', 200)
const receivers = 1_000
/** Of them, those that never answer in every second round. */
const others = 100
const each = receivers / others - 1
/** As many as the platform makes to one host. */
const connections = 32
/** Transactions that record events at a time, as many as keep the deliveries busy. */
const causes = 16

const home = mkdtempSync(join(tmpdir(), 'trunkline-bench-'))
const server = await startEmbedded({ home, log: { info: () => {}, warn: () => {}, error: console.error } })
const patient = connect({ url: server.url, connections: 2, patient: true })
await migrate(patient, {})
await patient.end()
const db = connect({ url: server.url, connections: 16 })
const parts = await makeParts({
  config: readConfig({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_LOG: 'silent' }),
  db,
  version: 'bench',
  log: pino({ level: 'silent' }),
  seal: makeSeal(randomBytes(32)),
  simulator: makeSimulator(() => null),
  publicUrl: () => 'http://127.0.0.1',
})

const child = spawn(process.execPath, [join(import.meta.dirname, 'receiver.ts')], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const port = Number(String((await once(createInterface(child.stdout), 'line'))[0]))

const at = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
/** The delays since the last time that it was asked, ascending. */
const delays = async (): Promise<number[]> => {
  const all: number[] = JSON.parse(await (await fetch(`http://127.0.0.1:${port}`)).text())
  return all.sort((a, b) => a - b)
}

/** An account with a webhook on a host of its own. */
const subscriber = (host: string) =>
  db.begin(async (tx) => {
    const account = await openAccount(tx, { name: host, sandbox: true })
    const wish = { hook_url: `http://${host}.localhost:${port}/hook` }
    await subscribe(tx, parts.seal, account, { spelt: 'contact.created', msgappName: null }, wish, null)
    return account
  })

/** About as much as an SMS event. */
const filler = {
  first_name: 'Ada',
  last_name: 'Lovelace',
  details: [{ id: 1, value: '+447700900123', type: 'PH' }],
  note: 'x'.repeat(250),
}
const happened = (account: string, conversation: number) => ({
  account,
  name: 'contact.created' as const,
  channel: null,
  conversation: String(conversation),
  payload: { ...filler, sent_at: performance.timeOrigin + performance.now() },
})
const body = JSON.stringify({ ...filler, sent_at: 0, event: 'contact.created', uuid: randomBytes(16).toString('hex') })

type Cost = { readonly node: number; readonly postgres: number }

/** Microseconds of CPU that this process and PostgreSQL used, for each of so many. */
const costs = () => {
  const before = { node: process.cpuUsage(), postgres: cpuSeconds(server.pid()) }
  return (count: number): Cost => {
    const { user, system } = process.cpuUsage(before.node)
    return { node: (user + system) / count, postgres: ((cpuSeconds(server.pid()) - before.postgres) * 1e6) / count }
  }
}

/** Requests a second of a client that does nothing else. */
const bare = async (): Promise<Cost & { rate: number }> => {
  const cost = costs()
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
  return { rate: (count * 1000) / (performance.now() - began), ...cost(count) }
}

/** Events delivered a second to one webhook, recorded ten to a transaction, 2,000 ahead at most. */
const delivered = async (account: string): Promise<Cost & { rate: number }> => {
  await delays()
  const cost = costs()
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
      recorded += 10
      await db.begin((tx) =>
        record(
          tx,
          Array.from({ length: 10 }, (_, i) => happened(account, recorded + i)),
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
  return { rate: (arrived * 1000) / (performance.now() - began), ...cost(arrived) }
}

/** The delays of receivers that are well, ascending, while events happen at an even pace, each to the next of these accounts. */
const paced = async (accounts: readonly string[]): Promise<Cost & { delays: number[] }> => {
  await delays()
  const cost = costs()
  const began = performance.now()
  const pending: Promise<unknown>[] = []
  for (let n = 0; n < perSecond * seconds; n++) {
    const wait = began + (n * 1000) / perSecond - performance.now()
    if (wait > 0) await pause(wait)
    const account = accounts[(n * 7) % accounts.length] ?? ''
    pending.push(db.begin((tx) => record(tx, [happened(account, n)])))
  }
  await Promise.all(pending)
  await pause(1_000)
  const all = await delays()
  return { delays: all, ...cost(all.length) }
}

const deliveries = startDeliveries(parts)
const one = await subscriber('one')
const [well, dead, spare]: [string[], string[], string[]] = [[], [], []]
for (let n = 0; n < receivers; n++) {
  if (n % (receivers / others) > 0) well.push(await subscriber(`well${n}`))
  else {
    dead.push(await subscriber(`dead${n}`))
    spare.push(await subscriber(`spare${n}`))
  }
}
/** All accounts, with these among the others: evenly, so that both kinds of rounds are told of at the same moments. */
const among = (some: readonly string[]) =>
  some.flatMap((account, n) => [account, ...well.slice(n * each, (n + 1) * each)])

/** The dead are called or not. Whichever it is, what is known of them is forgotten, and what they had is given up. */
const setDead = async (isCalled: boolean) => {
  await db.begin(async (tx) => {
    await tx.run`
      update webhooks set enabled = ${isCalled}, disabled_reason = case when ${isCalled} then null else 'paused' end
      where account_id = any(${dead}::uuid[])`
    await tx.run`
      update webhook_deliveries set state = 'failed', next_at = null
      where account_id = any(${dead}::uuid[]) and state = 'pending'`
    await tx.run`
      update webhook_lanes set failures = 0, failing_since = null, succeeded_at = null, hold_until = null
      where account_id = any(${dead}::uuid[])`
    await parts.changes.announce(tx, 'webhooks')
  })
  await pause(1_000)
}

// The first round warms up.
const rates: { bare: Cost & { rate: number }; ours: Cost & { rate: number } }[] = []
for (let round = 0; round <= rounds; round++) {
  const rate = { bare: await bare(), ours: await delivered(one) }
  if (round > 0) rates.push(rate)
}
type Paced = Awaited<ReturnType<typeof paced>>
const quiet = async (): Promise<Paced> => {
  await setDead(false)
  return await paced(among(spare))
}
const beside = async (): Promise<Paced> => {
  await setDead(true)
  return await paced(among(dead))
}
await quiet()
const compared: { quiet: Paced; beside: Paced }[] = []
// Each first in turn, so that what the machine does meanwhile strikes both alike.
for (let n = 0; n < pairs; n++) {
  if (n % 2 === 0) compared.push({ quiet: await quiet(), beside: await beside() })
  else {
    const second = await beside()
    compared.push({ quiet: await quiet(), beside: second })
  }
}

const of = <T>(rounds: readonly T[], figure: (round: T) => number) => median(rounds.map(figure))
const cost = (rounds: readonly Cost[]) => [
  of(rounds, (r) => r.node).toFixed(0),
  of(rounds, (r) => r.postgres).toFixed(0),
]
console.log(`${rounds} rounds of ${seconds} s, medians; CPU in microseconds\n`)
const [client, ours] = [rates.map((r) => r.bare), rates.map((r) => r.ours)]
const rate = (all: readonly { rate: number }[]) => thousands(of(all, (r) => r.rate))
const ratio = of(rates, (r) => r.ours.rate / r.bare.rate).toFixed(2)
table(
  ['', 'a second', 'ratio', 'Node each', 'PostgreSQL each'],
  [
    ['bare keep-alive client, 32 connections', rate(client), '1.00', ...cost(client)],
    ['events recorded and delivered', rate(ours), ratio, ...cost(ours)],
  ],
)
console.log(
  `\nFrom cause to arrival, ${perSecond} events a second over ${receivers} receivers, milliseconds: medians of ${pairs} pairs\n`,
)
const line = (name: string, all: readonly Paced[]) => [
  name,
  ...[0.5, 0.99].map((share) => of(all, (r) => at(r.delays, share)).toFixed(1)),
  String(of(all, (r) => r.delays.length)),
  ...cost(all),
]
table(
  ['', 'p50', 'p99', 'arrived', 'Node each', 'PostgreSQL each'],
  [
    line(
      'all are well',
      compared.map((pair) => pair.quiet),
    ),
    line(
      `${others} never answer`,
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
    `\n${name} beside the dead ones, of what it is without: ${median(ratios).toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`,
  )
}
await deliveries.stop(100)
parts.outbound.close()
parts.changes.stop()
child.kill()
await db.end()
await server.stop()
rmSync(home, { recursive: true, force: true })
