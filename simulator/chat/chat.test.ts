import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { connectSandbox } from '../../src/adapters/sandbox/sandbox-network.ts'
import type { ChatEvents, ChatNetwork } from '../../src/ports/chat.ts'
import type { ChatInbound, ChatReceipt } from '../../src/ports/chat-message.ts'
import { until } from '../../test/platform.ts'
import { killSimulator, makeSimulatorHome, type Simulator, startSimulator, token } from '../../test/simulator.ts'

const line = { channel: 'c', number: '+447400170018', name: 'Ada', since: null }
const handset = '+447400170028'

type Side = {
  network: ChatNetwork
  inbound: ChatInbound[]
  receipts: ChatReceipt[]
  states: string[]
  reasons: string[]
}

/** The connector; events count as persisted once `keep` resolves. */
const connect = (t: TestContext, { chatPort: port }: Simulator, { keep = async () => {}, as = token } = {}): Side => {
  const inbound: ChatInbound[] = []
  const receipts: ChatReceipt[] = []
  const states: string[] = []
  const reasons: string[] = []
  const ignored = async () => {}
  const events: ChatEvents = {
    line: (_, { phase, reason }) => {
      states.push(phase)
      reasons.push(reason)
    },
    inbound: async (_, message) => {
      await keep()
      inbound.push(message)
    },
    receipt: async (_, receipt) => void receipts.push(receipt),
    failure: ignored,
    edited: ignored,
    reaction: ignored,
    call: ignored,
    group: ignored,
    mapped: ignored,
    renamed: ignored,
  }
  const vault = { read: async () => new Map<string, Buffer>(), write: ignored, forget: ignored }
  const network = connectSandbox(
    { host: '127.0.0.1', port, token: as },
    { events, credentials: vault, home: '', log: () => {} },
  )
  t.after(() => network.close())
  network.attach(line)
  return { network, inbound, receipts, states, reasons }
}

const connected = async (t: TestContext, simulator: Simulator, keep?: () => Promise<void>): Promise<Side> => {
  const side = connect(t, simulator, keep ? { keep } : {})
  await until(async () => side.states.includes('connected'))
  return side
}

const message = { id: 'm1', to: { number: handset, remote: null }, text: 'Hello', file: null, pin: null }

test('messages of handsets survive a kill, and unacknowledged events are sent again', async (t) => {
  const path = await makeSimulatorHome(t)
  const before = await startSimulator(t, path)
  let requestCount = 0
  const refusing = await connected(t, before, async () => {
    requestCount++
    throw new Error('the database is down')
  })
  const sent = await refusing.network.send('c', message)
  assert.equal(sent.outcome, 'done')
  await before.call('POST', `/handsets/${handset}/msgapp`, { to: line.number, text: 'Keep this' })
  await until(async () => requestCount > 0)
  await killSimulator(before)
  await refusing.network.close()

  const again = await startSimulator(t, path)
  const keeping = await connected(t, again)
  await until(async () => keeping.inbound.length > 0)
  assert.deepEqual(
    keeping.inbound.map(({ text, from }) => [text, from.number]),
    [['Keep this', handset]],
  )
  const resent = await keeping.network.send('c', message)
  assert.deepEqual(resent, sent, 'a repeated id is the same message')
  const seen = await again.call('GET', `/handsets/${handset}`)
  assert.ok(typeof seen === 'object' && seen && 'msgapp' in seen && Array.isArray(seen.msgapp))
  assert.deepEqual(
    seen.msgapp.map(({ direction, text }) => [direction, text]),
    [
      ['inbound', 'Hello'],
      ['outbound', 'Keep this'],
    ],
  )
})

test('delivery receipts are sent although the network was killed before them', async (t) => {
  const path = await makeSimulatorHome(t)
  const before = await startSimulator(t, path)
  const side = await connected(t, before)
  const ids = Array.from({ length: 20 }, (_, index) => `m${index}`)
  const sent = await Promise.all(ids.map((id) => side.network.send('c', { ...message, id })))
  await killSimulator(before)
  await side.network.close()

  const { receipts } = await connected(t, await startSimulator(t, path))
  const received = () => new Set([...side.receipts, ...receipts].map(({ id, level }) => `${id} ${level}`))
  await until(async () => sent.every((one) => one.outcome === 'done' && received().has(`${one.value.id} 2`)))
})

test('a wrong token is refused and retried with growing delays', async (t) => {
  const { network, reasons } = connect(t, await startSimulator(t, await makeSimulatorHome(t)), { as: 'another token' })
  const began = performance.now()
  await until(async () => reasons.filter((reason) => reason.includes('login')).length >= 4)
  // 0.25, 0.5 and 1 s between four attempts, each randomised down to half.
  assert.ok(performance.now() - began > 870)
  assert.equal(await network.ping('c'), false)
})
