import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { admit, emptyWindow, minute, schedule, type Window } from './sliding-window.ts'

/** The most that any minute holds. */
const most = (times: readonly number[]) =>
  Math.max(0, ...times.map((end) => times.filter((time) => time > end - minute && time <= end).length))

const begin = 1_790_000_000_000

test('no minute holds more than its limit, whenever requests arrive', () => {
  const gaps = fc.array(fc.oneof(fc.nat(20), fc.nat(3_000), fc.nat(70_000)), { maxLength: 400, size: 'max' })
  const property = fc.property(gaps, fc.integer({ min: 1, max: 60 }), (waits, limit) => {
    let window: Window = emptyWindow
    let now = begin
    const times: number[] = []
    for (const wait of waits) {
      now += wait
      const next = admit(window, { limit, now })
      if ('wait' in next) {
        assert.ok(next.wait > 0)
        continue
      }
      window = next.taken
      times.push(now)
    }
    assert.ok(most(times) <= limit, `${most(times)} of ${limit}`)
    assert.ok(window.times.length <= 122)
  })
  fc.assert(property, { seed: 1, numRuns: 300 })
})

test('a client that sends all the time gets at least 98 % of the limit', () => {
  let window: Window = emptyWindow
  let taken = 0
  const minutes = 30
  for (let now = begin; now < begin + minutes * minute; now += 7) {
    const next = admit(window, { limit: 50, now })
    if ('wait' in next) continue
    window = next.taken
    taken++
  }
  assert.ok(taken >= 50 * minutes * 0.98 && taken <= 50 * (minutes + 1), `${taken}`)
})

test('a client that waits the given time is admitted', () => {
  let window: Window = emptyWindow
  let now = begin + 123
  for (let i = 0; i < 200; i++) {
    const next = admit(window, { limit: 10, now, apart: 6_000 })
    if ('wait' in next) {
      now += next.wait
      const again = admit(window, { limit: 10, now, apart: 6_000 })
      assert.ok('taken' in again, `${i}`)
      window = again.taken
    } else window = next.taken
  }
})

test('checks toward the network are scheduled so that no minute holds over 30, the first ten at once, the 31st later', () => {
  let window: Window = emptyWindow
  const times: number[] = []
  for (let i = 0; i < 100; i++) {
    const { at, placed } = schedule(window, { limit: 30, now: begin })
    window = placed
    times.push(at)
  }
  assert.deepEqual(new Set(times.slice(0, 10)), new Set([begin]))
  assert.ok((times[10] ?? 0) > begin)
  assert.equal(times[30], begin + minute)
  assert.ok(most(times) <= 30, `${most(times)}`)
  assert.ok((times[99] ?? 0) <= begin + 4 * minute, 'the rate is at least 30 a minute')
})

test('whatever the arrival times, no minute exceeds its limit, and no check waits over a minute in an empty queue', () => {
  const gaps = fc.array(fc.oneof(fc.nat(20), fc.nat(6_000), fc.nat(70_000)), { maxLength: 200, size: 'max' })
  const property = fc.property(gaps, fc.integer({ min: 1, max: 40 }), (waits, limit) => {
    let window: Window = emptyWindow
    let now = begin
    const times: number[] = []
    for (const wait of waits) {
      now += wait
      const { at, placed } = schedule(window, { limit, now })
      assert.ok(at >= now)
      window = placed
      times.push(at)
    }
    assert.ok(most(times) <= limit, `${most(times)} of ${limit}`)
  })
  fc.assert(property, { seed: 1, numRuns: 300 })
})
