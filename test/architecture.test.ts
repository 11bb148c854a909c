import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

// ARCHITECTURE.md and GLOSSARY.md describe the repository as it is.

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const foldersOf = (path: string): string[] =>
  readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${path}/${name}`)

test('ARCHITECTURE.md lists every folder of domains, adapters, interfaces, platform and packages, and no other', () => {
  const actual = ['packages', 'src/adapters', 'src/domains', 'src/interfaces', 'src/platform'].flatMap(foldersOf)
  const listed = [...read('ARCHITECTURE.md').matchAll(/^\| `([\w-]+(?:\/[\w-]+)+)` \|/gm)].map(([, name = '']) => name)
  assert.ok(actual.length >= 40, `saw only ${actual.length} folders`)
  assert.deepEqual(listed.toSorted(), actual.toSorted())
})

test('every domain has one README, and limits and refusals stand at its top', () => {
  const domains = foldersOf('src/domains')
  assert.ok(domains.length >= 25, `saw only ${domains.length} domains`)
  assert.deepEqual(
    domains.filter((path) => !existsSync(join(root, path, 'README.md'))),
    [],
  )
  const below = 'src/{domains,adapters,interfaces}/*/*/**/{README.md,limits.ts,refusals.ts}'
  assert.deepEqual(globSync(below, { cwd: root }), [])
})

for (const document of ['ARCHITECTURE.md', 'GLOSSARY.md', 'docs/standards.md', 'docs/compatibility.md'])
  test(`every path that ${document} names exists`, () => {
    const named = [
      ...read(document).matchAll(/`((?:src|console|packages|simulator|test|scripts|docs|bench)\/[\w./-]+)`/g),
    ]
    const paths = [...new Set(named.map(([, path = '']) => path))]
    assert.ok(paths.length >= 10, `saw only ${paths.length} paths`)
    assert.deepEqual(
      paths.filter((path) => !existsSync(join(root, path))),
      [],
    )
  })
