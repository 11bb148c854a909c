import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePairSequencer } from './pair-sequencer.ts'

test('a message waits for the previous message of its pair, and for no other', async () => {
  const { enter } = makePairSequencer(async () => true)
  const seen: string[] = []
  const first = await enter('pair', '1')
  const second = enter('pair', '2').then((place) => {
    seen.push('second')
    place.complete()
  })
  const other = await enter('other', '3')
  seen.push('other')
  other.complete()
  seen.push('first')
  first.complete()
  await second
  assert.deepEqual(seen, ['other', 'first', 'second'])
})

test('a deferred message is not overtaken by the next ones, and does not delay them longer than needed', async () => {
  let now = 0
  const { enter } = makePairSequencer(
    async () => true,
    () => now,
  )
  const first = await enter('pair', '1')
  first.defer(2)
  assert.ok((await enter('pair', '2')).waitSeconds >= 1)
  now = 2_000
  assert.ok((await enter('pair', '3')).waitSeconds > 0)
  const again = await enter('pair', '1')
  assert.equal(again.waitSeconds, 0)
  again.complete()
  const second = await enter('pair', '2')
  assert.equal(second.waitSeconds, 0)
  second.complete()
  assert.equal((await enter('pair', '3')).waitSeconds, 0)
})

test('a late message is waited for, and one that left the queue (submitted by another process) is not', async () => {
  let now = 0
  const queued = new Set(['1'])
  const { enter } = makePairSequencer(
    async (id) => queued.has(id),
    () => now,
  )
  const first = await enter('pair', '1')
  first.defer(1)
  now = 31_001
  assert.ok((await enter('pair', '2')).waitSeconds > 0, 'the first message is still in the queue')
  queued.delete('1')
  now = 70_000
  assert.equal((await enter('pair', '2')).waitSeconds, 0)
})

test('a long queue behind a deferred message returns in order', async () => {
  const { enter } = makePairSequencer(
    async () => true,
    () => 0,
  )
  const ids = Array.from({ length: 500 }, (_, i) => String(i + 1_000))
  const first = await enter('pair', '0999')
  first.defer(0.5)
  const waits = new Map<string, number>()
  // The messages enter in random order, and more than once.
  for (let round = 0; round < 2; round++)
    for (const id of [...ids].sort(() => Math.random() - 0.5)) waits.set(id, (await enter('pair', id)).waitSeconds)
  first.complete()
  assert.ok(
    (await enter('pair', ids[7] ?? '')).waitSeconds > 0,
    'older messages were deferred after it and are still in the queue',
  )
  const inTime = [...waits].sort(([, a], [, b]) => a - b).map(([id]) => id)
  assert.deepEqual(inTime, ids)
})

test('after a takeover, messages wait for those in the queue, and for none that another process has ended', async () => {
  const queued = new Set(['b'])
  const { enter, expect, recheck } = makePairSequencer(async (id) => queued.has(id))
  const left = await enter('pair', 'a')
  left.defer(10)
  recheck()
  expect('pair', 'b', 10)
  const behind = await enter('pair', 'c')
  assert.ok(behind.waitSeconds > 0)
  const turn = await enter('pair', 'b')
  assert.equal(turn.waitSeconds, 0)
  turn.complete()
  assert.equal((await enter('pair', 'c')).waitSeconds, 0)
})
