import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { indexFile, indexText } from '../scripts/decisions.ts'

test('the index of decisions lists every decision', () => {
  assert.ok(readFileSync(indexFile, 'utf8') === indexText(), 'run: node_modules/.bin/node scripts/decisions.ts')
})

test('every decision has a question, a choice and a price, in at most 60 lines', () => {
  const folder = dirname(indexFile)
  const files = globSync('[0-9]*.md', { cwd: folder })
  assert.ok(files.length >= 31, `saw only ${files.length} decisions`)
  for (const file of files) {
    const text = readFileSync(join(folder, file), 'utf8')
    for (const part of ['Question', 'Choice', 'Price'])
      assert.match(text, new RegExp(`^\\*\\*${part}\\.\\*\\* `, 'm'), `${file}: ${part}`)
    assert.ok(text.split('\n').length <= 61, `${file} has too many lines: figures and lost attempts go to bench/notes`)
  }
})
