import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { makeRecipeWorld, makeScene } from '../../../test/recipes/scene.ts'
import { makeSimulatorHome, password, startSimulator } from '../../../test/simulator.ts'
import { makeWorld } from '../../../test/world.ts'
import { contracts } from '../../contracts.ts'
import { loadCatalogue } from '../../domains/numbers/catalogue/load-catalogue.ts'
import { type CommandResult, makeShell } from './testing.ts'

// Runs every command against a listening server: command line, response and output.

const world = await makeWorld()
const url = await world.app.listen({ host: '127.0.0.1', port: 0 })
const files = {
  'prices.csv': 'kind,prefix,price\nsms_out,44,0.05\nsms_out,49,0.06\n',
  'bad.csv': 'kind,prefix,price\nsms_out,44,cheap\n',
  'numbers.csv': 'number,country,type,monthly_price\n+442079460001,GB,local,1.50\n+442079460002,GB,local,1.50\n',
  'prices.json': JSON.stringify([{ kind: 'sms_out', prefix: '33', price: '0.07' }]),
}
const environment = { TRUNKLINE_URL: url, TRUNKLINE_OPERATOR_KEY: world.operatorKey }
const shell = makeShell(contracts, { environment }, files)

const { carriers, remoteConnections } = world.parts
before(() => Promise.all([carriers.start(), remoteConnections.start()]))
after(() => Promise.all([remoteConnections.end(), carriers.close()]))

/** The JSON reply of a command that must succeed. */
const replyOf = async (...args: string[]) => {
  const outcome = await shell(...args, '--json')
  assert.equal(outcome.err, '', args.join(' '))
  assert.equal(outcome.status, 0)
  return JSON.parse(outcome.out)
}

const failed = ({ status, out, err }: CommandResult, message: RegExp) => {
  assert.match(err, message)
  assert.deepEqual([status, out], [1, ''])
}

test('accounts are created, listed, shown, changed, credited and accounted for', async () => {
  const { account } = await replyOf('accounts', 'create', '--name', 'Example Ltd', '--on-trial')
  assert.equal(account.on_trial, true)
  const listed = await shell('accounts', 'list')
  assert.match(listed.out, new RegExp(`^uuid .*\\n(.*\\n)*${account.uuid} +Example Ltd`))
  const changed = await replyOf('accounts', 'change', account.uuid, '--no-on-trial', '--requests-per-minute', '90')
  assert.deepEqual([changed.account.on_trial, changed.account.requests_per_minute], [false, 90])
  const credited = await shell('accounts', 'credit', account.uuid, '--amount', '12.50', '--note', 'welcome')
  assert.match(credited.out, /^balance +12\.50/)
  const shown = await shell('accounts', 'show', account.uuid)
  assert.match(shown.out, /^balance +12\.50/m)
  const ledger = await shell('accounts', 'ledger', account.uuid)
  assert.match(ledger.out, /welcome/)
})

test('with the same Idempotency-Key money is added once', async () => {
  const { uuid } = await world.tenant({ balance: '0' })
  const credit = ['accounts', 'credit', uuid, '--amount', '5', '--idempotency-key', 'once']
  await replyOf(...credit)
  assert.match((await replyOf(...credit)).balance, /^5\.0/)
})

test('a file of numbers is sent as it is read; bad lines are listed', async () => {
  await loadCatalogue(world.db)
  const imported = await replyOf('inventory', 'import', 'numbers.csv')
  assert.deepEqual([imported.lines, imported.imported], [2, 2])
  const again = await shell('inventory', 'import', 'numbers.csv', '--dry-run')
  failed(again, /Nothing was imported: 2 bad of 2 lines/)
  assert.match(again.err, /^line +error\n2 +\+442079460001 is in the inventory already\n3 +\+442079460002 is in/m)
  const id = /IMP[-0-9a-f]+/.exec(again.err)?.[0] ?? ''
  assert.match((await shell('inventory', 'progress', id)).out, /state +refused/)
  assert.match((await shell('inventory', 'imports')).out, /done/)
})

test('keys are created, listed and revoked', async () => {
  const { uuid } = await world.tenant()
  const { uuid: key } = await replyOf('keys', 'create', uuid, '--label', 'office')
  assert.match((await shell('keys', 'list', uuid)).out, /office/)
  assert.equal((await shell('keys', 'revoke', uuid, key)).out, 'done\n')
  assert.doesNotMatch((await shell('keys', 'list', uuid)).out, /office/)
})

test('users are created, listed and changed', async () => {
  const { uuid } = await world.tenant()
  const names = ['--first-name', 'Ada', '--last-name', 'Lovelace', '--email', 'ada@example.com']
  const { user } = await replyOf('users', 'create', uuid, ...names)
  const changed = await replyOf('users', 'change', user.uuid, '--status', 'SUSPENDED')
  assert.equal(changed.user.status, 'SUSPENDED')
  assert.match((await shell('users', 'list', uuid)).out, /Lovelace +ada@example\.com +SUSPENDED/)
})

