import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import type { Capability } from '../src/platform/http/capability.ts'
import { capabilities } from '../src/platform/http/capability.ts'
import type { Contract } from '../src/platform/http/endpoint.ts'
import { type Role, roleCapabilities, roles } from '../src/platform/http/role.ts'
import { type Browser, callAs, claim, member } from './persons.ts'
import { recipes } from './recipes/all.ts'
import type { Request } from './recipes/recipe.ts'
import { makeRecipeWorld, makeScene, type Scene } from './recipes/scene.ts'
import { nodeOf } from './recipes/schema.ts'
import { send } from './recipes/send.ts'

// Every contract × roles, by sessions; and cross-site requests to every contract that changes something.

const world = await makeRecipeWorld()
const scene = await makeScene(world, 'sessions')
const other = await world.tenant()
const operator = await claim(world, 'olive@example.com')
const stranger = await member(world, other, 'owner')
const browsers = new Map<Role, Browser>()
for (const role of roles) browsers.set(role, await member(world, scene.tenant, role))

const allowed = (role: Role, needs: Capability, orNeeds = needs): boolean => {
  const own = roleCapabilities[role] ?? capabilities
  return own.includes(needs) || own.includes(orNeeds)
}

const cookieOfRole = (role: Role): string => browsers.get(role)?.cookie ?? assert.fail(role)

const anyAddress = ({ url }: Pick<Contract, 'url'>): string => url.replace(/:\w+/g, 'x')

/** Endpoints of things that only their author sees: the owner makes them, and not a key. */
const ownThings = new Set(['changeReply', 'deleteReply', 'changeView', 'deleteView', 'orderViews'])
const ownScene: Scene = {
  ...scene,
  world: { ...world, call: (_, method, url, body) => callAs(world, cookieOfRole('owner'), method, url, body) },
}

const ofAccounts = contracts.filter((contract) => contract.auth === 'account')

test('the roles have the capabilities of the documentation', () => {
  const table = roles.map((role) => `${role}: ${(roleCapabilities[role] ?? ['all']).join(' ')}`)
  assert.deepEqual(table, [
    'owner: all',
    'admin: inbox inbox.all team_settings numbers read_only develop money people',
    'agent: inbox inbox.all',
    'developer: read_only develop',
    'billing: read_only money',
  ])
  assert.ok(ofAccounts.length >= 100, `saw only ${ofAccounts.length} endpoints`)
})

for (const contract of ofAccounts) {
  const { id, needs, orNeeds } = contract
  test(`${id} is answered to a role with ${needs}, and refused to other roles and to an owner of another account`, async () => {
    const recipe = recipes[id] ?? assert.fail(`${id} has no recipe`)
    const { cookie: own = cookieOfRole('owner'), ...request } = await recipe.ok(ownThings.has(id) ? ownScene : scene)
    const ask = (cookie: string, headers = {}) =>
      send(world, contract, scene.tenant, request, {
        key: null,
        headers: { cookie, 'x-trunkline-console': '1', ...headers },
      })
    for (const role of roles.filter((role) => !allowed(role, needs, orNeeds))) {
      const refused = await ask(cookieOfRole(role))
      assert.equal(refused.status, 403, `${role}: ${refused.text}`)
      assert.equal(Object(refused.body).error_code, 'role', role)
    }
    const [foreign, missing] = [
      await ask(stranger.cookie, { 'x-account': scene.tenant.uuid }),
      await ask(stranger.cookie, { 'x-account': 'ACC01a1fcca-93ab-7cbc-9f10-be702f775479' }),
    ]
    assert.equal(foreign.status, 403, foreign.text)
    assert.deepEqual({ ...Object(foreign.body), request_id: '' }, { ...Object(missing.body), request_id: '' })
    const answer = await ask(own)
    assert.equal(answer.status, contract.status, answer.text)
  })
}

