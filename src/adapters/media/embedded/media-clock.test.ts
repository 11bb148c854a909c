import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { MediaClock } from './media-clock.ts'

test('a clock ticks every 20 ms for all its listeners, makes up for at most five ticks, and stops without listeners', () => {
  let now = 1_000
  mock.method(performance, 'now', () => now)
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    const clock = new MediaClock()
    const [one, other]: [number[], number[]] = [[], []]
    const first = (ticks: number) => void one.push(ticks)
    const second = (ticks: number) => void other.push(ticks)
    const pass = (milliseconds: number, lateMs = 0) => {
      now += milliseconds + lateMs
      mock.timers.tick(milliseconds)
    }
    clock.start(first)
    pass(20)
    clock.start(second)
    pass(20)
    // A timer that fires early by a millisecond, and the one after it.
    pass(20, -1)
    pass(21)
    assert.deepEqual(
      [one, other],
      [
        [1, 1, 1, 1],
        [1, 1, 1],
      ],
    )
    pass(20, 41)
    pass(20, 400)
    assert.deepEqual(one.slice(4), [3, 5])
    clock.stop(first)
    pass(20)
    assert.deepEqual([one.length, other.length], [6, 6])
    clock.stop(second)
    pass(20)
    pass(60)
    assert.equal(other.length, 6)
    clock.start(first)
    pass(20)
    assert.deepEqual(one.slice(6), [1])
  } finally {
    mock.reset()
    mock.timers.reset()
  }
})
