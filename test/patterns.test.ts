import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { formats } from '../src/platform/http/validation.ts'

// Every regular expression that a request reaches takes linear time: 100 kB within milliseconds.

const patterns = new Set<string>()
const collect = (value: unknown): void => {
  if (value === null || typeof value !== 'object') return
  if ('pattern' in value && typeof value.pattern === 'string') patterns.add(value.pattern)
  for (const inner of Object.values(value)) collect(inner)
}
for (const { params, query, body } of contracts) collect([params, query, body])

const length = 100_000
const pieces = ['a', 'A', '0', ' ', '.', '-', '+', '@', 'é', '\n', 'a.', 'a@', '0-', '+0', 'a ', '(', '2026-01-01T']
const endings = ['', '!', '\n', '@', ' x']
/** Long runs of characters that an expression may repeat, with a valid beginning and an invalid end. */
const attacks = (beginning: string): string[] =>
  pieces.flatMap((piece) => endings.map((end) => beginning + piece.repeat(length / piece.length) + end))

const slowest = (check: (text: string) => unknown, texts: string[]) => {
  let most = { ms: 0, text: '' }
  for (const text of texts) {
    // The best of three, because the machine may be busy.
    const times = [0, 1, 2].map(() => {
      const began = performance.now()
      check(text)
      return performance.now() - began
    })
    const ms = Math.min(...times)
    if (ms > most.ms) most = { ms, text }
  }
  return most
}

test('the patterns of all contracts are linear on 100 kB', () => {
  assert.ok(patterns.size >= 8, `saw only ${patterns.size} patterns`)
  for (const pattern of patterns) {
    const expression = new RegExp(pattern, 'u')
    const beginning = /^\^?([A-Za-z]*)/.exec(pattern)?.[1] ?? ''
    const { ms, text } = slowest((attack) => expression.test(attack), attacks(beginning))
    assert.ok(ms < 10, `${pattern} took ${ms} ms on ${text.slice(0, 30)}…`)
  }
})

test('the formats of all contracts are linear on 100 kB', () => {
  for (const [name, check] of Object.entries(formats)) {
    const { ms, text } = slowest(check, ['', 'a@', 'a@b.', '+44', '2026-01-01T'].flatMap(attacks))
    assert.ok(ms < 10, `${name} took ${ms} ms on ${text.slice(0, 30)}…`)
  }
})
