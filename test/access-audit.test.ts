import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import type { Contract } from '../src/platform/http/endpoint.ts'
import { isAudited } from '../src/platform/http/endpoint.ts'
import { errorCodesOf, transferOf } from '../src/platform/http/error-codes.ts'
import { maxRefusedCallersOfAccount } from '../src/platform/http/limits.ts'
import { rightsCodes } from '../src/platform/http/refused-access.ts'
import { claim, member } from './persons.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { send } from './recipes/send.ts'
import type { Tenant } from './world.ts'

// Reads that leave a row in the audit trail, and refusals that do.

const world = await makeRecipeWorld()
const { app, call, db, parts } = world
const scene = await makeScene(world, 'access')

type Row = {
  id: string
  account_id: string | null
  actor_kind: string
  actor_label: string
  session_id: string | null
  targets: string[]
  changes: { field: string; after: unknown }[]
}

const rowsOf = (action: string, after = '00000000-0000-0000-0000-000000000000') =>
  db.many<Row>`select * from audit where action = ${action} and id > ${after} order by id`
const lastId = async () => (await db.maybe<{ id: string }>`select id from audit order by id desc limit 1`)?.id
/** Rows of an action that some work adds. */
const added = async (action: string, work: () => Promise<unknown>): Promise<Row[]> => {
  const before = await lastId()
  await work()
  return await rowsOf(action, before)
}
const requestOf = async (contract: Contract) => {
  const recipe = recipes[contract.id]
  assert.ok(recipe, `${contract.id} has no recipe: give it one in test/recipes`)
  return await recipe.ok(scene)
}
const valuesOf = (row: Row | undefined) =>
  Object.fromEntries((row?.changes ?? []).map(({ field, after }) => [field, after]))

/** Files that show no more than the page that they are part of. */
const unrecorded = new Set(['getContactPicture'])

const files = contracts.filter((one) => transferOf(one) === 'download' && !unrecorded.has(one.id))
const lists = contracts.filter(({ csv }) => csv !== undefined)

test('the walk sees exports, documents and lists', () => {
  assert.deepEqual(
    files.map(({ id }) => id).sort(),
    ['exportContacts', 'getDocumentContent', 'readRegistrationDocument'],
    'a contract that answers with a file is audited, or listed here',
  )
  assert.ok(lists.length >= 25, `saw only ${lists.length} lists`)
})

for (const contract of files)
  test(`${contract.id} leaves one audit row that names what was read`, async () => {
    assert.ok(isAudited(contract), 'the contract is not audited')
    const request = await requestOf(contract)
    const [row, ...others] = await added(contract.id, async () => {
      const answer = await send(world, contract, scene.tenant, request)
      assert.equal(answer.status, 200, answer.text)
    })
    assert.deepEqual(others, [])
    assert.equal(row?.actor_kind, contract.auth === 'operator' ? 'operator' : 'api_key')
    assert.equal(row?.account_id, scene.tenant.id)
    assert.ok(row?.targets.length)
  })

for (const contract of lists)
  test(`${contract.id} taken as CSV leaves one audit row, and as JSON none`, async () => {
    const request = await requestOf(contract)
    const take = async (format: string) => {
      const query = { ...request.query, format }
      const answer = await send(world, contract, scene.tenant, { ...request, query })
      assert.equal(answer.status, 200, answer.text)
    }
    const [row, ...others] = await added(contract.id, () => take('csv'))
    assert.deepEqual([row?.account_id, valuesOf(row), others], [scene.tenant.id, { format: 'csv' }, []])
    assert.deepEqual(await added(contract.id, () => take('json')), [])
  })

test('vCards, and lists taken as CSV by the header Accept or by a session, leave rows as well', async () => {
  const [vcards] = await added('exportContacts', () => call(scene.tenant, 'GET', '/open/contacts/export?format=vcf'))
  assert.deepEqual(valuesOf(vcards), { format: 'vcf' })
  const browser = await member(world, scene.tenant, 'owner')
  const [bySession] = await added('listContacts', () => browser.call('GET', '/open/contacts?format=csv'))
  assert.deepEqual([bySession?.actor_kind, typeof bySession?.session_id], ['person', 'string'])
  const operator = await claim(world, 'operator@example.net')
  const [byOperator] = await added('exportContacts', () =>
    operator.call('GET', '/open/contacts/export', undefined, { 'x-account': scene.tenant.uuid }),
  )
  assert.deepEqual([byOperator?.actor_kind, byOperator?.account_id], ['operator_person', scene.tenant.id])
})

/** Codes of 403 that refuse the state of things, and no right of the caller. */
const others = new Set([
  'account_blocked',
  'account_closed',
  'caller_id',
  'destination_not_allowed',
  'emergency',
  'forbidden',
  'https_required',
  'limit_exceeded',
  'not_sandbox_account',
  'number_suspended',
  'number_unproved',
  'opted_out',
  'origin_not_allowed',
  'passkeys_unavailable',
  'phone_number_exists',
  'reauthentication_required',
  'sandbox_behind_proxy',
  'sandbox_number',
  'spend_limit',
  'too_many_calls',
  'too_many_keys',
  'too_many_revocations',
  'user_inactive',
])

