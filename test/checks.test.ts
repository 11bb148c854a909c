import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { clientFiles } from '../scripts/client.ts'
import { commandsFile, commandsText, openapiFile, openapiText } from '../scripts/openapi.ts'
import { oneChecker, programs, withoutCollection } from './compiler.ts'
import { packages } from './needs.ts'

const root = join(import.meta.dirname, '..')

/** Runs a tool of node_modules. A failure shows the tool's whole output. */
const passes = async (tool: string, ...flags: string[]) => {
  const child = spawn(join(programs, tool), flags, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...withoutCollection },
  })
  const [said, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  assert.ok(child.exitCode === 0, `${tool} ${flags.join(' ')}\n${said}${errors}`)
}

test('types agree', () => passes('tsc', '-p', '.', ...oneChecker))

test('types of the packages for browsers agree', async () => {
  for (const name of ['client', 'voice-sdk']) {
    const stored = ['--incremental', '--tsBuildInfoFile', `node_modules/.cache/${name}.tsbuildinfo`]
    await passes('tsc', '-p', `packages/${name}`, '--noEmit', ...stored, ...oneChecker)
  }
})

test('types of the console agree, with those of every contract', async () => {
  const named = (path: string, from: RegExp) =>
    [...readFileSync(join(root, path), 'utf8').matchAll(from)].map(([, name]) => name)
  const known = new Set(named('console/api/contracts.ts', /'\.\.\/\.\.\/src\/(.+)'/g))
  const modules = named('src/contracts.ts', /^import \* as \w+ from '\.\/(.+)'/gm)
  assert.ok(modules.length >= 30, `saw only ${modules.length} modules`)
  assert.deepEqual(
    modules.filter((name) => !known.has(name)),
    [],
    'add them to console/api/contracts.ts',
  )
  await passes('tsc', '-p', 'console', ...oneChecker)
})

test('lint and format agree', () => passes('biome', 'check', '--error-on-warnings', '.'))

test('nothing is dead: files, exports, dependencies', () => passes('knip', '--no-progress', '--no-config-hints'))

test('scripts/ready.mjs has made docs/openapi.json and the contracts of the command line from these contracts', () => {
  const fix = 'a source is missing in documentSources of scripts/openapi.ts; run: node scripts/ready.mjs'
  assert.ok(readFileSync(openapiFile, 'utf8') === openapiText(), fix)
  assert.ok(readFileSync(commandsFile, 'utf8') === commandsText(), fix)
})

test('the generated files of @trunkline/client match the contracts', () => {
  for (const [path, wanted] of Object.entries(clientFiles()))
    assert.ok(readFileSync(path, 'utf8') === wanted, 'run: node_modules/.bin/node scripts/client.ts')
})

test('.ci/run installs exactly the programs that tests need', () => {
  const script = readFileSync(join(root, '.ci/run'), 'utf8')
  const [, list = ''] = /^packages=\((.*)\)$/m.exec(script) ?? []
  assert.deepEqual(list.split(' ').sort(), Object.values(packages).sort())
})

test('every listed program is needed by a test', () => {
  const files = globSync('{src,simulator,test,scripts}/**/*.ts', { cwd: root })
  const tests = files.map((path) => readFileSync(join(root, path), 'utf8')).join('')
  for (const name of Object.keys(packages)) assert.ok(tests.includes(`needs('${name}'`), `no test needs ${name}`)
})
