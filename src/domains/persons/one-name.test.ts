import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accept, type Browser, claim, member, signIn } from '../../../test/persons.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'

const world = await makeWorld()
const { call } = world

type Account = { uuid: string; user_name?: string }
type Act = { action: string; actor: { uuid?: string; label?: string; name?: string } }

const nameIn = (rows: { uuid: string; first_name: string; last_name: string }[], user: string) => {
  const row = rows.find(({ uuid }) => uuid === user) ?? assert.fail('the user is not listed')
  return `${row.first_name} ${row.last_name}`.trim()
}

/** The names under which each place of an account shows a member. The member has made a key. */
const shownNames = async (tenant: Tenant, browser: Browser, user: string) => {
  const headers = { 'x-account': tenant.uuid }
  const boot = (await browser.call('GET', '/console/session')).body
  const users = (await call(tenant, 'GET', '/open/users')).body.data.users
  const listed = (await call('operator', 'GET', `/operator/accounts/${tenant.uuid}/users`)).body.users
  const members = (await call(tenant, 'GET', '/open/members')).body.members
  const team = (await call(tenant, 'GET', '/open/team')).body.members
  const keys = (await call(tenant, 'GET', '/open/keys')).body.keys
  // An act, so that the newest entry of the trail has the present name.
  await browser.call('PATCH', '/open/account', { name: `Name ${Math.random()}` }, headers)
  const acts: Act[] = (await call(tenant, 'GET', `/open/audit?actor=${user}`)).body.acts
  return {
    session: boot.accounts.find(({ uuid }: Account) => uuid === tenant.uuid).user_name,
    users: nameIn(users, user),
    listed: nameIn(listed, user),
    members: nameIn(members, user),
    person: members.find(({ uuid }: Account) => uuid === user).person.name,
    team: team.find(({ user_uuid }: { user_uuid: string }) => user_uuid === user).name,
    key: keys.find(({ created_by }: { created_by?: object }) => created_by)?.created_by.name,
    acts: [...new Set(acts.map(({ actor }) => actor.name ?? actor.label))].join(', '),
    newest: acts[0]?.actor.label,
  }
}

const everywhere = (name: string) => ({
  ...{ session: name, users: name, listed: name, members: name, person: name, team: name, key: name },
  ...{ acts: name, newest: name },
})

/** A member with a key. */
const makeMember = async (tenant: Tenant) => {
  const made = await member(world, tenant, 'owner')
  const key = await made.call('POST', '/open/keys', { label: 'made in the console' }, { 'x-account': tenant.uuid })
  assert.equal(key.status, 201, JSON.stringify(key.body))
  return made
}

const personName = async (browser: Browser): Promise<string> =>
  (await browser.call('GET', '/console/session')).body.person.name

test('a name that a client gives a user is that of the person everywhere', async () => {
  const tenant = await world.tenant()
  const mia = await makeMember(tenant)
  const names = { first_name: 'Ana María', last_name: 'Gil' }
  assert.equal((await call(tenant, 'PATCH', `/open/members/${mia.user}`, names)).status, 200)
  assert.deepEqual(await shownNames(tenant, mia, mia.user), everywhere('Ana María Gil'))
  assert.equal(await personName(mia), 'Ana María Gil')
  const byOperator = await call('operator', 'PATCH', `/operator/users/${mia.user}`, { last_name: 'Gil Ruiz' })
  assert.equal(byOperator.status, 200)
  assert.deepEqual(await shownNames(tenant, mia, mia.user), everywhere('Ana María Gil Ruiz'))
  assert.equal(await personName(mia), 'Ana María Gil Ruiz')
})

test('a name that a person gives herself is that of her users, with the field that it still has', async () => {
  const tenant = await world.tenant()
  const mia = await makeMember(tenant)
  await call(tenant, 'PATCH', `/open/members/${mia.user}`, { first_name: 'Ana María', last_name: 'Gil' })
  for (const [given, first, last] of [
    ['  Ana María   Ruiz ', 'Ana María', 'Ruiz'],
    ['Eva Luz Ruiz', 'Eva Luz', 'Ruiz'],
    ['Grace Brewster Hopper', 'Grace', 'Brewster Hopper'],
    ['Cher', 'Cher', ''],
  ] as const) {
    assert.equal((await mia.call('PATCH', '/console/me', { name: given })).status, 200)
    const { users } = (await call(tenant, 'GET', '/open/users')).body.data
    const user = users.find(({ uuid }: Account) => uuid === mia.user)
    assert.deepEqual([user.first_name, user.last_name], [first, last])
    assert.deepEqual(await shownNames(tenant, mia, mia.user), everywhere(`${first} ${last}`.trim()))
  }
  const { events } = (await call(tenant, 'GET', '/open/events?name=member.changed')).body
  assert.match(JSON.stringify(events[0]), /"Cher"/)
})

test('the first person has one name too, also where the first account knew the address', async () => {
  const tenant = await world.tenant()
  await world.db.run`
    insert into installation_state (name, value) values ('first-account', ${{ account: tenant.id }})
    on conflict (name) do update set value = excluded.value`
  const email = 'olive.first@example.com'
  const body = { first_name: 'O.', last_name: 'Operator', email }
  const { user } = (await call('operator', 'POST', `/operator/accounts/${tenant.uuid}/users`, body)).body
  const olive = await claim(world, email, 'Olive  Operator')
  const { users } = (await call(tenant, 'GET', '/open/users')).body.data
  assert.equal(nameIn(users, user.uuid), 'Olive Operator')
  assert.equal(await personName(olive), 'Olive Operator')
})

test('an account names the users of its own, and no person of another account', async () => {
  const [first, second] = [await world.tenant(), await world.tenant()]
  const mia = await makeMember(first)
  const body = { first_name: 'M.', last_name: 'A.', email: mia.email, role: 'owner' }
  const { invite_url, member: joined } = (await call(second, 'POST', '/open/members', body)).body
  await accept(world, invite_url)
  const both = await signIn(world, { email: mia.email, password: 'seven green boats sail' })
  const members = async (tenant: Tenant, user: string) =>
    nameIn((await call(tenant, 'GET', '/open/members')).body.members, user)
  assert.equal(await members(second, joined.uuid), 'Mia owner', 'the person who joined has her own name')

  await call(second, 'PATCH', `/open/members/${joined.uuid}`, { first_name: 'Boss', last_name: 'of First' })
  assert.equal(await members(second, joined.uuid), 'Boss of First')
  assert.deepEqual(await shownNames(first, both, mia.user), everywhere('Mia owner'))
  assert.equal(await personName(both), 'Mia owner')

  assert.equal((await both.call('PATCH', '/console/me', { name: 'Mia Both' })).status, 200)
  assert.deepEqual(await shownNames(first, both, mia.user), everywhere('Mia Both'))
  assert.equal(await members(second, joined.uuid), 'Mia Both')
})

test('a change that keeps the name changes no field of a user', async () => {
  const tenant = await world.tenant()
  const mia = await makeMember(tenant)
  await call(tenant, 'PATCH', `/open/members/${mia.user}`, { first_name: 'Ana María', last_name: 'Gil' })
  assert.equal((await mia.call('PATCH', '/console/me', { name: 'Ana María Gil', timezone: 'UTC' })).status, 200)
  const { users } = (await call(tenant, 'GET', '/open/users')).body.data
  assert.equal(users.find(({ uuid }: Account) => uuid === mia.user).first_name, 'Ana María')
})