test('each code of 403 is known to be about rights, or not', () => {
  const codes = new Set(contracts.flatMap((one) => errorCodesOf(one).forbidden ?? []))
  const unknown = [...codes].filter((code) => !rightsCodes.has(code) && !others.has(code))
  assert.deepEqual(unknown, [], 'add the code to rightsCodes (refused-access.ts), or to the list of this test')
})

const keyWith = async (who: Tenant, body: object): Promise<Tenant> => {
  const made = await call(who, 'POST', '/open/keys', { label: 'limited', ...body })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return { ...who, key: made.body.key }
}
const refused = 'accessRefused'

test('a refused key, session or operator key leaves a row with operation, code and target', async () => {
  const who = await world.tenant()
  const limited = await keyWith(who, { scopes: ['read_only'] })
  const webhook = 'WHK01a1fcca-93ab-7cbc-9f10-be702f775479'
  const [byKey] = await added(refused, () => call(limited, 'DELETE', `/open/webhooks/${webhook}`))
  assert.deepEqual([byKey?.account_id, byKey?.actor_kind, byKey?.actor_label], [who.id, 'api_key', 'limited'])
  assert.deepEqual(byKey?.targets, [webhook])
  const said = { operations: ['deleteWebhook'], error_codes: ['scope_missing'], refusals: 1 }
  assert.deepEqual(valuesOf(byKey), said)

  const elsewhere = await keyWith(who, { allowed_addresses: ['192.0.2.1'] })
  const [byAddress] = await added(refused, () => call(elsewhere, 'GET', '/open/info'))
  assert.deepEqual(valuesOf(byAddress).error_codes, ['address_not_allowed'])

  const developer = await keyWith(who, { scopes: ['develop'] })
  const [byMaker] = await added(refused, () => call(developer, 'POST', '/open/keys', { label: 'x', scopes: ['money'] }))
  assert.deepEqual(valuesOf(byMaker).operations, ['createOwnKey'])

  const browser = await member(world, who, 'agent')
  const [byRole] = await added(refused, () => browser.call('GET', '/open/ledger'))
  assert.deepEqual([byRole?.actor_kind, valuesOf(byRole).error_codes], ['person', ['role']])
  assert.equal(typeof byRole?.session_id, 'string')

  const other = await member(world, who, 'agent')
  const [byOrigin] = await added(refused, () =>
    other.call('PATCH', '/console/me', { name: 'x' }, { origin: 'https://evil.example' }),
  )
  assert.deepEqual([byOrigin?.account_id, valuesOf(byOrigin).error_codes], [who.id, ['csrf']])

  const observer = await call('operator', 'POST', '/operator/keys', { label: 'watching', role: 'observer' })
  const headers = { 'x-operator-key': observer.body.key }
  const [byOperator] = await added(refused, () =>
    app.inject({ method: 'POST', url: `/operator/accounts/${who.uuid}/credit`, headers, payload: { amount: '1' } }),
  )
  assert.deepEqual([byOperator?.actor_kind, byOperator?.actor_label], ['operator', 'watching'])
})

test('the account and the operator find refusals in the audit trail by their action', async () => {
  const who = await world.tenant()
  await call(await keyWith(who, { scopes: ['money'] }), 'GET', '/open/contacts')
  const own = (await call(who, 'GET', `/open/audit?action=${refused}`)).body.acts
  assert.deepEqual([own.length, own[0].actor.label], [1, 'limited'])
  const all = (await call('operator', 'GET', `/operator/audit?action=${refused}&account_uuid=${who.uuid}`)).body.acts
  assert.equal(all.length, 1)
})

test('a caller that is refused 300 times adds two rows with the sum of its refusals', async () => {
  const who = await world.tenant({ requestsPerMinute: 100_000 })
  const limited = await keyWith(who, { scopes: ['money'] })
  const rows = await added(refused, async () => {
    for (let i = 0; i < 3; i++)
      await Promise.all(
        Array.from({ length: 100 }, (_, n) => call(limited, 'GET', n % 2 ? '/open/contacts' : '/open/webhooks')),
      )
    await parts.refusedAccess.flush(true)
  })
  assert.equal(rows.length, 2)
  assert.equal(
    rows.reduce((sum, row) => sum + Number(valuesOf(row).refusals), 0),
    300,
  )
  assert.deepEqual([valuesOf(rows[1]).operations].flat().sort(), ['listContacts', 'listWebhooks'])
})

test('the callers of an account beyond its share add one row together', async () => {
  const who = await world.tenant({ requestsPerMinute: 100_000 })
  const keys: Tenant[] = []
  for (let i = 0; i < maxRefusedCallersOfAccount + 10; i++) keys.push(await keyWith(who, { scopes: ['money'] }))
  const rows = await added(refused, async () => {
    for (const key of keys) await call(key, 'GET', '/open/contacts')
    await parts.refusedAccess.flush(true)
  })
  // The shared row, and what it counted after its first refusal.
  assert.equal(rows.length, maxRefusedCallersOfAccount + 2)
  assert.equal(
    rows.reduce((sum, row) => sum + Number(valuesOf(row).refusals), 0),
    keys.length,
  )
})

test('a wrong key and a refusal for another reason leave no row', async () => {
  const who = await world.tenant()
  const rows = await added(refused, async () => {
    await call({ ...who, key: 'wrong' }, 'GET', '/open/info')
    await call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { blocked: true, block_reason: 'x' })
    assert.equal((await call(who, 'GET', '/open/info')).status, 403)
  })
  assert.deepEqual(rows, [])
})
