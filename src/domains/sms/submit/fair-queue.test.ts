import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { maxMemoryWaitMs, maxWaitingAtPace, maxWaitingInMemory, memorySeconds, paceWindowMs } from '../limits.ts'
import { type FairQueue, makeFairQueue, type QueuedSubmission } from './fair-queue.ts'

/** A queue before a carrier whose window the test frees one by one. */
const makeQueue = () => {
  let free = 0
  let time = 0
  let notify = () => {}
  const started: string[] = []
  const dropped: string[] = []
  const queue = makeFairQueue(
    () => free,
    (schedule) => {
      notify = schedule
      return () => {}
    },
    () => time,
  )
  let accepted = 0
  /** @param id default: the next one, in order of acceptance */
  const entry = (account: string, name: string, isClaimed = false, id = ++accepted): QueuedSubmission => ({
    id: String(id).padStart(6, '0'),
    account,
    isClaimed,
    start: async () => {
      free--
      started.push(name)
    },
    drop: () => void dropped.push(name),
  })
  return {
    queue,
    started,
    dropped,
    entry,
    add: (account: string, ids: string[], isClaimed = false) =>
      queue.add(ids.map((id) => entry(account, id, isClaimed))),
    release: async (count: number) => {
      free += count
      notify()
      await turn()
      await turn()
    },
    wait: (milliseconds: number) => {
      time += milliseconds
    },
  }
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i + 1}`)

test('a quiet account’s message is submitted next, whatever a greedy account has waiting', async () => {
  const { add, release, started } = makeQueue()
  add('greedy', names('g', 500))
  await release(3)
  assert.deepEqual(started, ['g1', 'g2', 'g3'])
  add('quiet', ['q1', 'q2'])
  await release(2)
  assert.deepEqual(started.slice(3), ['g4', 'q1'])
  await release(4)
  assert.deepEqual(started.slice(5), ['g5', 'q2', 'g6', 'g7'])
})

test('a message that is claimed late starts before younger ones that this process accepted', async () => {
  const { add, entry, release, started, queue } = makeQueue()
  add('a', names('local', 100))
  queue.add([entry('a', 'claimed2', true, 0.2), entry('a', 'claimed1', true, 0.1)])
  assert.equal(queue.claimed(), 2)
  await release(3)
  assert.deepEqual(started, ['claimed1', 'claimed2', 'local1'])
  assert.equal(queue.claimed(), 0)
})

/** Admits messages of an account as the acceptor does, while there is room. */
const fill = (queue: FairQueue, add: (account: string, ids: string[]) => void, account: string): number => {
  let count = 0
  for (; queue.room(account) > 0; count++) add(account, [`${account}${count}`])
  return count
}

test('greedy accounts leave room in memory for a quiet one, however many they are', () => {
  const { queue, add } = makeQueue()
  assert.equal(fill(queue, add, 'greedy'), maxWaitingInMemory / 2)
  for (const account of names('greedy', 5)) assert.ok(fill(queue, add, account) > 0)
  assert.ok(queue.room('quiet') > 0)
})

test('more messages wait in memory while many start, and no more than at first once none does', async () => {
  const { add, queue, release, wait } = makeQueue()
  assert.equal(queue.room('a'), maxWaitingInMemory)
  /** Starts 500 messages at a time within one measurement of the pace. */
  const start = async (times: number) => {
    for (let i = 0; i < times; i++) {
      add('a', names('a', 500))
      await release(500)
    }
    wait(paceWindowMs)
  }
  await start(1)
  assert.equal(queue.room('a'), (500 * 1_000 * memorySeconds) / paceWindowMs)
  await start(4)
  assert.equal(queue.room('a'), maxWaitingAtPace)
  wait(2 * paceWindowMs)
  assert.equal(queue.room('a'), maxWaitingInMemory)
})

test('a queue reports when only a commit returns capacity: nothing is free, and no carrier owes a response', async () => {
  const { entry, queue, release } = makeQueue()
  let stalls = 0
  queue.onStalled(() => stalls++)
  const response = Promise.withResolvers<void>()
  queue.add([{ ...entry('a', 'one'), start: () => response.promise }, entry('a', 'two')])
  await release(0)
  assert.equal(stalls, 1)
  await release(1)
  await release(-1)
  assert.equal(stalls, 1, 'a response is awaited')
  response.resolve()
  await release(0)
  assert.equal(stalls, 2)
  await release(1)
  assert.equal(stalls, 2, 'nothing waits')
})

test('a message that waits too long is started without capacity, so that its submit can defer it', async () => {
  const { add, entry, queue, release, started, wait } = makeQueue()
  add('a', ['old'])
  wait(maxMemoryWaitMs)
  add('a', ['young'])
  await release(0)
  assert.deepEqual(started, [])
  wait(1)
  await release(0)
  assert.deepEqual(started, ['old'])
  wait(maxMemoryWaitMs)
  queue.add([entry('a', 'retried', true, 0)])
  wait(1)
  await release(0)
  assert.deepEqual(started, ['old', 'retried', 'young'], 'one that came late does not delay those behind it')
})

test('a closed queue drops what waits, and what is added later', async () => {
  const { queue, add, release, started, dropped } = makeQueue()
  add('a', ['waits'])
  queue.close()
  add('a', ['comes'])
  await release(2)
  assert.deepEqual([started, dropped, queue.room('a')], [[], ['waits', 'comes'], 0])
})

test('a removed entry is not started', async () => {
  const { queue, entry, release, started } = makeQueue()
  const [one, two] = [entry('a', 'one'), entry('a', 'two', true)]
  queue.add([one, two, entry('a', 'three')])
  assert.deepEqual(queue.remove(new Set([one, two])), [one, two])
  assert.deepEqual(queue.remove(new Set([one])), [])
  await release(2)
  assert.deepEqual([started, queue.claimed()], [['three'], 0])
})
