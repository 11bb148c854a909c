import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../../../contracts.ts'
import { makeShell } from '../testing.ts'
import { requestOf } from './build-request.ts'
import { commandsOf, findCommand, knownOptionsOf } from './command.ts'
import { parseArguments } from './parse-arguments.ts'

const shell = makeShell(contracts, { environment: { TRUNKLINE_OPERATOR_KEY: 'UOK-a-key-for-this-test' } })
const commands = commandsOf(contracts)
const account = 'ACC01a1fcca-93ab-7cbc-9f10-be702f775479'

/** The request of a command line. */
const request = (line: string, files: Record<string, string> = {}) => {
  const args = line.split(' ')
  const command = findCommand(commands, args[0] ?? '', args[1] ?? '')
  const request = requestOf(command, parseArguments(args, knownOptionsOf(command)), (path) => files[path] ?? '')
  return { ...request, body: request.body === null ? null : JSON.parse(request.body) }
}

const refused = async (line: string, message: RegExp) => {
  const { status, out, err } = await shell(...line.split(' '))
  assert.match(err, message)
  assert.equal(status, 2)
  assert.equal(out, '')
}

test('a typo is an error that suggests the nearest name', async () => {
  await refused('acounts list', /no command "acounts"; did you mean "accounts"/)
  await refused('accounts lst', /no command "accounts lst"; did you mean "accounts list"/)
  await refused('accounts create --nam X', /no option --nam; did you mean --name/)
  await refused(`users change ${account} --status ACTVE`, /--status must be one of .*; did you mean ACTIVE/)
})

test('missing parts are named before any request', async () => {
  await refused('accounts show', /accounts show needs ACCOUNT_UUID/)
  await refused(`keys revoke ${account}`, /KEY_UUID is missing/)
  await refused('accounts create', /missing: --name/)
  await refused('accounts create --name', /--name needs a value/)
  await refused(
    'connections create --kind smpp --name x --settings.host h',
    /missing: --settings.port, --settings.system-id/,
  )
  await refused('prices set', /FILE is missing/)
})

test('superfluous or malformed arguments are refused', async () => {
  await refused(`accounts show ${account} again`, /"again" is an unexpected argument/)
  await refused('accounts create --name a --name b', /--name is given twice/)
  await refused(
    'accounts create --name a --requests-per-minute many',
    /--requests-per-minute must be a whole number, not "many"/,
  )
  await refused('accounts list --json=yes', /--json takes no value/)
  await refused('connections create --settings {', /--settings is not JSON/)
  await refused('accounts list --url here', /--url must be an address/)
})

test('without a key no request is sent, and the message names its sources', async () => {
  const { status, err } = await makeShell(contracts)('accounts', 'list')
  assert.equal(status, 2)
  assert.match(err, /--operator-key.*TRUNKLINE_OPERATOR_KEY/)
})

test('types come from the schema', () => {
  assert.deepEqual(request('accounts create --name 5 --on-trial --requests_per_minute=60').body, {
    name: '5',
    on_trial: true,
    requests_per_minute: 60,
  })
  assert.deepEqual(request(`accounts credit ${account} --amount 1.10`).body, { amount: '1.10' })
})

test('a switch is turned off in each of the usual ways', () => {
  for (const off of ['--no-blocked', '--blocked=false', '--blocked false'])
    assert.deepEqual(request(`accounts change ${account} ${off}`).body, { blocked: false })
})

test('null clears an optional value', () => {
  assert.deepEqual(request(`accounts change ${account} --max-api-request-count null`).body, {
    max_api_request_count: null,
  })
})

test('objects are given by their fields, as JSON, from a file, or mixed', () => {
  const whole = { host: 'a', port: 1, system_id: 's', password: 'p' }
  const files = { 'smpp.json': JSON.stringify(whole) }
  const body = { kind: 'smpp', name: 'x' }
  const start = 'connections create --kind smpp --name x'
  assert.deepEqual(
    request(`${start} --settings.host a --settings.port 1 --settings.system_id s --settings.password p`).body,
    { ...body, settings: whole },
  )
  assert.deepEqual(request(`${start} --settings ${JSON.stringify(whole)}`).body, { ...body, settings: whole })
  assert.deepEqual(request(`${start} --settings.port 2 --settings @smpp.json`, files).body, {
    ...body,
    settings: { ...whole, port: 2 },
  })
})

test('lists are given by commas, by repetition, or both', () => {
  const { body } = request('connections change CNXx --settings.prefixes 44,49 --settings.prefixes 1')
  assert.deepEqual(body, { settings: { prefixes: ['44', '49', '1'] } })
})

test('a list of objects comes from a file, bare or inside its object', () => {
  const prices = [{ kind: 'sms_out', prefix: '44', price: '0.04' }]
  for (const text of [JSON.stringify(prices), JSON.stringify({ prices })])
    assert.deepEqual(request('prices set p.json', { 'p.json': text }).body, { prices })
})

test('ids cannot redirect a request', () => {
  assert.equal(request('accounts show ../prices?x=1').path, '/operator/accounts/..%2Fprices%3Fx%3D1')
  assert.throws(() => request('connections delete ..'), /not ids/)
})

test('fields of the query are sent in the address', () => {
  const { path } = request(`accounts ledger ${account} --results-per-page 2 --cursor a+b`)
  assert.equal(path, `/operator/accounts/${account}/ledger?results_per_page=2&cursor=a%2Bb`)
})
