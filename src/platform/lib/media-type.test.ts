import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mediaTypeOf } from './media-type.ts'

test('a media type has no parameters, and is in lower case; of a repeated header the first value counts', () => {
  assert.equal(mediaTypeOf('Text/XML; charset=utf-8'), 'text/xml')
  assert.equal(mediaTypeOf([' application/json ;a=b', 'text/plain']), 'application/json')
  for (const none of [undefined, null, '', [], ';']) assert.equal(mediaTypeOf(none), '')
})
