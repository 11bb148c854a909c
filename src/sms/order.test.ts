import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeOrder } from './order.ts'

test('a text waits for the one before it between the same pair, and for no other', async () => {
  const { enter } = makeOrder(async () => true)
  const seen: string[] = []
  const first = await enter('pair', '1')
  const second = enter('pair', '2').then((place) => {
    seen.push('second')
    place.done()
  })
  const other = await enter('other', '3')
  seen.push('other')
  other.done()
  seen.push('first')
  first.done()
  await second
  assert.deepEqual(seen, ['other', 'first', 'second'])
})

test('a text that was put back is not overtaken by those behind it, and holds them up no longer than that', async () => {
  let now = 0
  const { enter } = makeOrder(
    async () => true,
    () => now,
  )
  const first = await enter('pair', '1')
  first.back(2)
  assert.ok((await enter('pair', '2')).wait >= 1)
  now = 2_000
  assert.ok((await enter('pair', '3')).wait > 0)
  const again = await enter('pair', '1')
  assert.equal(again.wait, 0)
  again.done()
  const second = await enter('pair', '2')
  assert.equal(second.wait, 0)
  second.done()
  assert.equal((await enter('pair', '3')).wait, 0)
})

test('a text that never comes back (another process carried it) is not waited for; one that is only late is', async () => {
  let now = 0
  const queued = new Set(['1'])
  const { enter } = makeOrder(
    async (id) => queued.has(id),
    () => now,
  )
  const first = await enter('pair', '1')
  first.back(1)
  now = 31_001
  assert.ok((await enter('pair', '2')).wait > 0, 'it is still in the queue')
  queued.delete('1')
  now = 70_000
  assert.equal((await enter('pair', '2')).wait, 0)
})

test('a long row behind one that was put back comes back in its order', async () => {
  const { enter } = makeOrder(
    async () => true,
    () => 0,
  )
  const ids = Array.from({ length: 500 }, (_, i) => String(i + 1_000))
  const first = await enter('pair', '0999')
  first.back(0.5)
  const waits = new Map<string, number>()
  // They come in any order, and more than once.
  for (let round = 0; round < 2; round++)
    for (const id of [...ids].sort(() => Math.random() - 0.5)) waits.set(id, (await enter('pair', id)).wait)
  first.done()
  assert.ok((await enter('pair', ids[7] ?? '')).wait > 0, 'older ones were put back after it, and are still to come')
  const inTime = [...waits].sort(([, a], [, b]) => a - b).map(([id]) => id)
  assert.deepEqual(inTime, ids)
})
