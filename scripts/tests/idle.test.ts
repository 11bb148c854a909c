import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeIdleMeter } from './idle.ts'

test('the idle share counts from the last reading', () => {
  const readings = [
    { idle: 1_000, total: 5_000 },
    { idle: 1_500, total: 7_000 },
    { idle: 1_500, total: 8_000 },
    { idle: 1_500, total: 8_000 },
  ]
  const idleShare = makeIdleMeter(() => readings.shift() ?? assert.fail('read too often'))
  assert.equal(idleShare(), 0.25)
  assert.equal(idleShare(), 0)
  assert.equal(idleShare(), 0, 'without time between two readings')
})
