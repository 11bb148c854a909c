import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

// A message is one string, or several joined.
const text = String.raw`(?:\x60[^\x60]*\x60|'[^']*'|"[^"]*")`
const thrown = [
  new RegExp(
    String.raw`(?:invalid|forbidden|notFound|conflict|insufficient|unprocessable|unavailable|malformed|later)\(\s*${text}(?:\s*\+\s*${text})*,\s*'([a-z_0-9]+)'`,
    'g',
  ),
  new RegExp(String.raw`new Problem\(\s*'\w+',\s*(?:${text}|[\w.]+|[^,]*),\s*'([a-z_0-9]+)'`, 'g'),
]

const codesOf = (source: string, ways: readonly RegExp[]): string[] =>
  ways.flatMap((way) => [...source.matchAll(way)].map(([, code = '']) => code))

test('docs/errors.md names every error code that the program can throw', () => {
  const files = globSync('src/**/*.ts', { cwd: root }).filter((path) => !/\.test\.ts$|contract\.ts$/.test(path))
  const usual = codesOf(read('src/platform/http/problem.ts'), [/code: '([a-z_0-9]+)'/g])
  const codes = new Set([...usual, ...files.flatMap((path) => codesOf(read(path), thrown))])
  assert.ok(codes.size >= 90, `saw only ${codes.size} codes`)
  const named = new Set(codesOf(read('docs/errors.md'), [/^\| `([a-z_0-9]+)` \|/gm]))
  assert.deepEqual([...codes].filter((code) => !named.has(code)).sort(), [])
})
