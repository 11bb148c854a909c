import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { logEvents, unwrap } from '../media.conformance.ts'
import { type EmbeddedSettings, startEmbedded } from './embedded-engine.ts'
import { loopback } from './embedded-testing.ts'

const started = new Set<(worker: Worker) => void>()
process.on('worker', (worker) => {
  for (const note of started) note(worker)
})

/** An engine, and the threads that start from now on, in their order. */
const open = async (t: TestContext, more: Partial<EmbeddedSettings> = {}) => {
  const threads: Worker[] = []
  const note = (worker: Worker) => threads.push(worker)
  started.add(note)
  const engine = await startEmbedded({
    ...loopback,
    fault: (reason) => assert.fail(reason),
    ...more,
  })
  t.after(async () => {
    started.delete(note)
    await engine.close()
  })
  return { engine, threads }
}

test('no worker runs before the first call; that call starts one, and it ends when it is idle', async (t) => {
  const own = await open(t, { idleSeconds: 0.2 })
  assert.deepEqual(own.threads, [])
  const call = unwrap(await own.engine.openCall(logEvents().events))
  const [first] = own.threads
  assert.ok(first && own.threads.length === 1)
  const ended = once(first, 'exit')
  await setTimeout(500)
  unwrap(await call.stats())
  await call.close()
  await ended
  const next = unwrap(await own.engine.openCall(logEvents().events))
  unwrap(await next.stats())
  assert.equal(own.threads.length, 2)
})

test('calls that arrive together start one worker, and use a second one only when the first has calls enough', async (t) => {
  const own = await open(t, { workers: 2, callsPerWorker: 11 })
  const openCall = () => own.engine.openCall(logEvents().events)
  await Promise.all(Array.from({ length: 10 }, async () => unwrap(await openCall())))
  assert.equal(own.threads.length, 1)
  const more = await Promise.all(Array.from({ length: 13 }, openCall))
  assert.equal(own.threads.length, 2)
  assert.equal(more.filter(({ outcome }) => outcome === 'done').length, 12)
  assert.equal(own.engine.state().calls, 22)
})

test('the capacity of all workers is used, also when one worker takes few calls', async (t) => {
  const { engine } = await open(t, { workers: 2, callsPerWorker: 2 })
  for (let call = 0; call < 4; call++) unwrap(await engine.openCall(logEvents().events))
  assert.equal((await engine.openCall(logEvents().events)).outcome, 'refused')
})

test('an engine that closes while its worker starts refuses the call and leaves no thread', async (t) => {
  const own = await open(t)
  const opening = own.engine.openCall(logEvents().events)
  while (own.threads.length === 0) await setTimeout(1)
  const gone = own.threads.map((thread) => once(thread, 'exit'))
  await own.engine.close()
  assert.equal((await opening).outcome, 'refused')
  await Promise.all(gone)
  assert.equal((await own.engine.openCall(logEvents().events)).outcome, 'refused')
  assert.equal(own.threads.length, 1)
})

test('a registered browser gets a worker before its first call', async (t) => {
  const own = await open(t)
  own.engine.prepare?.()
  own.engine.prepare?.()
  unwrap(await own.engine.openCall(logEvents().events))
  assert.equal(own.threads.length, 1)
})
