import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { makeWorld } from '../../../test/world.ts'
import { contracts } from '../../contracts.ts'
import { makeShell } from './testing.ts'

const world = await makeWorld()
const { call, tenant, app } = world
const url = await app.listen({ host: '127.0.0.1', port: 0 })
const asOperator = makeShell(contracts, {
  environment: { TRUNKLINE_URL: url, TRUNKLINE_OPERATOR_KEY: world.operatorKey },
})

const credit = (uuid: string, body: object) => call('operator', 'POST', `/operator/accounts/${uuid}/credit`, body)
const rename = (uuid: string, name: string) => call('operator', 'PATCH', `/operator/accounts/${uuid}`, { name })

/** An account with a unique name. */
let named = 0
const account = async () => {
  const tester = await tenant({ balance: '0' })
  const name = `Acme & Söhne ${++named}`
  await rename(tester.uuid, name)
  return { ...tester, name }
}

test('an account is addressed by its name as by its uuid', async () => {
  const ada = await account()
  const [byName, byId] = [
    await asOperator('accounts', 'show', ada.name),
    await asOperator('accounts', 'show', ada.uuid),
  ]
  assert.deepEqual([byName.status, byName.out], [0, byId.out])
  assert.match(byName.out, new RegExp(ada.uuid))
  assert.match((await asOperator('accounts', 'show', ada.name.toUpperCase())).out, new RegExp(ada.uuid))
})

test('a name that several accounts have is an error that lists their uuids, and nothing changes', async () => {
  const [ada, bob] = [await account(), await account()]
  await rename(bob.uuid, ada.name)
  const { status, err } = await asOperator('accounts', 'credit', ada.name, '--amount', '5')
  assert.equal(status, 1)
  assert.ok(err.includes(ada.uuid) && err.includes(bob.uuid), err)
  for (const { uuid } of [ada, bob])
    assert.equal((await call('operator', 'GET', `/operator/accounts/${uuid}/ledger`)).body.balance, '0.00')
})

test('a name that no account has is an error that names it', async () => {
  const { status, err } = await asOperator('accounts', 'show', 'Nobody Ltd')
  assert.equal(status, 1)
  assert.match(err, /no account named "Nobody Ltd".*accounts list/)
})

test('a connection is addressed by its name, and options take names too', async () => {
  const settings = { host: '127.0.0.1', port: 9, system_id: 'me', password: 'p' }
  const body = { kind: 'smpp', name: 'carrier one', settings, enabled: false }
  const { uuid } = (await call('operator', 'POST', '/operator/connections', body)).body.connection
  assert.match((await asOperator('connections', 'show', 'carrier one')).out, new RegExp(uuid))
  const ada = await account()
  const acts = await asOperator('audit', 'list', '--account-uuid', ada.name, '--json')
  assert.equal(JSON.parse(acts.out).acts[0].account_uuid, ada.uuid)
})

test('--all reads a list by its cursor to the end, each row once', async () => {
  const ada = await account()
  for (let i = 0; i < 7; i++) await credit(ada.uuid, { amount: '1', note: `note ${i}` })
  const paged = await asOperator('accounts', 'ledger', ada.uuid, '--results-per-page', '3', '--json')
  assert.equal(JSON.parse(paged.out).transfers.length, 3)
  const all = JSON.parse(
    (await asOperator('accounts', 'ledger', ada.uuid, '--all', '--results-per-page', '3', '--json')).out,
  )
  assert.equal(all.count, 7)
  assert.deepEqual(
    all.transfers.map(({ note }: { note: string }) => note),
    [6, 5, 4, 3, 2, 1, 0].map((i) => `note ${i}`),
  )
  assert.equal(all.next_cursor, undefined)
})

test('--all reads a list by its pages to the end', async () => {
  const uuids = []
  for (let i = 0; i < 5; i++) uuids.push((await account()).uuid)
  const { out } = await asOperator('accounts', 'list', '--all', '--results-per-page', '2', '--json')
  const seen = JSON.parse(out).accounts.map(({ uuid }: { uuid: string }) => uuid)
  const { total } = (await call('operator', 'GET', '/operator/accounts?page_number=0')).body
  assert.deepEqual([seen.length, new Set(seen).size], [total, total])
  assert.deepEqual(seen.slice(-5), uuids)
})

