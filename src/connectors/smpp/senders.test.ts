import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Senders } from './senders.ts'

test('senders on one connection are each held to their rate, however many parts wait', () => {
  const senders = new Senders(1)
  const sent = new Map([
    ['a', 0],
    ['b', 0],
  ])
  /** Parts of each sender, by the time at which they come back. */
  const waiting = [...sent.keys()].flatMap((sender) => Array.from({ length: 100 }, () => ({ sender, at: 0 })))
  let asked = 0
  for (let now = 0; now <= 60_000; now += 10) {
    for (const part of waiting.filter(({ at }) => at <= now)) {
      asked++
      const wait = senders.wait(part.sender, now)
      if (wait > 0) part.at = now + wait
      else {
        senders.take(part.sender, 1, now)
        sent.set(part.sender, (sent.get(part.sender) ?? 0) + 1)
        waiting.splice(waiting.indexOf(part), 1)
      }
    }
  }
  for (const [sender, count] of sent) assert.ok(Math.abs(count - 61) <= 1, `${sender} sent ${count}`)
  assert.ok(asked < 1_000, `${asked} questions for ${2 * 100} parts`)
})

test('parts of one message count one by one, and without a rate nobody waits', () => {
  const senders = new Senders(2)
  senders.take('a', 3, 0)
  assert.equal(senders.wait('a', 0), 1_500)
  const free = new Senders(undefined)
  free.take('a', 1_000, 0)
  assert.equal(free.wait('a', 0), 0)
})

test('a hundred thousand senders take no more memory than ten thousand', () => {
  const senders = new Senders(1)
  for (let i = 0; i < 100_000; i++) senders.take(`sender ${i}`, 1, i)
  assert.equal(senders.wait('sender 1', 100_000), 0)
  assert.ok(senders.wait('sender 99999', 100_000) > 0)
  assert.ok(senders.size <= 10_001, `${senders.size}`)
})
