import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse, print, uuid } from './id.ts'

test('successive ids ascend and are valid UUIDs of version 7', () => {
  const ids = Array.from({ length: 20_000 }, () => uuid())
  for (const [i, id] of ids.entries()) {
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    if (i > 0) assert.ok((ids[i - 1] ?? '') < id, `${ids[i - 1]} before ${id}`)
  }
})

test('parse returns the uuid of a printed id only under its own prefix', () => {
  const id = uuid()
  assert.equal(parse('ACC', print('ACC', id)), id)
  assert.equal(parse('USR', print('ACC', id)), null)
  assert.equal(parse('ACC', 'ACCnot-a-uuid'), null)
  assert.equal(parse('ACC', print('ACC', id.toUpperCase())), id)
})
