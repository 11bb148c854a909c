import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyProblem } from './validation.ts'

const refusalOf = (body: string) => bodyProblem(body, JSON.parse(body))?.message

test('U+0000 and half of a surrogate pair are refused anywhere in a body', () => {
  for (const bad of ['\\u0000', 'a\\ud83d', '\\ude00b'])
    for (const body of [`"${bad}"`, `{"text":"${bad}"}`, `{"${bad}":1}`, `{"a":[null,{"b":[true,"${bad}"]}]}`])
      assert.match(refusalOf(body) ?? '', /U\+0000/, body)
})

test('a body with a whole surrogate pair, or an escape that resembles U+0000, is accepted', () => {
  for (const body of ['{"text":"\\ud83d\\ude00"}', '{"text":"\\\\u0000"}', '{"a":[null,"\\u0001"]}'])
    assert.equal(refusalOf(body), undefined, body)
})

test('a body nested more than 200 levels deep is refused', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}"${'x'.repeat(2_000)}"${']'.repeat(depth)}`
  assert.equal(refusalOf(nested(200)), undefined)
  assert.match(refusalOf(nested(201)) ?? '', /nested/)
})
