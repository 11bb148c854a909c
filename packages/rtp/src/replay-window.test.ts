import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ReplayWindow } from './replay-window.ts'

test('the window knows which of the last 64 numbers were received, for any step between them', () => {
  const steps = fc.array(fc.oneof(fc.integer({ min: -63, max: 70 }), fc.constantFrom(1, 31, 32, 33, 63, 64, 3_000)))
  fc.assert(
    fc.property(steps, (row) => {
      const recent = new ReplayWindow()
      const came = new Set<number>()
      let highest = 0
      for (const step of row) {
        came.add(highest + step)
        if (step > 0) {
          recent.advance(step)
          highest += step
        } else recent.add(-step)
        for (let below = 0; below < ReplayWindow.size; below++)
          assert.equal(recent.has(below), came.has(highest - below), `${below} below ${highest}`)
      }
    }),
  )
})
