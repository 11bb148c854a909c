import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../contracts.ts'
import { common, sortArguments } from './args.ts'
import { commandsOf, knownOf } from './command.ts'
import { exampleCommand } from './help.ts'
import { requestOf } from './request.ts'
import { makeShell } from './testing.ts'

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

test('the example of every command is a command line that is understood', () => {
  for (const command of commands) {
    const line = exampleCommand(command)
    const args = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '').slice(1)
    const request = requestOf(command, sortArguments(args, knownOf(command)), () => '[]')
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

test('one word or two name each command, and no two have the same', () => {
  for (const { name } of commands) assert.match(name, /^[a-z][a-z-]*(?: [a-z][a-z-]*)?$/)
  assert.equal(new Set(commands.map(({ name }) => name)).size, commands.length)
})

test('help stands at every level', async () => {
  const all = await shell('--help')
  assert.equal(all.status, 0)
  for (const { name } of commands) assert.ok(all.out.includes(name), name)
  const some = await shell('keys', '-h')
  assert.match(some.out, /keys revoke/)
  assert.doesNotMatch(some.out, /accounts list/)
})

test('half a command is a mistake that shows what there is', async () => {
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
