import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../../../contracts.ts'
import { eventNames } from '../../../domains/events/event-names.ts'
import { requestOf } from '../input/build-request.ts'
import { commandsOf, knownOptionsOf } from '../input/command.ts'
import { common, parseArguments } from '../input/parse-arguments.ts'
import { makeShell } from '../testing.ts'
import { exampleCommand } from './help.ts'

const shell = makeShell(contracts)
const commands = commandsOf(contracts)

test('every command has help that names its fields, its call and an example', async () => {
  assert.ok(commands.length >= 20, `saw only ${commands.length} commands`)
  for (const { name, contract, ids, fields, file } of commands) {
    const { status, out, err } = await shell(...name.split(' '), '--help')
    assert.deepEqual([status, err], [0, ''], name)
    for (const { option } of fields) assert.ok(out.includes(`--${option}`), `${name}: --${option}`)
    for (const id of ids) assert.ok(out.includes(id.toUpperCase()), `${name}: ${id}`)
    if (file) assert.ok(out.includes('FILE'), name)
    assert.ok(out.includes(contract.url.replace(/:(\w+)/g, '{$1}')), name)
    assert.ok(out.includes(`trunkline ${name}`), name)
    assert.doesNotMatch(out, /undefined|\[object/)
  }
})

test('trigger --help names every event', async () => {
  const { out } = await shell('trigger', '--help')
  for (const name of eventNames) assert.ok(out.includes(name), name)
  assert.match(out, /--channel-uuid/)
})

test('the example of every command is a valid command line', () => {
  for (const command of commands) {
    const line = exampleCommand(command)
    const args = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '').slice(1)
    const request = requestOf(command, parseArguments(args, knownOptionsOf(command)), () => '[]')
    assert.equal(request.method, command.contract.method, line)
  }
})

test('no field of a command has the name of an option of every command', () => {
  const reserved = Object.keys(common)
  for (const { name, fields } of commands)
    assert.deepEqual(
      fields.map(({ option }) => option).filter((option) => reserved.includes(option)),
      [],
      name,
    )
})

test('each command has a unique name of one or two words', () => {
  for (const { name } of commands) assert.match(name, /^[a-z][a-z-]*(?: [a-z][a-z-]*)?$/)
  assert.equal(new Set(commands.map(({ name }) => name)).size, commands.length)
})

test('there is help at every level', async () => {
  const all = await shell('--help')
  assert.equal(all.status, 0)
  for (const { name } of commands) assert.ok(all.out.includes(name), name)
  const some = await shell('keys', '-h')
  assert.match(some.out, /keys revoke/)
  assert.doesNotMatch(some.out, /accounts list/)
})

test('an incomplete command is refused with the possible commands', async () => {
  const nothing = await shell()
  assert.equal(nothing.status, 2)
  assert.match(nothing.err, /accounts create/)
  const half = await shell('keys')
  assert.equal(half.status, 2)
  assert.match(half.err, /keys revoke/)
})

test('lines of help fit the terminal', async () => {
  const { out } = await makeShell(contracts, { width: 80 })('connections', 'create', '--help')
  const long = out.split('\n').filter((line) => line.length > 80 && !line.startsWith('  trunkline'))
  assert.deepEqual(long, [])
})

test('a deprecated noun works with a warning on standard error', async () => {
  const former = await shell('set-aside', '--help')
  const present = await shell('dead-letters', '--help')
  assert.equal(former.out, present.out)
  assert.equal(former.err, 'trunkline: "set-aside" is deprecated: use "dead-letters"\n')
  assert.equal(present.err, '')
})
