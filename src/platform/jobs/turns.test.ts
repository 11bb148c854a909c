import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from './job-testing.ts'
import { makeTurns } from './turns.ts'

/** Work whose turns the test ends. */
const makeWork = () => {
  const begun: string[] = []
  const atWork = new Map<string, (next: number | null) => void>()
  let most = 0
  return {
    begun,
    most: () => most,
    isAtWork: (key: string) => atWork.has(key),
    end: (key: string, next: number | null = null) => atWork.get(key)?.(next),
    work: (key: string) => {
      assert.ok(!atWork.has(key), `${key} works twice at a time`)
      begun.push(key)
      return new Promise<number | null>((resolve) => {
        atWork.set(key, (next) => {
          atWork.delete(key)
          resolve(next)
        })
        most = Math.max(most, atWork.size)
      })
    },
  }
}

test('the longest waiting key comes first, and a key with a backlog goes behind the others', async () => {
  const { begun, work, end } = makeWork()
  const turns = makeTurns(1, work)
  for (const key of ['a', 'b', 'c']) turns.schedule(key, 0)
  for (const [key, next] of [
    ['a', 0],
    ['b', null],
    ['c', null],
    ['a', null],
  ] as const) {
    await until(`the turn of ${key}`, () => begun.at(-1) === key)
    end(key, next)
  }
  await turns.stop()
  assert.deepEqual(begun, ['a', 'b', 'c', 'a'])
})

test('no more keys than allowed work at once, and a waiting one costs no timer', async (t) => {
  const { begun, work, end, most, isAtWork } = makeWork()
  const turns = makeTurns(2, work)
  for (const key of ['a', 'b', 'c']) turns.schedule(key, 0)
  await until('two work', () => begun.length === 2)
  assert.deepEqual([turns.size(), turns.has('a'), turns.has('c'), turns.has('d')], [3, true, true, false])
  const timers = t.mock.method(globalThis, 'setTimeout')
  turns.schedule('c', 0)
  assert.equal(timers.mock.callCount(), 0)
  timers.mock.restore()
  end('b')
  await until('the third works', () => isAtWork('c'))
  end('a')
  end('c')
  await until('all is done', () => turns.size() === 0)
  assert.deepEqual([begun, most()], [['a', 'b', 'c'], 2])
})

test('a key that is due again during its turn has its next one afterwards', async () => {
  const { begun, work, end } = makeWork()
  const turns = makeTurns(3, work)
  turns.schedule('a', 0)
  await until('it works', () => begun.length === 1)
  turns.schedule('a', 0)
  turns.schedule('b', 0)
  await until('the other works', () => begun.length === 2)
  assert.deepEqual([begun, turns.has('a')], [['a', 'b'], true])
  end('a')
  await until('it works again', () => begun.length === 3)
  assert.deepEqual(begun, ['a', 'b', 'a'])
})

test('an earlier time holds against a later one, and a later one against none', async () => {
  const { begun, work } = makeWork()
  const turns = makeTurns(3, work)
  turns.schedule('soon', 0)
  turns.schedule('soon', 3_600_000)
  turns.schedule('late', 3_600_000)
  await until('the first works', () => begun.length > 0)
  assert.deepEqual([begun, turns.has('late')], [['soon'], true])
  turns.schedule('late', 0)
  await until('the other works too', () => begun.length > 1)
})

test('a stop starts nothing more, and waits for the work under way', async (t) => {
  const { begun, work, end } = makeWork()
  const turns = makeTurns(1, work)
  turns.schedule('a', 0)
  turns.schedule('b', 0)
  await until('the first works', () => begun.length > 0)
  let isStopped = false
  const stopped = turns.stop().then(() => {
    isStopped = true
  })
  await new Promise(setImmediate)
  assert.equal(isStopped, false)
  end('a', 0)
  await stopped
  t.mock.timers.enable({ apis: ['setTimeout'] })
  turns.schedule('c', 0)
  t.mock.timers.runAll()
  assert.deepEqual(begun, ['a'])
})
