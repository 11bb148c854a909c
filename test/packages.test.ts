import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

// The READMEs of the packages: their examples run, and every module that they name exists.

const root = join(import.meta.dirname, '..')
// test/client and test/sdk try the READMEs of the packages that are built.
const packages = globSync('packages/*/package.json', { cwd: root })
  .map((path) => dirname(path))
  .filter((folder) => !['packages/client', 'packages/voice-sdk'].includes(folder))
  .sort()

const examples = (readme: string): string[] => [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = '']) => code)

for (const folder of packages) {
  const readme = readFileSync(join(root, folder, 'README.md'), 'utf8')

  test(`the example of ${folder} runs`, async () => {
    const [code, ...others] = examples(readme)
    assert.ok(code && others.length === 0, 'a README has one example')
    assert.match(code, /\bassert\b/)
    const child = spawn(process.execPath, ['--input-type=module-typescript'], { cwd: root, timeout: 120_000 })
    child.stdin.end(code)
    const [error, output, [status]] = await Promise.all([text(child.stderr), text(child.stdout), once(child, 'exit')])
    assert.equal(status, 0, error)
    assert.equal(output, '')
  })

  test(`the modules that ${folder}/README.md lists exist`, () => {
    const named = [...readme.matchAll(/^\| (`.*?) \|/gm)]
      .flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)])
      .map(([, name = '']) => name)
    assert.ok(named.length >= 3, `saw only ${named.length} modules`)
    assert.deepEqual(
      named.filter((name) => globSync(`${folder}/src/${name}`, { cwd: root }).length === 0),
      [],
    )
  })
}

test('every package has a README', () => {
  assert.equal(globSync('packages/*/README.md', { cwd: root }).length, packages.length + 2)
  assert.ok(packages.length >= 5, `saw only ${packages.length} packages`)
})
