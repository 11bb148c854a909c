import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pacer } from './pacer.ts'

/** Sends as fast as the pace allows for this many seconds, and reports the times. */
const offer = (pace: Pacer, seconds: number, sent: (now: number) => void): void => {
  for (let now = 0; now < seconds * 1_000; now++) {
    while (pace.available(now) > 0) {
      pace.consume(now)
      sent(now)
    }
  }
}

for (const tps of [50, 200]) {
  test(`a limit of ${tps} per second is met within 2 % and evenly in every 100 ms`, () => {
    const slices = new Map<number, number>()
    let count = 0
    offer(new Pacer(tps, 10, 0), 60, (now) => {
      count++
      const slice = Math.floor(now / 100)
      slices.set(slice, (slices.get(slice) ?? 0) + 1)
    })
    assert.ok(Math.abs(count / 60 / tps - 1) < 0.02, `${count / 60}`)
    assert.ok(Math.max(...slices.values()) <= (tps / 10) * 1.5, `${Math.max(...slices.values())}`)
  })
}

test('without a rate limit only the window applies', () => {
  const pace = new Pacer(undefined, 10, 0)
  assert.equal(pace.available(0), Number.POSITIVE_INFINITY)
  assert.equal(pace.window(0), 10)
  assert.equal(pace.waitMs(0), 0)
})

test('a refusal halves rate and window at most once a second, and both recover', () => {
  const pace = new Pacer(100, 8, 0)
  let before = 0
  offer(pace, 2, () => before++)
  for (let i = 0; i < 8; i++) pace.slowDown(2_000)
  assert.equal(pace.window(2_000), 4)
  assert.equal(pace.waitMs(2_000), 20)
  assert.equal(pace.window(6_000), 8)
  assert.equal(pace.available(63_000), 5)
})

test('a carrier that accepts 100 per second refuses less than 5 % once the pace has adapted', () => {
  const pace = new Pacer(undefined, 10, 0)
  let taken = 0
  let refused = 0
  let second = 0
  let used = 0
  for (let now = 0; now < 60_000; now += 10) {
    if (Math.floor(now / 1_000) !== second) {
      second = Math.floor(now / 1_000)
      used = 0
    }
    for (let room = Math.min(pace.window(now), pace.available(now)); room > 0; room--) {
      pace.consume(now)
      if (++used > 100) {
        pace.slowDown(now)
        if (now > 10_000) refused++
      } else if (now > 10_000) taken++
    }
  }
  assert.ok(taken > 50 * 60, `${taken} taken`)
  assert.ok(refused / (taken + refused) < 0.05, `${refused} of ${taken + refused} refused`)
})
