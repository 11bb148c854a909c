import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { benchRun } from './bench.ts'
import { table } from './lib.ts'
import { load, paced, post } from './load.ts'
import { key, startChild, startPlatform } from './platform.ts'
import { memory, prefixed, startMeter } from './usage.ts'

/**
 * Measures the messaging app over the sandbox network, all messages durable.
 *
 * Throughput of sending runs from the HTTP request to the `sent` webhook, of receiving from a handset to the `received`
 * webhook. Then come the delays at a fixed rate and the memory of connected channels. An empty route of the same
 * Fastify is measured in the same run. Network, receiver and load share the machine with the platform.
 */
const run = benchRun()
const { rounds, seconds } = run
const channels = run.number('channels')
const perSecond = run.number('rate')

const receiver = spawn(process.execPath, [join(import.meta.dirname, 'receiver.ts')], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const hook = Number(String((await once(createInterface(receiver.stdout), 'line'))[0]))
const empty = startChild('empty.ts')
const emptyPort = Number(String((await once(createInterface(empty.stdout), 'line'))[0]))
let platform = await startPlatform(run.rows, { TRUNKLINE_SANDBOX: 'true' })
const headers = { 'x-user-api-key': key }

type NumberList = { total: number; numbers: { uuid: string; phone_number: string }[] }

const call = async (method: string, path: string, body?: object): Promise<NumberList> => {
  const answer = await fetch(platform.url + path, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as NumberList // only these fields are read
}

const { numbers } = await call('GET', '/open/msgapp/get-numbers')
const { uuid: channel = '', phone_number: from = '' } = numbers[0] ?? {}
for (const event of ['msgapp.message.sent', 'msgapp.message.received'])
  await call('POST', `/open/webhooks/subscribe/${event}`, {
    hook_url: `http://127.0.0.1:${hook}/${event}`,
    channel_uuid: channel,
  })

/** Returns the webhook delays since the last call, ascending. */
const delays = async (): Promise<number[]> => {
  const all: number[] = JSON.parse(await (await fetch(`http://127.0.0.1:${hook}`)).text())
  return all.sort((a, b) => a - b)
}
const at = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN

/** Waits for the webhooks of `count` messages. @returns the time of the last one and all delays */
const waitForWebhooks = async (count: number) => {
  const all = await delays()
  const end = performance.now() + 120_000
  while (all.length < count && performance.now() < end) {
    await pause(20)
    all.push(...(await delays()))
  }
  if (all.length < count) throw new Error(`${count - all.length} of ${count} webhooks did not arrive`)
  return { when: performance.now(), delays: all.sort((a, b) => a - b) }
}

let handsets = 0
const handset = () => `+4477${10_000_000 + (handsets++ % 5_000) * 1_617}`
const now = () => performance.timeOrigin + performance.now()

const sending = () =>
  post(
    '/open/msgapp/send-message',
    headers,
    JSON.stringify({ from_number: from, to_number: handset(), text: `Hello sent_at=${now()}` }),
  )
const receiving = () =>
  post(
    `/sandbox/handsets/${encodeURIComponent(handset())}/msgapp`,
    headers,
    JSON.stringify({ to: from, text: `Hello sent_at=${now()}` }),
  )

const processes = {
  node: [platform.pid],
  postgres: [platform.postgres],
  peer: [...platform.simulator, receiver.pid ?? 0],
}

/** Returns messages a second, measured until the webhook of the last one arrives, and the cost of each. */
const measureFlow = async (connections: number, next: () => Buffer) => {
  await delays()
  const costOf = await startMeter(processes, platform.db)
  const began = performance.now()
  const { count, statuses } = await load(platform.port, connections, seconds, next)
  if (statuses.get(202) !== count) throw new Error(`unexpected statuses: ${JSON.stringify([...statuses])}`)
  const { when } = await waitForWebhooks(count)
  return { rate: count / ((when - began) / 1000), cost: await costOf(count) }
}

await measureFlow(8, sending)
await measureFlow(8, receiving)
for (let round = 0; round < rounds; round++) {
  const { count, seconds: took } = await load(emptyPort, 32, seconds, sending)
  const empty = count / took
  const sent = await measureFlow(32, sending)
  const received = await measureFlow(16, receiving)
  run.record({
    empty,
    sent: sent.rate,
    received: received.rate,
    sentRatio: sent.rate / empty,
    receivedRatio: received.rate / empty,
    ...prefixed('sentCost', sent.cost),
    ...prefixed('receivedCost', received.cost),
  })
}

const pacedDelays = async (next: () => Buffer) => {
  await delays()
  const taken = await paced(platform.port, 16, perSecond, seconds, next)
  return (await waitForWebhooks(taken.size)).delays
}
console.log(`\nFrom request to webhook at ${perSecond} a second, milliseconds:\n`)
const [out, back] = [await pacedDelays(sending), await pacedDelays(receiving)]
run.record({ sentDelay: at(out, 0.5), receivedDelay: at(back, 0.5) })
table(
  ['', 'p50', 'p99'],
  [
    ['sent', at(out, 0.5).toFixed(1), at(out, 0.99).toFixed(1)],
    ['received', at(back, 0.5).toFixed(1), at(back, 0.99).toFixed(1)],
  ],
)

/** Waits until `count` channels are connected. @returns seconds */
const waitUntilConnected = async (count: number) => {
  const began = performance.now()
  for (;;) {
    const { total } = await call('GET', '/open/msgapp/get-numbers?status=connected&per_page=1')
    if (total >= count) return (performance.now() - began) / 1000
    if (performance.now() - began > 120_000) throw new Error(`only ${total} of ${count} channels are connected`)
    await pause(250)
  }
}

// Uses a fresh platform, so that memory left by the load is not counted.
await platform.stop()
platform = await startPlatform(0, { TRUNKLINE_SANDBOX: 'true' })
console.log('\nMemory of the platform by connected channels:\n')
const held: string[][] = []
let [made, first] = [1, 0]
for (const count of [1, 10, 100, 1_000].filter((count) => count <= channels)) {
  for (; made < count; made++)
    await call('POST', '/open/msgapp/channel/create', { phone_number: `+44151${String(4_960_000 + made)}` })
  const took = await waitUntilConnected(count)
  await pause(6_000) // one round of health checks
  const after = memory(platform.pid)
  if (count === 1) first = after
  else run.record({ channel: (after - first) / (count - 1) })
  held.push([String(count), `${after} MB`, `${took.toFixed(1)} s`])
}
table(['channels', 'memory with PostgreSQL and network', 'until connected'], held)

await platform.stop()
receiver.kill()
empty.kill()
