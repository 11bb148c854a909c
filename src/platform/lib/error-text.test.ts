import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorStack, errorText } from './error-text.ts'

test('the message of a JSON error contains no part of the input', () => {
  for (const text of [
    'ZQX',
    '{"text":"ZQX',
    `{"text":"ZQX${'x'.repeat(300)}"} ZQX`,
    '["a\nZQX"]',
    `"ZQX" ZQX`,
    '"\\ZQX"',
  ]) {
    const error: unknown = (() => {
      try {
        return JSON.parse(text)
      } catch (error) {
        return error
      }
    })()
    assert.ok(error instanceof SyntaxError)
    assert.doesNotMatch(errorText(error), /ZQX/)
    assert.doesNotMatch(errorStack(error), /ZQX/)
    assert.match(errorStack(error), /JSON[\s\S]*error-text\.test/)
  }
  assert.equal(errorText(new Error('a "name" is missing')), 'a "name" is missing')
})
