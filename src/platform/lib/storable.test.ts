import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isStorable, storable, storableJson } from './storable.ts'

const unstorable = ['\0', 'a\0b', '\ud83d', 'a\ude00b', '\ude00\ud83d']

test('text with U+0000 or half of a surrogate pair becomes storable and keeps its length', () => {
  for (const text of unstorable) {
    assert.equal(isStorable(text), false)
    assert.equal(isStorable(storable(text)), true)
    assert.equal(storable(text).length, text.length)
  }
  assert.equal(storable('a\0b\ud83d'), 'a\ufffdb\ufffd')
})

test('storable text is returned unchanged', () => {
  for (const text of ['', 'Zoë', '😀', '\u0001\ufffd']) {
    assert.equal(isStorable(text), true)
    assert.equal(storable(text), text)
  }
})

test('truncated text stays storable where the limit splits a surrogate pair', () => {
  assert.equal(storable('ab😀', 3), 'ab\ufffd')
  assert.equal(storable('ab😀', 4), 'ab😀')
  assert.equal(storable('ab', 3), 'ab')
})

test('strings anywhere in a value are storable in its JSON', () => {
  assert.equal(storableJson({ a: ['x\0', { b: '\ud83d' }], n: 1 }), '{"a":["x\ufffd",{"b":"\ufffd"}],"n":1}')
  assert.equal(storableJson([{ 'a\0': 1, '\ud83d': { b: 2 } }]), '[{"a\ufffd":1,"\ufffd":{"b":2}}]')
})
