import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeConcurrencyLimiter, type Slot } from './concurrency-limiter.ts'

const place = (account: string, host: string, isQuick = true): Slot => ({ account, host, isQuick })

/**
 * Uses one slot for as long as a webhook has work, as a worker does.
 * @returns the names served, in order
 */
const busy = (
  gate: ReturnType<typeof makeConcurrencyLimiter>,
  work: Record<string, { of: Slot; left: number; side: number }>,
) => {
  const served: string[] = []
  const inside: (() => void)[] = []
  for (const [name, one] of Object.entries(work)) {
    const start = () => {
      served.push(name)
      inside.push(() => {
        gate.release(one.of)
        next()
      })
    }
    const next = () => {
      if (one.left-- <= 0) return
      if (gate.tryAcquire(one.of)) start()
      else gate.waitFor(one.of, start)
    }
    for (let i = 0; i < one.side; i++) next()
  }
  for (let end = inside.shift(); end; end = inside.shift()) end()
  return served
}

test('a webhook with a backlog shares its host evenly with webhooks that have few deliveries', () => {
  const gate = makeConcurrencyLimiter({ perHost: 2, quick: 10, other: 10 })
  const a = { of: place('a', 'h'), left: 400, side: 2 }
  const b = { of: place('b', 'h'), left: 10, side: 1 }
  const served = busy(gate, { a, b })
  assert.deepEqual([served.length, gate.active()], [410, 0])
  assert.ok(served.lastIndexOf('b') < 40, `the last of the small one came as the ${served.lastIndexOf('b')}th`)
})

test('hosts take turns at the shared slots, and the limit holds', () => {
  const gate = makeConcurrencyLimiter({ perHost: 2, quick: 2, other: 10 })
  const a = { of: place('a', 'one'), left: 100, side: 2 }
  const b = { of: place('a', 'two'), left: 10, side: 1 }
  const served = busy(gate, { a, b })
  assert.ok(served.lastIndexOf('b') < 40)
  for (const host of ['x', 'x', 'y']) gate.tryAcquire(place('a', host))
  assert.equal(gate.active(), 2)
})

test('dead receivers of one account leave slots to other accounts, and none to a full host', () => {
  const gate = makeConcurrencyLimiter({ perHost: 32, quick: 10, other: 448 })
  let taken = 0
  while (gate.tryAcquire(place('a', `h${taken % 20}`, false))) taken++
  assert.equal(taken, 224)
  let late = 0
  gate.waitFor(place('a', 'more', false), () => late++)
  let others = 0
  while (gate.tryAcquire(place('b', `other${others % 20}`, false))) others++
  assert.ok(others >= 100, `another account found ${others} slots`)
  assert.ok(gate.tryAcquire(place('c', 'third', false)))
  gate.release(place('c', 'third', false))
  assert.equal(late, 0)
  for (let i = 0; i < others; i++) gate.release(place('b', `other${i % 20}`, false))
  gate.release(place('a', 'h0', false))
  assert.equal(late, 1)
})

test('an unused slot goes to the next waiter', () => {
  const gate = makeConcurrencyLimiter({ perHost: 1, quick: 1, other: 1 })
  const one = place('a', 'h')
  assert.ok(gate.tryAcquire(one))
  const went: number[] = []
  for (const i of [1, 2, 3])
    gate.waitFor(one, () => {
      went.push(i)
      if (i < 3) gate.release(one)
    })
  gate.release(one)
  assert.deepEqual([went, gate.active()], [[1, 2, 3], 1])
})

test('a quarter of the slots for quick receivers is left to other accounts', () => {
  const gate = makeConcurrencyLimiter({ perHost: 8, quick: 32, other: 8 })
  let taken = 0
  while (gate.tryAcquire(place('a', `h${taken % 20}`))) taken++
  assert.equal(taken, 24)
  assert.ok(gate.tryAcquire(place('b', 'own')))
})

test('among waiters for a host, the account with the fewest calls goes first', () => {
  const gate = makeConcurrencyLimiter({ perHost: 4, quick: 16, other: 8 })
  const greedy = place('a', 'shared')
  for (let i = 0; i < 4; i++) assert.ok(gate.tryAcquire(greedy))
  const went: string[] = []
  for (let i = 0; i < 100; i++) gate.waitFor(greedy, () => went.push('a'))
  gate.waitFor(place('b', 'shared'), () => went.push('b'))
  gate.release(greedy)
  assert.deepEqual(went, ['b'])
})
