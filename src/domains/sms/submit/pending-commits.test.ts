import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeConnectionHealth } from './connection-health.ts'
import { makePendingCommits } from './pending-commits.ts'

test('an accepted part counts against the window until it is committed', () => {
  let cleared = 0
  const unwritten = makePendingCommits(() => cleared++)
  unwritten.add('a', 'one', 1, 'id1')
  unwritten.add('a', 'one', 2, 'id2')
  unwritten.add('b', 'two', 1, 'id3')
  assert.deepEqual([unwritten.count('a'), unwritten.count('b'), unwritten.count('c')], [2, 1, 0])
  unwritten.clear(['one'], 1)
  assert.equal(unwritten.count('a'), 1)
  unwritten.clear(['one', 'unknown'])
  assert.deepEqual([unwritten.count('a'), unwritten.count('b'), cleared], [0, 1, 2])
})

test('a part resubmitted over another connection counts only there', () => {
  const unwritten = makePendingCommits(() => {})
  unwritten.add('a', 'one', 1, 'id4')
  unwritten.add('b', 'one', 1, 'id5')
  assert.deepEqual([unwritten.count('a'), unwritten.count('b')], [0, 1])
})

test('a part that is never committed stops counting after a minute', () => {
  let now = 0
  const unwritten = makePendingCommits(
    () => {},
    () => now,
  )
  unwritten.add('a', 'lost', 1, 'id6')
  now = 60_000
  assert.equal(unwritten.count('a'), 0)
})

test('a connection with five consecutive failures is avoided for 30 s, or until one success', () => {
  let now = 0
  const health = makeConnectionHealth(() => now)
  for (let i = 0; i < 5; i++) {
    assert.equal(health.isHealthy('a'), true)
    health.record('a', false)
  }
  assert.equal(health.isHealthy('a'), false)
  now = 30_001
  assert.equal(health.isHealthy('a'), true)
  health.record('a', false)
  assert.equal(health.isHealthy('a'), false)
  health.record('a', true)
  assert.equal(health.isHealthy('a'), true)
})

test('a receipt waits for the commit of its part, in any form of its id', async () => {
  const unwritten = makePendingCommits(() => {})
  unwritten.add('a', 'one', 1, '00FF')
  assert.equal(unwritten.whenCommitted('b', 'ff'), null)
  assert.equal(unwritten.whenCommitted('a', 'other'), null)
  const part = { account: 'theirs', message: 'one', part: 1 }
  assert.equal(unwritten.whenCommitted('a', 'other', { ...part, part: 2 }), null)
  let waiting = 4
  const waits = ['ff', '00FF', '255'].map((id) => unwritten.whenCommitted('a', id)?.then(() => waiting--))
  waits.push(unwritten.whenCommitted('a', 'other', part)?.then(() => waiting--))
  await Promise.resolve()
  assert.equal(waiting, 4)
  unwritten.clear(['one'])
  await Promise.all(waits)
  assert.equal(waiting, 0)
  assert.equal(unwritten.whenCommitted('a', 'ff'), null)
})
