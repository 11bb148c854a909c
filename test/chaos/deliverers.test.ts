import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { openAccount } from '../../src/domains/accounts/ops.ts'
import type { EventName } from '../../src/domains/events/event-names.ts'
import { record } from '../../src/domains/events/ops.ts'
import { allContents } from '../../src/domains/inbox/narrowing/ops.ts'
import { subscribe } from '../../src/domains/webhooks/subscriptions/subscribe.ts'
import { makeSeal } from '../../src/platform/lib/secret.ts'
import { preloadFlag } from '../child.ts'
import { testDatabase } from '../database.ts'
import { type ReceivedCall, Receiver } from '../doubles/receiver.ts'
import { until } from '../platform.ts'

/** Processes that deliver from one database. Their leases last 2 s, because the test waits for the end of one. */
const leaseSeconds = 2

const receiver = await new Receiver().up()
const children: ChildProcess[] = []
after(async () => {
  for (const child of children) child.kill('SIGKILL')
  await receiver.down()
})
const db = await testDatabase()
const key = randomBytes(32)

const start = async (name: string): Promise<ChildProcess> => {
  const program = join(import.meta.dirname, 'deliverer.ts')
  const child = spawn(
    process.execPath,
    [preloadFlag, program, db.url, key.toString('hex'), name, String(leaseSeconds)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  children.push(child)
  await once(createInterface(child.stdout), 'line')
  return child
}

const account = await db.begin((tx) => openAccount(tx, { name: 'one', sandbox: true }))

/** Subscribes a path. */
const hook = (path: string, event = 'contact.created') =>
  db.begin((tx) => {
    const names = { spelt: event, msgappName: null }
    const caller = { account, contents: allContents }
    return subscribe(tx, makeSeal(key), caller, names, { hook_url: receiver.url(path) }, null)
  })

let n = 0
/** Records this number of events of three conversations. */
const happen = async (count: number, name: EventName = 'contact.created') => {
  for (let i = 0; i < count; i++, n++) {
    const payload = { number: n, conversation: n % 3 }
    await db.begin((tx) => record(tx, [{ account, name, channel: null, conversation: String(n % 3), payload }]))
  }
}

const by = ({ headers }: ReceivedCall): string => String(headers['user-agent']).slice('Trunkline/'.length)

/** Distinct events, in the order of their first arrival. */
const firsts = (calls: readonly ReceivedCall[]) => {
  const known = new Set<string>()
  return calls.filter(({ id }) => !known.has(id) && known.add(id)).map(({ body }) => JSON.parse(body))
}

const inOrder = (events: readonly { number: number; conversation: number }[]) => {
  for (const conversation of [0, 1, 2]) {
    const numbers = events.filter((event) => event.conversation === conversation).map(({ number }) => number)
    assert.deepEqual(
      numbers,
      [...numbers].sort((a, b) => a - b),
    )
  }
}

const settled = () =>
  until(async () => (await db.raw("select from webhook_deliveries where state = 'pending' limit 1")).length === 0, 30)

const [a, b] = await Promise.all([start('a'), start('b')])

test('two processes share the webhooks of one database: each webhook receives each event once, in order', async () => {
  // The first process to look gets a webhook, so one of them sleeps for a moment when each webhook is created.
  const names: EventName[] = ['contact.created', 'contact.updated']
  for (const [i, sleeper] of [b, a].entries()) {
    sleeper.kill('SIGSTOP')
    await hook(`/shared/${i}`, names[i])
    await happen(30, names[i])
    await settled()
    sleeper.kill('SIGCONT')
  }
  assert.deepEqual(
    ['/shared/0', '/shared/1'].map((path) => by(receiver.of(path)[0] ?? assert.fail(path))),
    ['a', 'b'],
  )
  for (let i = 0; i < 60; i++) await happen(1, names[i % 2])
  await settled()
  for (const path of ['/shared/0', '/shared/1']) {
    const calls = receiver.of(path)
    assert.equal(calls.length, 60, `${path} received each event once`)
    inOrder(firsts(calls))
  }
})

test('another process delivers the events of a process that hangs beyond its lease, in order, and repeated events keep their id', async (t) => {
  // Registered before the cleanup of the database.
  t.after(() => children.map((child) => child.kill('SIGKILL')))
  await db.raw('update webhooks set enabled = false, disabled_reason = $1', ['paused'])
  await hook('/stopped')
  let stopped: ChildProcess | null = null
  receiver.onCall = (call) => {
    if (stopped || call.path !== '/stopped') return
    stopped = by(call) === 'a' ? a : b
    stopped.kill('SIGSTOP')
  }
  const from = n
  await happen(60)
  await until(async () => stopped !== null)
  await happen(60)
  await settled()
  const delivered = () => firsts(receiver.of('/stopped')).map(({ number }) => number)
  const all = Array.from({ length: 120 }, (_, i) => from + i)
  assert.deepEqual(
    delivered().sort((one, other) => one - other),
    all,
  )
  inOrder(firsts(receiver.of('/stopped')))
  const other = stopped === a ? 'b' : 'a'
  assert.ok(receiver.of('/stopped').some((call) => by(call) === other))

  const twice = receiver.of('/stopped').length - all.length
  const hung = stopped === a ? a : b
  hung.kill('SIGCONT')
  await happen(60)
  await until(async () => delivered().length === 180)
  await settled()
  inOrder(firsts(receiver.of('/stopped')))
  const later = receiver.of('/stopped').length - 180
  assert.ok(
    later <= twice + 1,
    `${later} arrived twice: a process that resumes must check its lease before it starts a delivery`,
  )
  const bodies = new Set(receiver.of('/stopped').map(({ id, body }) => id + body))
  assert.equal(bodies.size, 180)
})
