import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { makeFairLimiter, QueueFull } from './fair-limiter.ts'

/** Acquires, then records the name. */
const enter = (limiter: ReturnType<typeof makeFairLimiter>, key: string, admitted: string[], weight = 1) => {
  const waiting = limiter.acquire(key, { weight })
  if (waiting) void waiting.then(() => admitted.push(key))
  else admitted.push(key)
}

test('an aborted waiter leaves the queue and uses no capacity', async () => {
  const limiter = makeFairLimiter({ perKey: 1, total: 2 })
  const control = new AbortController()
  assert.equal(limiter.acquire('a'), null)
  const impatient = limiter.acquire('a', { signal: control.signal })
  const patient = limiter.acquire('a')
  control.abort(new Error('enough'))
  await assert.rejects(impatient ?? assert.fail(), { message: 'enough' })
  limiter.release('a')
  await patient
  assert.equal(limiter.used(), 1)
  limiter.release('a')
  assert.deepEqual([limiter.used(), limiter.waiting()], [0, 0])
  assert.equal(limiter.acquire('a', { signal: control.signal }), null, 'work within the limits does not wait')
})

test('a key that fills its share does not block the first request of another', () => {
  const limiter = makeFairLimiter({ perKey: 3, total: 4 })
  const admitted: string[] = []
  for (let i = 0; i < 100; i++) enter(limiter, 'a', admitted)
  enter(limiter, 'b', admitted)
  assert.deepEqual(admitted, ['a', 'a', 'a', 'b'])
})

test('a new key waits for one release only, behind a key with a long queue', async () => {
  const limiter = makeFairLimiter({ perKey: 4, total: 4 })
  const admitted: string[] = []
  for (let i = 0; i < 1_000; i++) enter(limiter, 'a', admitted)
  enter(limiter, 'b', admitted)
  limiter.release('a')
  limiter.release('a')
  await setImmediate()
  assert.ok(admitted.includes('b'), `b was not among ${admitted.join(' ')}`)
  assert.equal(limiter.used(), 4)
})

test('each key has its own queue limit, and a full queue of one key refuses no other', async () => {
  const limiter = makeFairLimiter({ perKey: 1, total: 1, queue: { perKey: 2, total: 3 } })
  assert.equal(limiter.acquire('a'), null)
  void limiter.acquire('a')
  void limiter.acquire('a')
  await assert.rejects(limiter.acquire('a') ?? assert.fail(), QueueFull)
  const b = limiter.acquire('b')
  await assert.rejects(limiter.acquire('c') ?? assert.fail(), QueueFull)
  limiter.release('a')
  limiter.release('a')
  await b
  assert.equal(limiter.waiting('a'), 1)
})

test('later lighter waiters do not overtake a heavy one', async () => {
  const limiter = makeFairLimiter({ perKey: 8, total: 10 })
  const admitted: string[] = []
  enter(limiter, 'a', admitted, 6)
  enter(limiter, 'b', admitted, 6)
  enter(limiter, 'c', admitted, 1)
  assert.deepEqual(admitted, ['a'])
  limiter.release('a', 6)
  await setImmediate()
  assert.deepEqual(admitted, ['a', 'b', 'c'])
  assert.equal(limiter.used(), 7)
})

test('a weight beyond the share is admitted when the key has nothing else under way', async () => {
  const limiter = makeFairLimiter({ perKey: 2, total: 4 })
  const admitted: string[] = []
  enter(limiter, 'a', admitted, 1)
  enter(limiter, 'a', admitted, 3)
  assert.equal(limiter.used('a'), 1)
  limiter.release('a')
  await setImmediate()
  assert.equal(limiter.used('a'), 3)
})

test('work that throws releases its capacity', async () => {
  const limiter = makeFairLimiter({ perKey: 1, total: 1 })
  await assert.rejects(
    limiter.run('a', () => Promise.reject(new Error('no'))),
    { message: 'no' },
  )
  assert.equal(await limiter.run('b', () => 'done'), 'done')
  assert.equal(limiter.used(), 0)
})
