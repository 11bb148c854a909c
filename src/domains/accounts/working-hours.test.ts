import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWorkingTime, type WorkingHours } from './working-hours.ts'

const workingHours: WorkingHours = {
  timezone: 'Europe/London',
  days: [
    { day: 'monday', from: '09:00', until: '12:00' },
    { day: 'monday', from: '13:00', until: '17:30' },
    { day: 'sunday', from: '20:00', until: '24:00' },
  ],
}

const at = (time: string) => isWorkingTime(workingHours, new Date(time))

test('working hours follow the zone of the account, its summer time and its days', () => {
  // Monday, 6 July 2026, at UTC+1.
  assert.deepEqual(
    ['07:59', '08:00', '10:59', '11:00', '12:00', '16:29', '16:30'].map((time) => at(`2026-07-06T${time}Z`)),
    [...[false, true, true, false, true, true, false]],
  )
  // Monday, 5 January 2026, at UTC.
  assert.deepEqual(
    ['08:59', '09:00'].map((time) => at(`2026-01-05T${time}Z`)),
    [false, true],
  )
  assert.equal(at('2026-07-07T10:00Z'), false, 'a day without hours')
})

test('hours until midnight contain the last minute of the day', () => {
  assert.deepEqual(['2026-01-04T23:59Z', '2026-01-05T00:00Z'].map(at), [true, false])
})

test('an account without working hours always works', () => {
  assert.equal(isWorkingTime(null, new Date('2026-01-01T03:00Z')), true)
})
