import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeHealth } from './health.ts'
import { makeUnwritten } from './unwritten.ts'

test('what a carrier took holds its place until it is written down', () => {
  let cleared = 0
  const unwritten = makeUnwritten(() => cleared++)
  unwritten.add('a', 'one', 1, 'id1')
  unwritten.add('a', 'one', 2, 'id2')
  unwritten.add('b', 'two', 1, 'id3')
  assert.deepEqual([unwritten.count('a'), unwritten.count('b'), unwritten.count('c')], [2, 1, 0])
  unwritten.clear(['one'], 1)
  assert.equal(unwritten.count('a'), 1)
  unwritten.clear(['one', 'unknown'])
  assert.deepEqual([unwritten.count('a'), unwritten.count('b'), cleared], [0, 1, 2])
})

test('a part that is submitted again over another connection holds one place, there', () => {
  const unwritten = makeUnwritten(() => {})
  unwritten.add('a', 'one', 1, 'id4')
  unwritten.add('b', 'one', 1, 'id5')
  assert.deepEqual([unwritten.count('a'), unwritten.count('b')], [0, 1])
})

test('a place that nobody gives back is free again after a minute', () => {
  let now = 0
  const unwritten = makeUnwritten(
    () => {},
    () => now,
  )
  unwritten.add('a', 'lost', 1, 'id6')
  now = 60_000
  assert.equal(unwritten.count('a'), 0)
})

test('a connection that failed five times in a row is avoided for half a minute, and one good answer ends that', () => {
  let now = 0
  const health = makeHealth(() => now)
  for (let i = 0; i < 5; i++) {
    assert.equal(health.isWell('a'), true)
    health.note('a', false)
  }
  assert.equal(health.isWell('a'), false)
  now = 30_001
  assert.equal(health.isWell('a'), true)
  health.note('a', false)
  assert.equal(health.isWell('a'), false)
  health.note('a', true)
  assert.equal(health.isWell('a'), true)
})

test('a receipt waits for its part to be written down, in whichever way its id is written', async () => {
  const unwritten = makeUnwritten(() => {})
  unwritten.add('a', 'one', 1, '00FF')
  assert.equal(unwritten.written('b', 'ff'), null)
  assert.equal(unwritten.written('a', 'other'), null)
  let waiting = 3
  const waits = ['ff', '00FF', '255'].map((id) => unwritten.written('a', id)?.then(() => waiting--))
  await Promise.resolve()
  assert.equal(waiting, 3)
  unwritten.clear(['one'])
  await Promise.all(waits)
  assert.equal(waiting, 0)
  assert.equal(unwritten.written('a', 'ff'), null)
})