test('an agent acts for no colleague, and changes nothing of one: tokens, availability, views, replies, notes', async () => {
  const colleague = await member(world, scene.tenant, 'owner')
  const naming = ofAccounts.filter(
    ({ method, needs, body, params }) =>
      method !== 'GET' &&
      allowed('agent', needs) &&
      [body, params].some((part) => 'user_uuid' in (nodeOf(part).properties ?? {})),
  )
  assert.deepEqual(naming.map(({ id }) => id).sort(), ['mintToken', 'revokeTokens', 'setAvailability'])
  const ask = (contract: Contract, request: Request, role: Role) =>
    send(world, contract, scene.tenant, { ...request, cookie: cookieOfRole(role) })
  for (const contract of naming) {
    const { token: _, ...given } = Object((await recipes[contract.id]?.ok(scene))?.body)
    const request = { body: { ...given, user_uuid: colleague.user } }
    const refused = await ask(contract, request, 'agent')
    assert.deepEqual([refused.status, Object(refused.body).error_code], [403, 'role'], contract.id)
    assert.equal((await ask(contract, request, 'admin')).status, contract.status, contract.id)
  }
  const things = [...ownThings, 'changeNote', 'deleteNote', 'undoBulkChange']
  for (const contract of ofAccounts.filter(({ id }) => things.includes(id))) {
    const { cookie: _, ...request } = (await recipes[contract.id]?.ok(ownScene)) ?? assert.fail(contract.id)
    const { status, text } = await ask(contract, request, 'agent')
    assert.ok(status === 403 || status === 404, `${contract.id}: ${text}`)
  }
})

test('a person without rights in the installation is refused by every operator’s endpoint', async () => {
  for (const contract of contracts.filter(({ auth }) => auth === 'operator')) {
    const url = anyAddress(contract)
    const answer = await callAs(world, cookieOfRole('owner'), contract.method, url)
    assert.deepEqual([answer.status, answer.body.error_code], [403, 'role'], contract.id)
  }
})

test('cross-site requests with a session are refused by every endpoint that changes something', async () => {
  const changing = contracts.filter(
    ({ auth, method }) => method !== 'GET' && (auth === 'account' || auth === 'operator' || auth === 'session'),
  )
  assert.ok(changing.length >= 90, `saw only ${changing.length} endpoints`)
  // The refusals themselves are recorded: test/access-audit.test.ts.
  const countActs = async () =>
    await world.db.one`select count(*)::integer as n from audit where action <> 'accessRefused'`
  const before = await countActs()
  const attacks: Record<string, Record<string, string>> = {
    'without the header': { 'x-trunkline-console': '' },
    'with a foreign origin': { origin: 'https://elsewhere.example' },
    'with an opaque origin': { origin: 'null' },
    'with the origin of another port': { origin: 'http://localhost:81' },
    'from a cross-site form': { 'sec-fetch-site': 'cross-site', 'x-trunkline-console': '' },
    'from a page of the same site': { 'sec-fetch-site': 'same-site' },
  }
  for (const contract of changing)
    for (const [name, headers] of Object.entries(attacks)) {
      const url = anyAddress(contract)
      const answer = await callAs(world, operator.cookie, contract.method, url, undefined, headers)
      assert.deepEqual([answer.status, answer.body.error_code], [403, 'csrf'], `${contract.id} ${name}`)
    }
  assert.deepEqual(await countActs(), before)
})

test('requests with the own origin are answered', async () => {
  const headers = { origin: 'http://localhost:8080', host: 'localhost:8080', 'sec-fetch-site': 'same-origin' }
  const answer = await callAs(world, operator.cookie, 'PATCH', '/console/me', { name: 'Olive' }, headers)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
})

test('a sign-in from a page of another origin is refused', async () => {
  const headers = { origin: 'https://elsewhere.example' }
  const answer = await callAs(world, null, 'POST', '/console/session', { key: scene.tenant.key }, headers)
  assert.deepEqual([answer.status, answer.body.error_code], [403, 'csrf'])
})

test('every change by a session is in the audit trail with its person, and no text of a message is', async () => {
  const rows = await world.db.many<{ action: string; actor_kind: string; session_id: string | null; changes: string }>`
    select action, actor_kind, session_id, changes::text as changes from audit
    where account_id = ${scene.tenant.id} and session_id is not null and actor_kind = 'person'`
  const recorded = new Set(rows.map(({ action }) => action))
  const missing = ofAccounts.filter(
    ({ id, method, unrecorded }) => method !== 'GET' && unrecorded !== true && !recorded.has(id),
  )
  assert.deepEqual(
    missing.map(({ id }) => id),
    [],
  )
  for (const action of ['sendSms', 'sendMessage']) {
    const row = rows.find((one) => one.action === action)
    assert.match(row?.changes ?? '', /"field": "text", *"after": "•••"|"after": "•••", "field": "text"/, action)
  }
})
