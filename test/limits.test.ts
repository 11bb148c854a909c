import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

// Sizes, counts and times that limit something are in one table of their unit, `limits.ts`, with unit and reason.

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const files = globSync('src/{domains,adapters,interfaces}/**/*.ts', { cwd: root })
  .filter((path) => !/\.(?:test|conformance|worker-fixture)\.ts$|[/-]testing\.ts$/.test(path))
  .sort()
const tables = files.filter((path) => path.endsWith('/limits.ts'))

/** Constants of these files stay with their code. */
const exempt = [
  // Parts of a protocol or a contract.
  /\/(?:codec|contract|bencode)\.ts$/,
  // The phases of a submit and of a delivery are tuned as one.
  /^src\/domains\/sms\/submit\//,
  /^src\/domains\/webhooks\/delivery\//,
  // The signal of DTMF and tones: standards, not limits.
  /^src\/adapters\/media\/embedded\/(?:dtmf|dtmf-tones|tone-key-detector|speech-detector|g711-frame)\.ts$/,
  // The keys of the search index are made with them.
  /^src\/domains\/contacts\/search\//,
]

const isLimit = (name: string) =>
  /^(?:max|min|longest|shortest|least|most)[A-Z]/.test(name) ||
  /(?:Ms|Seconds|Minutes|Days|BatchSize|PageSize|ChunkSize|Limits?)$/.test(name)

test('a constant that limits something is in the table of its unit', () => {
  assert.ok(tables.length >= 20, `saw only ${tables.length} tables`)
  const faults = files
    .filter((path) => !tables.includes(path) && !exempt.some((one) => one.test(path)))
    .flatMap((path) =>
      [...read(path).matchAll(/^(?:export )?const (\w+)(?:: [^=\n]+)? = (?:-?\d|\{ \w+: \d)/gm)]
        .map(([, name = '']) => name)
        .filter(isLimit)
        .map((name) => `${path}: ${name}`),
    )
  assert.deepEqual(faults, [])
})

test('each limit has a comment, and is used', () => {
  const all = files.map(read).join('\n')
  const faults = tables.flatMap((path) => {
    const source = read(path)
    return [...source.matchAll(/(\*\/\n)?^export const (\w+)/gm)].flatMap(([, comment, name = '']) => [
      ...(comment ? [] : [`${path}: ${name} has no comment`]),
      ...(all.split(new RegExp(`\\b${name}\\b`)).length > 2 ? [] : [`${path}: ${name} is not used`]),
    ])
  })
  assert.deepEqual(faults, [])
})
