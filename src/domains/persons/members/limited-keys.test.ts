import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accept, type Browser, goodPassword, member, signIn } from '../../../../test/persons.ts'
import { type Answer, makeWorld, type Tenant } from '../../../../test/world.ts'

const world = await makeWorld()
const { call } = world
const later = '2099-01-01T00:00:00Z'
const home = ['127.0.0.0/8']

/** Makes a key as the operator. */
const keyWith = async (owner: Tenant, limits: object): Promise<Tenant> => {
  const created = await call('operator', 'POST', `/operator/accounts/${owner.uuid}/keys`, {
    label: 'limited',
    ...limits,
  })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return { ...owner, key: created.body.key }
}

type Call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, body?: object) => Promise<Answer>

/** The ways to use a key: in a header, and by a session that it opens. */
const waysOf = async (key: Tenant): Promise<readonly Call[]> => {
  const browser = await signIn(world, { key: key.key })
  return [(method, url, body) => call(key, method, url, body), (method, url, body) => browser.call(method, url, body)]
}

const codeOf = ({ status, body }: Answer) => [status, body.error_code]

let people = 0
const person = (role: string) => ({
  first_name: 'Mia',
  last_name: role,
  email: `limited.${++people}@example.com`,
  role,
})

const limited = {
  'an end': { expires_at: later },
  addresses: { allowed_addresses: home },
  'all scopes of today': {
    scopes: ['inbox', 'inbox.all', 'team_settings', 'numbers', 'read_only', 'develop', 'money', 'people', 'account'],
  },
}

for (const [name, limits] of Object.entries(limited))
  test(`a key with ${name} makes no person, no link and no stronger member, also by its session`, async () => {
    const ada = await world.tenant()
    const [admin, agent] = [await member(world, ada, 'admin'), await member(world, ada, 'agent')]
    const key = await keyWith(ada, limits)
    for (const ask of await waysOf(key)) {
      const member = (body: object) => ask('PATCH', `/open/members/${agent.user}`, body)
      for (const role of ['owner', 'agent', 'billing'])
        assert.deepEqual(codeOf(await ask('POST', '/open/members', person(role))), [403, 'key_limited'], role)
      const link = await ask('POST', `/open/members/${admin.user}/invitation`)
      assert.deepEqual(codeOf(link), [403, 'key_limited'])
      assert.ok(link.body.error_message.includes(Object.keys(limits)[0]), link.body.error_message)
      assert.deepEqual(codeOf(await member({ role: 'admin' })), [403, 'key_limited'])

      // What takes rights away stays possible, and cannot be undone by the key.
      assert.equal((await ask('GET', '/open/members')).status, 200)
      assert.equal((await member({ status: 'SUSPENDED', first_name: 'Mo' })).status, 200)
      assert.deepEqual(codeOf(await member({ status: 'ACTIVE' })), [403, 'key_limited'])
      assert.equal((await call(ada, 'PATCH', `/open/members/${agent.user}`, { status: 'ACTIVE' })).status, 200)
    }
  })

test('a key of people and the rights of a role makes no member of that role', async () => {
  const ada = await world.tenant()
  const billing = await member(world, ada, 'billing')
  const agent = await member(world, ada, 'agent')
  for (const ask of await waysOf(await keyWith(ada, { scopes: ['people', 'read_only', 'money'] }))) {
    assert.deepEqual(codeOf(await ask('POST', '/open/members', person('billing'))), [403, 'key_limited'])
    assert.deepEqual(codeOf(await ask('POST', `/open/members/${billing.user}/invitation`)), [403, 'key_limited'])
    assert.deepEqual(codeOf(await ask('PATCH', `/open/members/${agent.user}`, { status: 'SUSPENDED' })), [403, 'role'])
    assert.equal((await ask('PATCH', `/open/members/${billing.user}`, { status: 'SUSPENDED' })).status, 200)
    await call(ada, 'PATCH', `/open/members/${billing.user}`, { status: 'ACTIVE' })
  }
})

test('a key without limits and a person with people make people and links, within their rights', async () => {
  const ada = await world.tenant()
  const owner = await accept(world, (await call(ada, 'POST', '/open/members', person('owner'))).body.invite_url)
  const admin = await member(world, ada, 'admin')
  const restore = async (by: Browser, user: string, role: string) => {
    assert.equal((await owner.call('PATCH', `/open/members/${user}`, { status: 'SUSPENDED' })).status, 200)
    return codeOf(await by.call('PATCH', `/open/members/${user}`, { status: 'ACTIVE', role }))
  }
  for (const [by, role, status] of [
    [owner, 'owner', 201],
    [admin, 'admin', 201],
    [admin, 'owner', 403],
  ] as const) {
    const created = await by.call('POST', '/open/members', person(role))
    assert.equal(created.status, status, JSON.stringify(created.body))
  }
  const [other, agent] = [await member(world, ada, 'owner'), await member(world, ada, 'agent')]
  assert.deepEqual(await restore(admin, agent.user, 'admin'), [200, undefined])
  assert.deepEqual(await restore(admin, other.user, 'agent'), [403, 'role'], 'an administrator restores no owner')
  assert.equal((await admin.call('POST', `/open/members/${agent.user}/invitation`)).status, 201)
})

