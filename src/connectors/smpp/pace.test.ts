import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pace } from './pace.ts'

/** Offers without pause for so many seconds; the times at which parts went. */
const offer = (pace: Pace, seconds: number, sent: (now: number) => void): void => {
  for (let now = 0; now < seconds * 1_000; now++) {
    while (pace.available(now) > 0) {
      pace.take(now)
      sent(now)
    }
  }
}

for (const tps of [50, 200]) {
  test(`a limit of ${tps} a second is kept within 2 % and evenly in every 100 ms`, () => {
    const slices = new Map<number, number>()
    let count = 0
    offer(new Pace(tps, 10, 0), 60, (now) => {
      count++
      const slice = Math.floor(now / 100)
      slices.set(slice, (slices.get(slice) ?? 0) + 1)
    })
    assert.ok(Math.abs(count / 60 / tps - 1) < 0.02, `${count / 60}`)
    assert.ok(Math.max(...slices.values()) <= (tps / 10) * 1.5, `${Math.max(...slices.values())}`)
  })
}

test('without a limit only the window counts', () => {
  const pace = new Pace(undefined, 10, 0)
  assert.equal(pace.available(0), Number.POSITIVE_INFINITY)
  assert.equal(pace.window(0), 10)
  assert.equal(pace.wait(0), 0)
})

test('a refusal halves pace and window once a second, and both grow back', () => {
  const pace = new Pace(100, 8, 0)
  let before = 0
  offer(pace, 2, () => before++)
  for (let i = 0; i < 8; i++) pace.cut(2_000)
  assert.equal(pace.window(2_000), 4)
  assert.equal(pace.wait(2_000), 20)
  assert.equal(pace.window(6_000), 8)
  assert.equal(pace.available(63_000), 5)
})

test('a carrier that takes 100 a second refuses less than 5 % once the pace has found it', () => {
  const pace = new Pace(undefined, 10, 0)
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
      pace.take(now)
      if (++used > 100) {
        pace.cut(now)
        if (now > 10_000) refused++
      } else if (now > 10_000) taken++
    }
  }
  assert.ok(taken > 50 * 60, `${taken} taken`)
  assert.ok(refused / (taken + refused) < 0.05, `${refused} of ${taken + refused} refused`)
})
