import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeGate, type Place } from './gate.ts'

const place = (account: string, host: string, isQuick = true): Place => ({ account, host, isQuick })

/** Keeps one place busy for as long as it has something to do, as a lane does. @returns who was served, in order */
const busy = (gate: ReturnType<typeof makeGate>, work: Record<string, { of: Place; left: number; side: number }>) => {
  const served: string[] = []
  const inside: (() => void)[] = []
  for (const [name, one] of Object.entries(work)) {
    const start = () => {
      served.push(name)
      inside.push(() => {
        gate.leave(one.of)
        next()
      })
    }
    const next = () => {
      if (one.left-- <= 0) return
      if (gate.enter(one.of)) start()
      else gate.wait(one.of, start)
    }
    for (let i = 0; i < one.side; i++) next()
  }
  for (let end = inside.shift(); end; end = inside.shift()) end()
  return served
}

test('a webhook with a backlog shares its host evenly with those that have little to tell', () => {
  const gate = makeGate({ each: 2, quick: 10, other: 10 })
  const a = { of: place('a', 'h'), left: 400, side: 2 }
  const b = { of: place('b', 'h'), left: 10, side: 1 }
  const served = busy(gate, { a, b })
  assert.deepEqual([served.length, gate.used()], [410, 0])
  assert.ok(served.lastIndexOf('b') < 40, `the last of the small one came as the ${served.lastIndexOf('b')}th`)
})

test('hosts take turns at the places that all share, and no more than so many are taken', () => {
  const gate = makeGate({ each: 2, quick: 2, other: 10 })
  const a = { of: place('a', 'one'), left: 100, side: 2 }
  const b = { of: place('a', 'two'), left: 10, side: 1 }
  const served = busy(gate, { a, b })
  assert.ok(served.lastIndexOf('b') < 40)
  for (const host of ['x', 'x', 'y']) gate.enter(place('a', host))
  assert.equal(gate.used(), 2)
})

test('dead receivers of one account leave room for those of others, and none of a host that is full', () => {
  const gate = makeGate({ each: 32, quick: 10, other: 448 })
  let taken = 0
  while (gate.enter(place('a', `h${taken % 20}`, false))) taken++
  assert.equal(taken, 224)
  let late = 0
  gate.wait(place('a', 'more', false), () => late++)
  let others = 0
  while (gate.enter(place('b', `other${others % 20}`, false))) others++
  assert.ok(others >= 100, `another account found ${others} places`)
  assert.ok(gate.enter(place('c', 'third', false)))
  gate.leave(place('c', 'third', false))
  assert.equal(late, 0)
  for (let i = 0; i < others; i++) gate.leave(place('b', `other${i % 20}`, false))
  gate.leave(place('a', 'h0', false))
  assert.equal(late, 1)
})

test('a place that is left without being used goes to the next', () => {
  const gate = makeGate({ each: 1, quick: 1, other: 1 })
  const one = place('a', 'h')
  assert.ok(gate.enter(one))
  const went: number[] = []
  for (const i of [1, 2, 3])
    gate.wait(one, () => {
      went.push(i)
      if (i < 3) gate.leave(one)
    })
  gate.leave(one)
  assert.deepEqual([went, gate.used()], [[1, 2, 3], 1])
})

test('a quarter of the places for receivers that are well is left to other accounts', () => {
  const gate = makeGate({ each: 8, quick: 32, other: 8 })
  let taken = 0
  while (gate.enter(place('a', `h${taken % 20}`))) taken++
  assert.equal(taken, 24)
  assert.ok(gate.enter(place('b', 'own')))
})

test('of those that wait for a host, the account with the fewest calls goes first', () => {
  const gate = makeGate({ each: 4, quick: 16, other: 8 })
  const greedy = place('a', 'shared')
  for (let i = 0; i < 4; i++) assert.ok(gate.enter(greedy))
  const went: string[] = []
  for (let i = 0; i < 100; i++) gate.wait(greedy, () => went.push('a'))
  gate.wait(place('b', 'shared'), () => went.push('b'))
  gate.leave(greedy)
  assert.deepEqual(went, ['b'])
})
