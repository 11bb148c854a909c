import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxCallsPerEndpoint, quickResponseMs } from '../limits.ts'
import type { AttemptResult } from './attempt.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import { disableAfterSeconds, downAfter, longestHoldSeconds } from './retry-schedule.ts'

const healthy = { failures: 0, failingSince: null, isProven: true }
const failure = (wait = 0, what: AttemptResult['what'] = 'failed'): AttemptResult => ({
  ...{ what, wait, status: 500, ms: 5, timestamp: 1, excerpt: '', headers: null, error: 'failed' },
})

test('a success after failures ends them: nothing of them counts at the next failure', () => {
  const breaker = new CircuitBreaker(healthy)
  const began = 1_000_000
  for (let i = 0; i < downAfter; i++) breaker.recordFailure(failure(600), began + i)
  assert.deepEqual([breaker.isDown, breaker.isQuick, breaker.concurrency], [true, false, 1])
  assert.ok(breaker.isPaused(began + longestHoldSeconds * 1_000 - 1))
  assert.deepEqual(breaker.recordSuccess(5), { wasDown: true, isNews: true })
  assert.deepEqual([breaker.failures, breaker.isDown, breaker.isQuick], [0, false, true])
  assert.equal(breaker.isPaused(began + downAfter), false, 'a pause ends with the success')
  assert.deepEqual(breaker.recordSuccess(5), { wasDown: false, isNews: false })

  // The first failure of a new series, days after those that a success ended.
  const later = began + disableAfterSeconds * 1_000 + 1
  assert.deepEqual(breaker.recordFailure(failure(), later), { hold: null, disabled: null })
  assert.deepEqual([breaker.failures, breaker.isDown], [1, false])
  for (let i = 2; i < downAfter; i++) breaker.recordFailure(failure(), later)
  assert.equal(breaker.isDown, false)
  assert.equal(breaker.recordFailure(failure(), later).hold, 5)
  assert.equal(breaker.isDown, true)
  const days = later + disableAfterSeconds * 1_000
  assert.equal(breaker.recordFailure(failure(), days - 1).disabled, null)
  assert.equal(breaker.recordFailure(failure(), days).disabled, 'failing')
})

test('concurrency grows with successes, and begins anew after a failure', () => {
  const breaker = new CircuitBreaker({ ...healthy, isProven: false })
  assert.equal(breaker.concurrency, 2)
  assert.deepEqual(breaker.recordSuccess(quickResponseMs + 1), { wasDown: false, isNews: true })
  assert.deepEqual([breaker.concurrency, breaker.isQuick], [4, false])
  for (let i = 0; i < 5; i++) breaker.recordSuccess(quickResponseMs)
  assert.deepEqual([breaker.concurrency, breaker.isQuick], [maxCallsPerEndpoint, true])
  breaker.recordFailure(failure(), 0)
  assert.equal(breaker.concurrency, 1)
  breaker.recordSuccess(5)
  assert.equal(breaker.concurrency, 2)
})

test('a breaker continues where another process left it', () => {
  const since = 5_000
  const breaker = new CircuitBreaker({ failures: downAfter, failingSince: since, isProven: true })
  assert.deepEqual([breaker.isDown, breaker.concurrency], [true, 2])
  const { disabled } = breaker.recordFailure(failure(), since + disableAfterSeconds * 1_000)
  assert.equal(disabled, 'failing')
  assert.equal(new CircuitBreaker(healthy).recordFailure(failure(0, 'gone'), since).disabled, 'gone')
})
