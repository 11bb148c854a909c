import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromBase64url } from './base64url.ts'

test('fromBase64url accepts only canonical base64url', () => {
  for (const size of [0, 1, 2, 3, 32, 64]) {
    const bytes = Buffer.alloc(size, 0xf7)
    assert.deepEqual(fromBase64url(bytes.toString('base64url')), bytes)
  }
  for (const text of ['_w==', '_x', '/w', '_w\n', ' _w', '_', '_w=', '_w.', '-_8=', '_wé'])
    assert.equal(fromBase64url(text), null, text)
})
