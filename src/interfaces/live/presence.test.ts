import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { callAs, member, signIn } from '../../../test/persons.ts'
import { startPlatform, until } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { assemble } from '../../assemble.ts'
import { record } from '../../domains/events/ops.ts'
import { invalidateTopic } from '../../platform/db/invalidation-bus.ts'
import { uuid } from '../../platform/lib/id.ts'
import { startRoles } from '../../start-roles.ts'
import { openPage, upgradeStatus } from './testing.ts'

// Two processes over one database: this one, and a platform of its own.
const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db, parts } = world
const running = await startRoles(
  await assemble({ ...parts, config: { ...parts.config, port: 0, roles: ['api', 'console'] } }),
)
after(running.stop)
const here = `http://127.0.0.1:${running.port}`
const { url: otherUrl } = await startPlatform(temporaryFolder(), {
  ...{ DATABASE_URL: db.url, TRUNKLINE_ROLES: 'api,console', TRUNKLINE_SANDBOX: 'false' },
})

/** Inserts a conversation. @param assignee `USR…` @returns `CNV…` */
const conversation = async (
  { id: account }: Tenant,
  assignee: string | null = null,
  counterpart = `+44${Date.now()}`,
) => {
  const id = uuid()
  await db.run`
    insert into conversations (account_id, id, counterpart, name, status, assignee_id, last_at, last_item, last_kind,
      last_text, created_at)
    values (${account}, ${id}, ${counterpart}, 'Ada', 'open', ${assignee?.slice(3) ?? null}, now(), ${uuid()}, 'sms', '',
      now())`
  return `CNV${id}`
}

const publish = (
  { id: account }: Tenant,
  name: 'conversation.updated' | 'conversation.assigned' | 'sms.message.received',
  payload: object,
) => db.begin((tx) => record(tx, [{ account, name, channel: null, conversation: null, payload: { ...payload } }]))

const agentOf = async (tenant: Tenant) => ({ ...(await member(world, tenant, 'agent')), account: tenant.uuid })

type Page = Awaited<ReturnType<typeof openPage>>

/** The states of the people in the last presence frame. */
const people = (page: Page) =>
  page
    .of('presence')
    .at(-1)
    ?.people.map(({ user_uuid, state }) => `${user_uuid} ${state}`)

test('a colleague sees who views and types, in every process, and that a closed page is gone at once', async () => {
  const tenant = await world.tenant()
  const [mia, max] = [await agentOf(tenant), await agentOf(tenant)]
  const id = await conversation(tenant)
  const topics = [`conversation:${id}`]
  const typist = await openPage(here, mia, topics)
  const [near, far, own] = await Promise.all([
    openPage(here, max, topics),
    openPage(otherUrl, max, topics),
    openPage(otherUrl, mia, topics),
  ])
  await until(async () => [near, far, own].every((page) => people(page)?.length === 0))
  for (const state of ['viewing', 'typing', 'viewing'] as const) {
    typist.send({ type: 'presence', conversation: id, state })
    await until(async () => [near, far].every((page) => people(page)?.join() === `${mia.user} ${state}`))
  }
  assert.equal(near.of('presence').at(-1)?.people[0]?.name, 'Mia agent')
  typist.socket.close()
  await until(async () => [near, far].every((page) => people(page)?.length === 0))
  const seen = far.of('presence').map(({ people: [one] }) => one?.state)
  assert.deepEqual(seen, [undefined, 'viewing', 'typing', 'viewing', undefined])
  // Presence is for others: the same person in another tab sees none, and the log has no trace.
  assert.equal(own.of('presence').length, 1)
  assert.deepEqual(
    await db.many`select name from events where account_id = ${tenant.id} and name not like 'conversation.%' and name not like 'member.%'`,
    [],
  )
})

test('a presence ends when the page does not repeat it, and leaves the conversation that the page leaves', async () => {
  const tenant = await world.tenant()
  const [mia, max] = [await agentOf(tenant), await agentOf(tenant)]
  const [first, second] = [await conversation(tenant, null, '+441'), await conversation(tenant, null, '+442')]
  const topics = [`conversation:${first}`, `conversation:${second}`]
  const [page, other] = [await openPage(here, mia, topics), await openPage(here, max, topics)]
  const last = (id: string) => other.of('presence').findLast((frame) => frame.conversation === id)?.people.length
  page.send({ type: 'presence', conversation: first, state: 'viewing' })
  await until(async () => last(first) === 1)
  await db.run`update presences set until = clock_timestamp() where account_id = ${tenant.id}`
  await until(async () => last(first) === 0)
  page.send({ type: 'presence', conversation: first, state: 'typing' })
  await until(async () => last(first) === 1)
  page.send({ type: 'presence', conversation: second, state: 'viewing' })
  await until(async () => last(first) === 0 && last(second) === 1)
  page.send({ type: 'subscribe', account: tenant.uuid, topics: ['inbox'] })
  await until(async () => last(second) === 0)
})

