import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePattern } from './linear-pattern.ts'

test('a pattern finds what a regular expression of the same text finds', () => {
  const cases: [pattern: string, text: string][] = [
    ['id=([0-9]+)', 'status=ok id=4711 end'],
    ['^OK', 'OK: taken'],
    ['^OK', 'not OK'],
    ['(a|ab)(c|bcd)(d*)', 'abcd'],
    ['x*', 'aaa'],
    ['"id":\\s*"([^"]+)"', '{"id":  "a-b-c","x":"y"}'],
    ['^(?:OK|SENT)[: ]+(\\w{2,5})$', 'SENT: abcde'],
    ['^(?:OK|SENT)[: ]+(\\w{2,5})$', 'SENT: abcdef'],
    ['[^a-c]{3}', 'abcdefg'],
    ['a.c', 'a\nc'],
    ['(é+)ü', 'xééü'],
    ['(?:ab?)+b', 'aabab'],
    ['[\\d-]+', 'on 2026-11-29'],
    ['$', 'end'],
    ['', 'anything'],
  ]
  for (const [pattern, text] of cases) {
    const expected = new RegExp(pattern, 'u').exec(text)
    assert.equal(compilePattern(pattern).find(text), expected ? (expected[1] ?? expected[0]) : null, pattern)
    assert.equal(compilePattern(pattern).test(text), expected !== null, pattern)
  }
})

test('a pattern that would backtrack for ages is searched in steps that grow with the text alone', () => {
  const pattern = compilePattern('^(?:a+)+$')
  assert.equal(pattern.test(`${'a'.repeat(20_000)}b`), false)
  assert.equal(pattern.test('a'.repeat(20_000)), true)
})

test('a false pattern is refused with its fault', () => {
  for (const pattern of [
    '(a',
    'a)',
    '[a',
    'a**',
    '*a',
    '\\',
    '\\b',
    '(?=a)',
    '[z-a]',
    'a{200}',
    '(?:(?:a{99}){99}){99}',
  ])
    assert.throws(() => compilePattern(pattern), SyntaxError, pattern)
})
