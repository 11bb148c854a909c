import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventDocuments } from '../src/event-payloads.ts'

// The shell samples of all documents: they are shell, and define the variables that they use.

const root = join(import.meta.dirname, '..')
const files = globSync(['README.md', 'docs/*.md', 'docs/operating/*.md', 'packages/*/README.md'], { cwd: root }).sort()
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const shellOf = (text: string): string[] => [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, code = '']) => code)

/** Variables that every shell has. */
const given = new Set(['HOME', 'PATH', 'PWD', 'USER'])

/** Returns the variables that a page uses before a line defines them. */
const undefinedIn = (text: string): string[] => {
  const known = new Set(given)
  const missing = new Set<string>()
  for (const line of shellOf(text).join('').split('\n')) {
    // In single quotes, $ is text.
    const code = line.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, (part) => (part.startsWith("'") ? "''" : part))
    const uses = [...code.matchAll(/(?<!\\)\$\{?([A-Za-z_]\w*)/g)].map(([, name = '']) => name)
    for (const name of uses) if (!known.has(name)) missing.add(name)
    for (const [, name = ''] of code.matchAll(/(?:^|[\s;(])([A-Za-z_]\w*)=/g)) known.add(name)
    for (const [, name = ''] of code.matchAll(/\b(?:for|read(?: -r)?) ([A-Za-z_]\w*)/g)) known.add(name)
  }
  return [...missing]
}

test('a page defines each shell variable at its first use', () => {
  assert.deepEqual(undefinedIn('```sh\ncurl "$URL/x"\n```\n'), ['URL'])
  assert.deepEqual(undefinedIn('```sh\nURL=http://127.0.0.1\ncurl "$URL/x" -d \'{"a": "$b"}\'\n```\n'), [])
  const faults = files.flatMap((file) => undefinedIn(read(file)).map((name) => `${file}: $${name}`))
  assert.deepEqual(faults, [])
})

test('every shell sample is valid shell', () => {
  let count = 0
  for (const file of files)
    for (const code of shellOf(read(file))) {
      count++
      const { status, stderr } = spawnSync('bash', ['-n'], { input: code, encoding: 'utf8' })
      assert.equal(status, 0, `${file}: ${stderr}\n${code}`)
    }
  assert.ok(count >= 80, `saw only ${count} samples`)
})

test('docs/webhooks.md names every event, with a link to its payload', () => {
  const page = read('docs/webhooks.md')
  const missing = eventDocuments.filter(({ name }) => !page.includes(`[\`${name}\`](/docs#/webhooks/${name})`))
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  )
})