test('prices are set from JSON, imported from CSV and listed', async () => {
  assert.equal((await shell('prices', 'set', 'prices.json')).out, 'count  1\n')
  assert.equal((await shell('prices', 'import', 'prices.csv')).out, 'count  2\n')
  const { out } = await shell('prices', 'list')
  for (const line of [/sms_out +33 +0\.07/, /sms_out +44 +0\.05/, /sms_out +49 +0\.06/]) assert.match(out, line)
  failed(await shell('prices', 'import', 'bad.csv'), /line 2: price must be a decimal number.*\(invalid_csv, req_/)
})

test('a carrier is connected, tested, changed and deleted', async (t) => {
  const carrier = await startSimulator(t, await makeSimulatorHome(t))
  const settings = ['--settings.host', '127.0.0.1', '--settings.port', String(carrier.smppPort)]
  const login = ['--settings.system-id', 'esme', '--settings.password', password]
  const { connection } = await replyOf(
    'connections',
    'create',
    '--kind',
    'smpp',
    '--name',
    'first',
    ...settings,
    ...login,
  )
  const { uuid } = connection
  assert.equal(connection.settings.password, undefined)
  // The process learns of a change shortly after it is made.
  const tried = await replyOf('connections', 'test', uuid)
  assert.deepEqual([tried.working, tried.message], [true, 'bound'])
  assert.match((await shell('connections', 'list')).out, /first .*bound/)
  const changed = await replyOf('connections', 'change', uuid, '--settings.prefixes', '44,49')
  assert.deepEqual(changed.connection.settings.prefixes, ['44', '49'])
  assert.match((await shell('connections', 'show', uuid)).out, /^settings\.prefixes +44,49$/m)
  assert.equal((await shell('connections', 'delete', uuid)).status, 0)
  failed(await shell('connections', 'show', uuid), /\(not_found, req_/)
})

test('the signing key is rotated', async () => {
  await replyOf('signing-keys', 'rotate')
  assert.ok((await replyOf('signing-keys', 'list')).signing_keys.length >= 1)
})

test('a wrong key and an unknown id are refused with message and code, status 1', async () => {
  failed(await shell('accounts', 'list', '--operator-key', 'wrong'), /X-Operator-Key.*\(unauthorized, req_/)
  const unknown = 'ACC00000000-0000-7000-8000-000000000000'
  failed(await shell('accounts', 'show', unknown), /\(not_found, req_/)
})

test('without an address, the settings of a platform on this machine give it', async () => {
  const { port } = new URL(url)
  for (const TRUNKLINE_HOST of ['', '0.0.0.0', 'localhost']) {
    const environment = { TRUNKLINE_HOST, TRUNKLINE_PORT: port, TRUNKLINE_OPERATOR_KEY: world.operatorKey }
    const { status, err } = await makeShell(contracts, { environment })('accounts', 'list')
    assert.deepEqual([status, err], [0, ''], TRUNKLINE_HOST)
  }
  const tls = { TRUNKLINE_PORT: '1', TRUNKLINE_TLS_CERT: 'cert.pem', TRUNKLINE_OPERATOR_KEY: world.operatorKey }
  failed(await makeShell(contracts, { environment: tls })('accounts', 'list'), /https:\/\/127\.0\.0\.1:1\b/)
})

test('an unreachable server is reported', async () => {
  const [closed] = [createServer()]
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const { port } = closed.address() as AddressInfo // it listens on TCP
  await new Promise((resolve) => closed.close(resolve))
  failed(await shell('accounts', 'list', '--url', `http://127.0.0.1:${port}`), /cannot be reached \(ECONNREFUSED\)/)
})

test('another program’s reply is rejected, and its redirect does not get the key', async (t) => {
  let asks = 0
  const other = createServer((_request, response) => {
    asks++
    response.writeHead(302, { location: '/elsewhere' }).end('<p>')
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo // it listens on TCP
  failed(await shell('accounts', 'list', '--url', `http://127.0.0.1:${port}`), /answered 302 without JSON/)
  assert.equal(asks, 1)
})

test('registrations are listed, shown, read and decided; a document is written byte for byte', async () => {
  const scenery = await makeRecipeWorld()
  const environment = {
    TRUNKLINE_URL: await scenery.app.listen({ host: '127.0.0.1', port: 0 }),
    TRUNKLINE_OPERATOR_KEY: scenery.operatorKey,
  }
  const shell = makeShell(contracts, { environment })
  const replyOf = async (...args: string[]) => JSON.parse((await shell(...args, '--json')).out)
  const { number, document } = await (await makeScene(scenery, 'cli')).registration()
  const { registrations } = await replyOf('registrations', 'list')
  assert.deepEqual(
    registrations.map((one: { virtual_number_uuid: string }) => one.virtual_number_uuid),
    [number],
  )
  const { registration } = await replyOf('registrations', 'show', number)
  assert.equal(registration.given[0].document_uuid, document)
  const file = await shell('registrations', 'document', number, document)
  assert.deepEqual([file.status, file.out], [0, '%PDF-1.7 cli'])
  failed(await shell('registrations', 'document', number, `DOC${randomUUID()}`), /There is no document/)
  const onTerminal = makeShell(contracts, { environment, width: 80 })
  const shown = await onTerminal('registrations', 'document', number, document)
  assert.match(shown.err, /the reply is a file/)
  assert.equal((await replyOf('registrations', 'refuse', number, '--reason', 'Not legible')).success, true)
  assert.equal((await replyOf('registrations', 'approve', number)).success, true)
  failed(await shell('registrations', 'approve', number), /registered already/)
})
