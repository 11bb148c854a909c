import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SenderLimiter } from './sender-limiter.ts'

test('each sender on a connection stays at its rate, however many parts wait', () => {
  const senders = new SenderLimiter(1)
  const sent = new Map([
    ['a', 0],
    ['b', 0],
  ])
  /** Waiting parts, with the time of their next attempt. */
  const waiting = [...sent.keys()].flatMap((sender) => Array.from({ length: 100 }, () => ({ sender, at: 0 })))
  let lookups = 0
  for (let now = 0; now <= 60_000; now += 10) {
    for (const part of waiting.filter(({ at }) => at <= now)) {
      lookups++
      const wait = senders.waitMs(part.sender, now)
      if (wait > 0) part.at = now + wait
      else {
        senders.consume(part.sender, 1, now)
        sent.set(part.sender, (sent.get(part.sender) ?? 0) + 1)
        waiting.splice(waiting.indexOf(part), 1)
      }
    }
  }
  for (const [sender, count] of sent) assert.ok(Math.abs(count - 61) <= 1, `${sender} sent ${count}`)
  assert.ok(lookups < 1_000, `${lookups} questions for ${2 * 100} parts`)
})

test('the parts of a message count individually, and without a rate no sender waits', () => {
  const senders = new SenderLimiter(2)
  senders.consume('a', 3, 0)
  assert.equal(senders.waitMs('a', 0), 1_500)
  const free = new SenderLimiter(undefined)
  free.consume('a', 1_000, 0)
  assert.equal(free.waitMs('a', 0), 0)
})

test('a hundred thousand senders use no more memory than ten thousand', () => {
  const senders = new SenderLimiter(1)
  for (let i = 0; i < 100_000; i++) senders.consume(`sender ${i}`, 1, i)
  assert.equal(senders.waitMs('sender 1', 100_000), 0)
  assert.ok(senders.waitMs('sender 99999', 100_000) > 0)
  assert.ok(senders.size <= 10_001, `${senders.size}`)
})
