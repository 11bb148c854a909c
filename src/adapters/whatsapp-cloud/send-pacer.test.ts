import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxSendWaitMs, sendIntervalMs } from './limits.ts'
import { makeSendPacer } from './send-pacer.ts'

/** A pacer with a clock that stands still, and the waits that it asked for. */
const makePacer = () => {
  const clock = { now: 1_000_000 }
  const waits: number[] = []
  const pacer = makeSendPacer(
    () => clock.now,
    async (ms) => void waits.push(ms),
  )
  return { clock, waits, pacer }
}

test('messages of one moment go out one interval apart, the first at once', async () => {
  const { clock, waits, pacer } = makePacer()
  for (let i = 0; i < 4; i++) assert.equal(await pacer.acquire(), null)
  assert.deepEqual(waits, [sendIntervalMs, 2 * sendIntervalMs, 3 * sendIntervalMs])
  clock.now += 60_000
  await pacer.acquire()
  assert.equal(waits.length, 3, 'a message after a pause does not wait for turns of the past')
  await pacer.acquire()
  assert.equal(waits.at(-1), sendIntervalMs, 'and takes one turn')
})

test('a rate limit delays what follows, and a shorter one does not end it', async () => {
  const { waits, pacer } = makePacer()
  pacer.pauseFor(2)
  pacer.pauseFor(1)
  assert.equal(await pacer.acquire(), null)
  assert.deepEqual(waits, [2_000])
})

test('a turn that is too far away is refused with the seconds until it, and leaves the order as it is', async () => {
  const { clock, waits, pacer } = makePacer()
  pacer.pauseFor(maxSendWaitMs / 1_000 + 5)
  assert.equal(await pacer.acquire(), maxSendWaitMs / 1_000 + 5)
  assert.equal(await pacer.acquire(), maxSendWaitMs / 1_000 + 5)
  clock.now += 5_000
  assert.equal(await pacer.acquire(), null, 'a wait of just the limit is taken')
  assert.deepEqual(waits, [maxSendWaitMs])
})
