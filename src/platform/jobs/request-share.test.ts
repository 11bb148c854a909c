import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Snooze } from './job-kind.ts'
import { heldBackPerSecond } from './limits.ts'
import { makeRequestShare } from './request-share.ts'

const { signal } = new AbortController()
const never = () => new Promise<void>(() => undefined)

test('an account holds at most the room that it leaves free, and is sent back beyond it', async () => {
  const share = makeRequestShare({ perHost: 4, quick: 4, other: 4 }, 8)
  for (let n = 0; n < 4; n++) void share.hold('a', never)
  await assert.rejects(share.hold('a', never), Snooze)
  for (let n = 0; n < 2; n++) void share.hold('b', never)
  await assert.rejects(share.hold('b', never), Snooze)
  assert.equal(await share.hold('c', async () => 'room for the third'), 'room for the third')
})

test('claims never exceed the room of the largest account, and go on at a bounded rate without any', async () => {
  let now = 0
  const share = makeRequestShare({ perHost: 4, quick: 4, other: 4 }, 512, () => now)
  let claimed = 0
  for (let count = share.kind.capacity(); claimed < 256; count = share.kind.capacity()) {
    for (let n = 0; n < count; n++) void share.hold('a', never)
    claimed += count
    if (count > 256 - claimed) break
  }
  assert.equal(claimed, 256, 'none was sent back until half of the room was taken')
  const sendBack = async () => {
    let sent = 0
    for (let count = share.kind.capacity(); count > 0; count = share.kind.capacity())
      for (let n = 0; n < count; n++, sent++) await assert.rejects(share.hold('a', never), Snooze)
    return sent
  }
  assert.equal(await sendBack(), heldBackPerSecond)
  assert.equal(share.kind.capacity(), 0)
  now += 500
  assert.equal(await sendBack(), heldBackPerSecond / 2)
})

test('a receiver that answers at once uses other slots than those that do not', async () => {
  let now = 0
  const share = makeRequestShare({ perHost: 4, quick: 2, other: 2 }, 8, () => now)
  const quick = await share.enter('a', 'https://quick.example/x', signal)
  now += 5
  quick()
  await share.enter('b', 'https://hangs.example/', signal)
  await share.enter('c', 'https://hangs.example/', signal)
  // Both slots of slow receivers are taken.
  await share.enter('a', 'https://quick.example/y', signal)
  const late = share.enter('d', 'https://new.example/', signal)
  share.kind.onStopping()
  await assert.rejects(late, Snooze)
})
