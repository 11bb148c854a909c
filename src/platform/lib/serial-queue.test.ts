import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeKeyedQueue, makeSerialQueue } from './serial-queue.ts'

test('work runs in the order of the calls, one at a time, also after a failure', async () => {
  const queue = makeSerialQueue()
  const ran: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const first = queue(async () => {
    ran.push('first begins')
    await promise
    ran.push('first fails')
    throw new Error('broken')
  })
  const second = queue(() => {
    ran.push('second')
    return 2
  })
  resolve()
  await assert.rejects(first, /broken/)
  assert.equal(await second, 2)
  assert.deepEqual(ran, ['first begins', 'first fails', 'second'])
})

test('an idle queue has no unhandled rejection after a failure that its caller handled', async () => {
  const queue = makeSerialQueue()
  await assert.rejects(
    queue(() => Promise.reject(new Error('broken'))),
    /broken/,
  )
  assert.equal(await queue(() => 'next'), 'next')
})

test('work of one key runs in order, also after a failure, and does not delay other keys', async () => {
  const queue = makeKeyedQueue()
  const ran: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const first = queue('a', async () => {
    await promise
    ran.push('a1')
    throw new Error('broken')
  })
  const second = queue('a', async () => ran.push('a2'))
  await queue('b', async () => ran.push('b1'))
  resolve()
  await assert.rejects(first, /broken/)
  await second
  assert.deepEqual(ran, ['b1', 'a1', 'a2'])
})
