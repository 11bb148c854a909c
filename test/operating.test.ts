import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { manualFile, withSettings } from '../scripts/settings.ts'
import { contracts } from '../src/contracts.ts'
import { requestOf } from '../src/interfaces/cli/input/build-request.ts'
import { commandsOf, findCommand, knownOptionsOf } from '../src/interfaces/cli/input/command.ts'
import { parseArguments } from '../src/interfaces/cli/input/parse-arguments.ts'
import { findLocal, knownOptionsOfLocal } from '../src/interfaces/cli/installation-commands.ts'
import { listen, listenOptions, readListenOptions } from '../src/interfaces/cli/listen/listen.ts'
import { makeWorld } from './world.ts'

const root = join(import.meta.dirname, '..')
const manual = readFileSync(manualFile, 'utf8')
const metrics = readFileSync(join(root, 'docs/operating/monitoring.md'), 'utf8')

test('the table of settings matches src/config.ts', () => {
  assert.match(manual, /\| `TRUNKLINE_PORT` \| `8080` \|/)
  assert.ok(manual === withSettings(manual), 'run: node_modules/.bin/node scripts/settings.ts')
})

test('the manual lists exactly the metrics that exist', async () => {
  const { call } = await makeWorld()
  const { body } = await call(null, 'GET', '/metrics')
  const served = [...String(body).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name).sort()
  assert.ok(served.length >= 7, `saw only ${served.length} metrics`)
  const listed = [...metrics.matchAll(/^\| `(trunkline_\w+)` \|/gm)].map(([, name]) => name).sort()
  assert.deepEqual(listed, served)
})

/** The words of a shell command, without comment and redirection; variables are not expanded. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/\s[#>].*$/, '').matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')

test('every command line in the documents is understood', () => {
  const commands = commandsOf(contracts)
  const files = globSync(['*.md', 'docs/**/*.md'], { cwd: root })
  const lines = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .replace(/\\\n\s*/g, '')
      .split('\n')
      .filter((line) => line.startsWith('npx trunkline ')),
  )
  assert.ok(lines.length >= 20, `saw only ${lines.length} command lines`)
  for (const line of lines) {
    const args = wordsOf(line).slice(2)
    if (args[0] === listen.name) {
      assert.doesNotThrow(() => readListenOptions(parseArguments(args, listenOptions)), line)
      continue
    }
    const local = findLocal(args[0], args[1])
    if (local) {
      assert.doesNotThrow(() => parseArguments(args, knownOptionsOfLocal(local)), line)
      continue
    }
    const command = findCommand(commands, args[0] ?? '', args[1] ?? '')
    const settings = '{"host":"h","port":1,"system_id":"s","password":"p"}'
    const typed = parseArguments(args, knownOptionsOf(command))
    assert.doesNotThrow(() => requestOf(command, typed, (path) => (path === 'prices.json' ? '[]' : settings)), line)
  }
})
