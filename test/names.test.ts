import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'

// The rules of names that a program can check (CONTRIBUTING.md, Names).

const root = join(import.meta.dirname, '..')
const files = globSync('{src,packages,simulator,test,scripts,bench,console}/**/*.{ts,tsx}', {
  cwd: root,
  exclude: (path) => /(?:^|\/)(?:node_modules|dist)(?:\/|$)/.test(path),
}).sort()
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** Private metaphors of earlier versions, and pronouns: the field has a term for each. */
const banned = [
  ...['aside', 'asked', 'berth', 'bury', 'courier', 'crew', 'desk', 'diary', 'doctor', 'door', 'elder', 'farewell'],
  ...['forsake', 'given', 'giver', 'guest', 'hasten', 'hungry', 'kept', 'lane', 'manners', 'newcomers', 'nobody'],
  ...['office', 'somebody', 'story', 'teller', 'tenure', 'told', 'unwritten', 'veil', 'wanted', 'whoever', 'wish'],
]

/** The words of a name: `makeJobConsumer` and `job-consumer.ts` have make, job and consumer. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.toLowerCase())

const bannedIn = (name: string) => wordsOf(name).filter((word) => banned.includes(word))

const exportsOf = (path: string): string[] =>
  [
    ...read(path).matchAll(
      /^export (?:abstract |async )?(?:type|interface|class|const|let|function\*?|enum) ([A-Za-z_]\w*)/gm,
    ),
  ].map(([, name = '']) => name)

test('file names and exported names use no banned word', () => {
  assert.ok(files.length >= 1_000, `saw only ${files.length} files`)
  const faults = files.flatMap((path) => [
    ...bannedIn(basename(path)).map((word) => `${path}: ${word}`),
    ...exportsOf(path).flatMap((name) => bannedIn(name).map((word) => `${path} exports ${name}: ${word}`)),
  ])
  assert.deepEqual(faults, [])
})

/** Folders with local names of earlier versions. */
const unchecked = /^(?:src\/(?:adapters|domains|ports)|simulator|test|scripts|bench)\//

/** Comments, regular expressions, strings and templates: the rest of a file has names. */
const texts =
  /\/\*[\s\S]*?\*\/|(?<!:)\/\/[^\n]*|(?<=[(,=:[!&|?{;]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n[])+\/\w*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g

/** Names of a file, without properties and elements: a local name is used at least once as a name alone. */
const localNamesOf = (path: string): Set<string> =>
  new Set(
    [
      ...read(path)
        .replaceAll(texts, ' ')
        .matchAll(/(?<![.\w#$</-])([A-Za-z_]\w*)(?![\w-])(?!\??:)/g),
    ].map(([, name = '']) => name),
  )

test('local names use no banned word', () => {
  const checked = files.filter((path) => !unchecked.test(path))
  assert.ok(checked.length >= 600, `saw only ${checked.length} files`)
  const faults = checked.flatMap((path) =>
    [...localNamesOf(path)].flatMap((name) => bannedIn(name).map((word) => `${path}: ${name} has ${word}`)),
  )
  assert.deepEqual(faults, [])
})

/** Names that mean the same in each folder that has them. */
const standard = [
  'contract.ts',
  'routes.ts',
  'ops.ts',
  'store.ts',
  'jobs.ts',
  'limits.ts',
  'refusals.ts',
  'testing.ts',
  'main.ts',
]

test('no other file name is used more than three times', () => {
  const counts = Map.groupBy(
    // Words of the console are named after their section, and the section after its domain.
    files.filter((path) => !path.endsWith('.test.ts') && !path.startsWith('console/words/')),
    (path) => basename(path),
  )
  const repeated = [...counts].filter(([name, paths]) => paths.length > 3 && !standard.includes(name))
  assert.deepEqual(repeated, [])
})

test('no type is named by a bare participle', () => {
  const types = files.flatMap((path) =>
    [...read(path).matchAll(/^(?:export )?(?:type|interface|class) ([A-Z]\w*)/gm)].map(([, name = '']) => ({
      path,
      name,
    })),
  )
  assert.ok(types.length >= 1_500, `saw only ${types.length} types`)
  const participle =
    /^(?:[A-Z][a-z]+ed|Done|Found|Given|Gone|Heard|Held|Kept|Known|Left|Listed|Made|Said|Seen|Sent|Shown|Taken|Told|Written)$/
  const faults = types.filter(({ name }) => participle.test(name))
  assert.deepEqual(
    faults.map(({ path, name }) => `${path}: ${name}`),
    [],
  )
})

test('no two files have one stem if the folder of one imports from that of the other', () => {
  const standard = ['contract', 'routes', 'ops', 'store', 'jobs', 'limits', 'refusals', 'testing', 'main']
  const own = files.filter((path) => /^(?:src|packages|simulator|console)\//.test(path) && !path.endsWith('.test.ts'))
  const stem = (path: string) => basename(path).replace(/\.tsx?$/, '')
  const imports = new Set(
    own.flatMap((path) =>
      [...read(path).matchAll(/from '(\.[^']+)'/g)].map(
        ([, to = '']) => `${dirname(path)} ${dirname(join(dirname(path), to))}`,
      ),
    ),
  )
  const named = Map.groupBy(
    own.filter((path) => !standard.includes(stem(path)) && !path.startsWith('console/words/')),
    stem,
  )
  const areRelated = (one: string, other: string) =>
    one !== other &&
    (one.replace(/x$/, '') === other.replace(/x$/, '') ||
      imports.has(`${dirname(one)} ${dirname(other)}`) ||
      imports.has(`${dirname(other)} ${dirname(one)}`))
  assert.ok(named.size >= 900, `saw only ${named.size} names`)
  const doubled = [...named.values()].flatMap((paths) =>
    paths.filter((one) => paths.some((other) => areRelated(one, other))),
  )
  assert.deepEqual(doubled, [])
})