test('--all and a page exclude each other, and other commands have no pages', async () => {
  const ada = await account()
  const both = await asOperator('accounts', 'ledger', ada.uuid, '--all', '--cursor', 'x')
  assert.deepEqual([both.status, /omit --cursor/.test(both.err)], [2, true])
  const single = await asOperator('accounts', 'show', ada.uuid, '--all')
  assert.deepEqual([single.status, /does not return a list/.test(single.err)], [2, true])
})

test('a list is exported as CSV: every page, every column, quoted as RFC 4180 requires', async () => {
  const ada = await account()
  const notes = ['plain', 'a "quoted", text', 'two\nlines', 'é']
  for (const note of notes) await credit(ada.uuid, { amount: '1', note })
  const { status, out } = await asOperator(
    ...['accounts', 'ledger', ada.uuid, '--all', '--results-per-page', '3', '--format', 'csv'],
  )
  assert.equal(status, 0)
  assert.match(out, /^created_at,kind,amount,reference,note,made_by\.label,uuid,debit,credit.*\r\n/)
  const rows = parse(out, { columns: true, record_delimiter: '\r\n' }) as Record<string, string>[]
  assert.deepEqual(
    rows.map(({ note }) => note),
    notes.toReversed(),
  )
  assert.ok(rows.every((row) => row['made_by.label'] === 'test' && row.amount === '1.00'))
})

test('no cell of a CSV export is a formula', async () => {
  const ada = await account()
  const notes = ['=1+1', '+1', '-1', '@cmd', "'=x", '\t=1']
  for (const note of notes) await credit(ada.uuid, { amount: '1', note })
  const { out } = await asOperator('accounts', 'ledger', ada.uuid, '--format', 'csv', '--columns', 'note')
  const cells = (parse(out, { from: 2 }) as string[][]).map(([cell = '']) => cell)
  assert.deepEqual(cells, notes.map((note) => `'${note}`).toReversed())
})

test('a reply without a list cannot be exported as CSV, and an unknown format is refused before any request', async () => {
  const ada = await account()
  const single = await asOperator('accounts', 'show', ada.uuid, '--format', 'csv')
  assert.deepEqual([single.status, /does not return a list/.test(single.err)], [2, true])
  const unknown = await asOperator('accounts', 'list', '--format', 'xml')
  assert.deepEqual([unknown.status, /table, json, csv/.test(unknown.err)], [2, true])
  const both = await asOperator('accounts', 'list', '--format', 'csv', '--json')
  assert.equal(both.status, 2)
})

test('lists of an account are exported with its own key', async () => {
  const ada = await tenant()
  const shell = makeShell(contracts, { environment: { TRUNKLINE_URL: url, TRUNKLINE_API_KEY: ada.key } })
  const contact = { first_name: 'Grace', last_name: 'H', contact_details: [{ type: 'E', value: 'g@example.com' }] }
  assert.equal((await call(ada, 'POST', '/open/contacts', contact)).status, 201)
  const contacts = await shell('contacts', 'list', '--all', '--format', 'csv', '--columns', 'first_name')
  assert.equal(contacts.out, 'first_name\r\nGrace\r\n', contacts.err)
  for (const words of [
    ['sms', 'list'],
    ['calls', 'history'],
    ['numbers', 'own'],
  ]) {
    const { status, out, err } = await shell(...words, '--all', '--format', 'csv')
    assert.deepEqual([status, out.split('\r\n').length], [0, 2], err)
  }
})

test('accounts are filtered by name and state, and prices by kind and prefix', async () => {
  const [ada, bob] = [await account(), await account()]
  await call('operator', 'PATCH', `/operator/accounts/${bob.uuid}`, { blocked: true })
  const names = async (...words: string[]) =>
    JSON.parse((await asOperator('accounts', 'list', ...words, '--json')).out).accounts.map(
      ({ name }: { name: string }) => name,
    )
  assert.deepEqual(await names('--name', ada.name), [ada.name])
  assert.deepEqual(await names('--state', 'blocked', '--name-contains', 'SÖHNE'), [bob.name])
  const wrong = await asOperator('accounts', 'list', '--state', 'shut')
  assert.deepEqual([wrong.status, /open, blocked, closed/.test(wrong.err)], [2, true])
  const prices = [
    { kind: 'sms_out', prefix: '44', price: '1' },
    { kind: 'sms_out', prefix: '442', price: '1' },
  ]
  await call('operator', 'PUT', '/operator/prices', { prices })
  const found = JSON.parse((await asOperator('prices', 'list', '--kind', 'sms_out', '--prefix', '44', '--json')).out)
  assert.equal(found.count, 1)
})
