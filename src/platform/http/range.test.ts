import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byteRangeOf } from './range.ts'

test('a range is clipped to the file, and an unsatisfiable one yields none', () => {
  for (const [range, size, span] of [
    ['bytes=0-0', 10, { start: 0, end: 0 }],
    ['bytes=5-', 10, { start: 5, end: 9 }],
    ['bytes=-3', 10, { start: 7, end: 9 }],
    ['bytes=-30', 10, { start: 0, end: 9 }],
    ['bytes=3-99', 10, { start: 3, end: 9 }],
    ['bytes=10-', 10, 'none'],
    ['bytes=-0', 10, 'none'],
    ['bytes=0-', 0, 'none'],
    ['bytes=-5', 0, 'none'],
    ['bytes=5-3', 10, null],
    ['bytes=0-1,3-4', 10, null],
    ['bytes=-', 10, null],
    ['lines=0-1', 10, null],
  ] as const)
    assert.deepEqual(byteRangeOf({ range }, size), span, `${range} of ${size}`)
  assert.equal(byteRangeOf({}, 10), null)
})

test('a range with If-Range yields the whole file, as files have no validators', () => {
  assert.equal(byteRangeOf({ range: 'bytes=0-1', 'if-range': '"x"' }, 10), null)
})