test('a conversation of another account is refused as a missing one, and its presence is not taken', async () => {
  const [tenant, foreign] = [await world.tenant(), await world.tenant()]
  const [mia, spy] = [await agentOf(tenant), await agentOf(foreign)]
  const id = await conversation(tenant)
  const page = await openPage(here, spy, [`conversation:${id}`, `conversation:CNV${uuid()}`])
  await until(async () => page.of('refused').length === 2)
  assert.deepEqual(
    page.of('refused').map(({ error_code, error_message }) => [error_code, error_message.replace(/CNV.*/, '')]),
    Array.from({ length: 2 }, () => ['not_found', 'There is no conversation ']),
  )
  const watcher = await openPage(here, mia, [`conversation:${id}`])
  page.send({ type: 'presence', conversation: id, state: 'typing' })
  page.send({ type: 'ping' })
  await until(async () => page.of('head').length > 0)
  assert.deepEqual(await db.many`select from presences where user_id = ${spy.user.slice(3)}`, [])
  assert.deepEqual(people(watcher) ?? [], [])
})

test('agents who see only their own conversations get the events, presence and counts of these alone', async () => {
  const tenant = await world.tenant()
  const [mia, max] = [await agentOf(tenant), await agentOf(tenant)]
  const [own, foreign] = [await conversation(tenant, mia.user, '+441'), await conversation(tenant, max.user, '+442')]
  await conversation(tenant, null, '+443')
  const topics = ['inbox', `conversation:${own}`, `conversation:${foreign}`]
  const page = await openPage(here, mia, topics)
  assert.equal(page.of('subscribed')[0]?.topics.length, 3)
  await until(async () => page.of('counts').at(-1)?.views.open?.n === 3)
  await db.begin(async (tx) => {
    await tx.run`update accounts set agents_see_all = false where id = ${tenant.id}`
    await invalidateTopic(tx, 'accounts')
  })
  await until(async () => page.of('subscribed').at(-1)?.topics.length === 2)
  assert.equal(page.of('refused').at(-1)?.topic, `conversation:${foreign}`)
  await publish(tenant, 'sms.message.received', { from_number: '+442', text: 'for Max' })
  await publish(tenant, 'conversation.updated', { uuid: foreign, version: 2, assignee_uuid: max.user, name: 'Max’s' })
  await publish(tenant, 'sms.message.received', { from_number: '+441', text: 'for Mia' })
  await publish(tenant, 'conversation.updated', { uuid: own, version: 2, assignee_uuid: mia.user, name: 'Mia’s' })
  await until(async () => page.of('event').length === 3)
  assert.deepEqual(
    page.of('event').map(({ data }) => data.text ?? data.name ?? Object.keys(data).sort().join()),
    ['assignee_uuid,event,uuid,version', 'for Mia', 'Mia’s'],
  )
  await until(async () => page.of('counts').at(-1)?.views.open?.n === 2)
  assert.equal(page.of('counts').at(-1)?.views.closed, undefined)
  // Its own conversation goes to a colleague.
  await db.run`update conversations set assignee_id = ${max.user.slice(3)} where id = ${own.slice(3)}`
  await publish(tenant, 'conversation.assigned', { uuid: own, version: 3, assignee_uuid: max.user })
  await until(async () => page.of('subscribed').at(-1)?.topics.join() === 'inbox')
})

test('counts come with the subscription and after a change, and not again without one', async () => {
  const tenant = await world.tenant()
  const mia = await agentOf(tenant)
  const id = await conversation(tenant, mia.user)
  const page = await openPage(otherUrl, mia, ['inbox'])
  await until(async () => page.of('counts').length === 1)
  const { open, mine, unassigned, closed } = page.of('counts')[0]?.views ?? {}
  assert.deepEqual(
    [open, mine, unassigned, closed].map((one) => one?.n),
    [1, 1, 0, 0],
  )
  // An event without a change of the numbers.
  await publish(tenant, 'conversation.updated', { uuid: id, version: 2 })
  await db.run`update conversations set status = 'closed', closed_at = now() where id = ${id.slice(3)}`
  await publish(tenant, 'conversation.updated', { uuid: id, version: 3 })
  await until(async () => page.of('counts').at(-1)?.views.closed?.n === 1)
  assert.ok(page.of('counts').length <= 2)
})

test('an operator who follows the texts of an account is recorded once for each page', async () => {
  const tenant = await world.tenant()
  const { cookie } = await signIn(world, { key: world.operatorKey })
  const page = await openPage(here, { cookie, account: tenant.uuid }, ['calls'])
  const rows = () => db.many<{ label: string }>`
    select actor_label as label from audit where account_id = ${tenant.id} and action = 'followInbox'`
  assert.deepEqual(await rows(), [])
  for (const count of [2, 3]) {
    page.send({ type: 'subscribe', account: tenant.uuid, topics: ['inbox'] })
    await until(async () => page.of('subscribed').length === count)
  }
  assert.equal((await rows()).length, 1)
})

test('a session of a key that expired, or is used from elsewhere, is refused by the console and the feed', async () => {
  const tenant = await world.tenant()
  const { cookie } = await signIn(world, { key: tenant.key })
  const read = async () => (await callAs(world, cookie, 'GET', '/console/session')).body.error_code
  assert.equal(await read(), undefined)
  for (const [change, code] of [
    [{ expires: new Date(0), addresses: null }, 'key_expired'],
    [{ expires: null, addresses: ['192.0.2.1'] }, 'address_not_allowed'],
  ] as const) {
    await db.begin(async (tx) => {
      await tx.run`
        update api_keys set expires_at = ${change.expires}, allowed_addresses = ${change.addresses}::text[]
        where account_id = ${tenant.id}`
      await invalidateTopic(tx, 'accounts')
    })
    await until(async () => (await read()) === code)
    assert.equal(await upgradeStatus(here, cookie), code === 'key_expired' ? 401 : 403)
  }
})
