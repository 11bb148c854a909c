import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { GrowingLimit } from './growing-limit.ts'

beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }))
afterEach(() => mock.timers.reset())

/** Starts uses. `running` counts those that run, and `end` ends the oldest of them. */
const start = (limit: GrowingLimit, uses: number) => {
  const running: (() => void)[] = []
  const all = Array.from({ length: uses }, () =>
    limit.run(
      () =>
        new Promise<void>((resolve) => {
          running.push(resolve)
        }),
    ),
  )
  let ended = 0
  return {
    running: () => running.length - ended,
    end: async (count: number) => {
      for (const resolve of running.slice(ended, ended + count)) resolve()
      ended += count
      await setImmediate()
    },
    all: Promise.all(all),
  }
}

const pass = async (ms: number) => {
  mock.timers.tick(ms)
  await setImmediate()
}

test('short uses take turns, however many there are', async () => {
  const limit = new GrowingLimit(10)
  const uses = start(limit, 50)
  for (let left = 50; left > 0; left--) {
    assert.deepEqual([uses.running(), limit.waiting], [1, left - 1])
    await uses.end(1)
  }
  await uses.all
  await pass(1000)
  const next = start(limit, 2)
  assert.equal(next.running(), 1)
  await next.end(1)
  await next.end(1)
})

test('an open connection is used at once, and a caller beyond them waits', async () => {
  const limit = new GrowingLimit(10, () => 3)
  const uses = start(limit, 5)
  assert.deepEqual([uses.running(), limit.waiting], [3, 2])
  await uses.end(1)
  assert.deepEqual([uses.running(), limit.waiting], [3, 1])
  await uses.end(3)
  await uses.end(1)
  await uses.all
})

test('callers that wait double the limit every 10 ms, up to its maximum, where all go on', async () => {
  const limit = new GrowingLimit(10)
  const uses = start(limit, 30)
  const seen = [uses.running()]
  for (const ms of [9, 1, 10, 10]) {
    await pass(ms)
    seen.push(uses.running())
  }
  assert.deepEqual(seen, [1, 1, 2, 4, 8])
  await pass(10)
  assert.deepEqual([uses.running(), limit.waiting], [30, 0])
  await uses.end(30)
  await uses.all
})

test('a limit that is not used falls by one each second, to one', async () => {
  const limit = new GrowingLimit(4)
  const uses = start(limit, 4)
  await pass(10)
  await pass(10)
  assert.equal(uses.running(), 4)
  await pass(1000)
  await uses.end(2)
  await pass(1000)
  const more = start(limit, 9)
  assert.equal(more.running(), 9, 'half of it was in use')
  await more.end(9)
  await uses.end(2)
  for (const expected of [3, 2, 1, 1]) {
    await pass(1000)
    const next = start(limit, 5)
    assert.equal(next.running(), expected)
    for (let left = 5; left > 0; left--) await next.end(1)
  }
  const again = start(limit, 2)
  await pass(10)
  assert.equal(again.running(), 2, 'it grows again')
  await again.end(2)
})

test('a use that fails makes room, and its error is thrown', async () => {
  const limit = new GrowingLimit(2)
  await assert.rejects(
    limit.run(() => Promise.reject(new Error('failed'))),
    /failed/,
  )
  assert.equal(await limit.run(async () => 7), 7)
})
