import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeOrder } from './order.ts'

test('a text waits for the one before it between the same pair, and for no other', async () => {
  const { enter } = makeOrder()
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
  const { enter } = makeOrder(() => now)
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

test('a text that never comes back (another process carried it) is not waited for', async () => {
  let now = 0
  const { enter } = makeOrder(() => now)
  const first = await enter('pair', '1')
  first.back(1)
  now = 31_001
  assert.equal((await enter('pair', '2')).wait, 0)
})