test('a key that a session of a limited key makes has the end, the addresses and the scopes of that key', async () => {
  const ada = await world.tenant()
  const limits = { scopes: ['develop', 'inbox'], expires_at: later, allowed_addresses: home }
  for (const ask of await waysOf(await keyWith(ada, limits))) {
    const plain = await ask('POST', '/open/keys', { label: 'same' })
    assert.partialDeepStrictEqual(plain.body, limits)
    for (const more of [
      { scopes: ['money'] },
      { expires_at: '2099-01-01T00:00:01Z' },
      { allowed_addresses: ['10.0.0.1'] },
    ])
      assert.deepEqual(
        codeOf(await ask('POST', '/open/keys', { label: 'more', ...more })),
        [403, 'exceeds_own_key'],
        JSON.stringify(more),
      )
  }
})

test('a session of a key is refused from other addresses, and once the key has ended', async () => {
  const ada = await world.tenant()
  const created = await call(ada, 'POST', '/open/keys', { label: 'home', allowed_addresses: home })
  const browser = await signIn(world, { key: created.body.key })
  const from = async (remoteAddress: string, url: string) => {
    const headers = { cookie: browser.cookie, 'x-trunkline-console': '1' }
    return (await world.app.inject({ method: 'GET', url, remoteAddress, headers })).json().error_code
  }
  for (const url of ['/open/info', '/console/session', '/console/sessions']) {
    assert.equal(await from('127.0.0.1', url), undefined, url)
    assert.equal(await from('::1', url), 'address_not_allowed', url)
  }
  const id = String(created.body.uuid).slice(3)
  await world.db.begin(async (tx) => {
    await tx.run`update api_keys set expires_at = clock_timestamp() - interval '1 second' where id = ${id}`
    await world.parts.changes.invalidate(tx, 'accounts')
  })
  for (const url of ['/open/info', '/console/session', '/console/sessions'])
    assert.equal(await from('127.0.0.1', url), 'key_expired', url)
})

test('no account makes a link for a member who operates the installation or belongs to another account', async () => {
  const [ada, bob] = [await world.tenant(), await world.tenant()]
  const [owner, agent] = [await member(world, ada, 'owner'), await member(world, ada, 'agent')]
  const links = () => world.db.many`select id from invitations where used_at is null order by id`
  const ask = () => owner.call('POST', `/open/members/${agent.user}/invitation`)
  const operate = async (operator: 'observer' | 'operator' | null) => {
    const changed = await call('operator', 'PATCH', `/operator/persons/${agent.boot.person.uuid}`, { operator })
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
  }
  for (const role of ['observer', 'operator'] as const) {
    await operate(role)
    const before = await links()
    assert.deepEqual(codeOf(await ask()), [409, 'operator_needed'], role)
    assert.deepEqual(await links(), before)
  }
  await operate(null)
  assert.equal((await ask()).status, 201)
  const [invited] = await world.db.many<{ id: string }>`
    insert into users (account_id, id, first_name, last_name, email, status, person_id, role)
    values (${bob.id}, gen_random_uuid(), 'Mia', 'agent', ${agent.email}, 'ACTIVE', ${agent.boot.person.uuid.slice(3)}, 'agent')
    returning id`
  assert.deepEqual(codeOf(await ask()), [409, 'operator_needed'])
  await world.db.run`update users set status = 'DELETED' where account_id = ${bob.id} and id = ${invited?.id ?? ''}`
  assert.equal((await ask()).status, 201, 'a former member of another account')
})

test('a session whose proof is old invites no one, changes no member, and does both after a new proof', async () => {
  const ada = await world.tenant()
  const [owner, agent] = [await member(world, ada, 'owner'), await member(world, ada, 'agent')]
  const acts = [
    () => owner.call('POST', '/open/members', person('admin')),
    () => owner.call('PATCH', `/open/members/${agent.user}`, { role: 'admin' }),
  ]
  await world.db.begin(async (tx) => {
    await tx.run`update sessions set proved_at = clock_timestamp() - interval '16 minutes'`
    await world.parts.changes.invalidate(tx, 'sessions')
  })
  for (const act of acts) assert.deepEqual(codeOf(await act()), [403, 'reauthentication_required'])
  assert.equal((await owner.call('POST', '/console/session/proof', { password: goodPassword })).status, 200)
  for (const act of acts) assert.ok((await act()).status < 300)
})
