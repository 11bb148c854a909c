import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { median, option, table, thousands } from './lib.ts'
import { load, paced, post } from './load.ts'
import { child, key, startPlatform } from './platform.ts'
import { memory } from './usage.ts'

/**
 * The messaging app, all of it durable, over the sandbox's network: messages a second from the HTTP request to the webhook that
 * tells that they were sent, and from a handset to the webhook that tells that they came; the delays at a pace; and the memory
 * of connected channels: `npm run bench -- msgapp [--rounds 3] [--seconds 5] [--channels 1000] [--rate 100]`. An empty route of
 * the same Fastify is measured in the same run. Network, receiver and load share the machine with the platform.
 */
const rounds = option('rounds', 3)
const seconds = option('seconds', 5)
const channels = option('channels', 1_000)
const perSecond = option('rate', 100)

/** What the closest service of this kind did on such a machine (requests a second). */
const closest = { sending: 290, receiving: 44 }

const receiver = spawn(process.execPath, [join(import.meta.dirname, 'receiver.ts')], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const hook = Number(String((await once(createInterface(receiver.stdout), 'line'))[0]))
const empty = child('empty.ts')
const emptyPort = Number(String((await once(createInterface(empty.stdout), 'line'))[0]))
let platform = await startPlatform({ TRUNKLINE_SANDBOX: 'true' })
const headers = { 'x-user-api-key': key }

type Listed = { total: number; numbers: { uuid: string; phone_number: string }[] }

const call = async (method: string, path: string, body?: object): Promise<Listed> => {
  const answer = await fetch(platform.url + path, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Listed // all that is read here
}

const { numbers } = await call('GET', '/open/msgapp/get-numbers')
const { uuid: channel = '', phone_number: from = '' } = numbers[0] ?? {}
for (const event of ['msgapp.message.sent', 'msgapp.message.received'])
  await call('POST', `/open/webhooks/subscribe/${event}`, {
    hook_url: `http://127.0.0.1:${hook}/${event}`,
    channel_uuid: channel,
  })

/** The delays of the webhooks since the last time, ascending. */
const delays = async (): Promise<number[]> => {
  const all: number[] = JSON.parse(await (await fetch(`http://127.0.0.1:${hook}`)).text())
  return all.sort((a, b) => a - b)
}
const at = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN

/** Waits until the webhooks of so many messages have come. @returns when, and their delays */
const arrived = async (count: number) => {
  const all = await delays()
  const end = performance.now() + 120_000
  while (all.length < count && performance.now() < end) {
    await pause(20)
    all.push(...(await delays()))
  }
  if (all.length < count) throw new Error(`${count - all.length} of ${count} webhooks did not come`)
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

/** Messages a second, until the webhook of the last one has come. */
const flow = async (connections: number, next: () => Buffer) => {
  await delays()
  const began = performance.now()
  const { count, statuses } = await load(platform.port, connections, seconds, next)
  const accepted = count / seconds
  if (statuses.get(202) !== count) throw new Error(`answers: ${JSON.stringify([...statuses])}`)
  const { when } = await arrived(count)
  return { accepted, told: count / ((when - began) / 1000) }
}

await flow(8, sending)
await flow(8, receiving)
const rates = { empty: [0], accepted: [0], sent: [0], received: [0] }
for (const list of Object.values(rates)) list.pop()
for (let round = 0; round < rounds; round++) {
  const bare = await load(emptyPort, 32, seconds, sending)
  rates.empty.push(bare.count / bare.seconds)
  const out = await flow(32, sending)
  rates.accepted.push(out.accepted)
  rates.sent.push(out.told)
  rates.received.push((await flow(16, receiving)).told)
}

const row = (what: string, of: readonly number[], peer: number | null): string[] => [
  what,
  thousands(median(of)),
  (median(of) / median(rates.empty)).toFixed(3),
  peer === null ? '' : `${(median(of) / peer).toFixed(1)} × ${peer}`,
]
table(
  ['messages a second', 'median', 'of an empty route', 'of the closest service'],
  [
    row('empty route, 32 connections', rates.empty, null),
    row('accepted, 32 connections', rates.accepted, null),
    row('sent, to the webhook', rates.sent, closest.sending),
    row('received, to the webhook, 16 connections', rates.received, closest.receiving),
  ],
)

const pacedDelays = async (next: () => Buffer) => {
  await delays()
  const taken = await paced(platform.port, 16, perSecond, seconds, next)
  return (await arrived(taken.size)).delays
}
console.log(`\nFrom the request to the webhook at ${perSecond} a second, milliseconds:\n`)
const [out, back] = [await pacedDelays(sending), await pacedDelays(receiving)]
table(
  ['', 'p50', 'p99'],
  [
    ['sent', at(out, 0.5).toFixed(1), at(out, 0.99).toFixed(1)],
    ['received', at(back, 0.5).toFixed(1), at(back, 0.99).toFixed(1)],
  ],
)

/** Waits until so many channels are connected. @returns seconds */
const connected = async (count: number) => {
  const began = performance.now()
  for (;;) {
    const { total } = await call('GET', '/open/msgapp/get-numbers?status=connected&per_page=1')
    if (total >= count) return (performance.now() - began) / 1000
    if (performance.now() - began > 120_000) throw new Error(`only ${total} of ${count} channels are connected`)
    await pause(250)
  }
}

// On a platform that has done nothing else: what load leaves behind is no channel's.
await platform.stop()
platform = await startPlatform({ TRUNKLINE_SANDBOX: 'true' })
console.log('\nMemory of the platform by connected channels:\n')
const held: string[][] = []
let made = 1
for (const count of [1, 10, 100, 1_000].filter((count) => count <= channels)) {
  for (; made < count; made++)
    await call('POST', '/open/msgapp/channel/create', { phone_number: `+44151${String(4_960_000 + made)}` })
  const took = await connected(count)
  await pause(6_000) // a round of proofs
  const after = memory(platform.pid)
  held.push([String(count), `${after} MB`, `${took.toFixed(1)} s`])
}
table(['channels', 'memory with PostgreSQL’s and the network’s part', 'until connected'], held)

await platform.stop()
receiver.kill()
empty.kill()
