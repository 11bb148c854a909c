import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

/** Biome puts every import at the beginning of a line. Dynamic imports are loaded later and do not count. */
const statement = /^import (?!type )(?:[^'";]*? from )?'([^']+)'/gm

/** Returns the packages that a file loads at its start, with the files that it imports. */
const packagesOf = (path: string, seen = new Set<string>()): string[] => {
  if (seen.has(path)) return []
  seen.add(path)
  const targets = [...readFileSync(path, 'utf8').matchAll(statement)].map(([, target = '']) => target)
  return targets.flatMap((target) => {
    if (target.startsWith('.')) return packagesOf(join(dirname(path), target), seen)
    return target.startsWith('node:') ? [] : [target]
  })
}

test('a command starts without loading any package: they took three quarters of its start', () => {
  const seen = new Set<string>()
  assert.deepEqual(packagesOf(join(import.meta.dirname, 'main.ts'), seen), [])
  assert.ok(seen.size >= 20, `saw only ${seen.size} files`)
  assert.ok(packagesOf(join(import.meta.dirname, '../../contracts.ts')).includes('typebox'))
})
