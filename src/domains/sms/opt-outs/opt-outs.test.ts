import assert from 'node:assert/strict'
import { test } from 'node:test'
import { member } from '../../../../test/persons.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { makeInboundReceiver } from '../inbound/inbound-receiver.ts'
import { contact, giveNumber, setPrices } from '../sms-testing.ts'

const world = await makeWorld()
const { call, db, parts, tenant } = world
await setPrices(world)
const inbound = makeInboundReceiver(db, parts)
const connection = uuid()
const other = '+447911999999'
const path = '/open/sms/opt-outs'

const hears = (number: string, text: string, from = contact) =>
  inbound.add({ connection, source: from, destination: number, text, concat: null, link: 'a' })

const send = async (who: Tenant, from: string, to = contact, more: object = {}) => {
  const body = { from_number: from, to_number: to, text: 'hello', ...more }
  const answer = await call(who, 'POST', '/open/sms/send', body)
  return answer.body.error_code ?? answer.status
}

const add = async (who: Tenant, body: object) => {
  const answer = await call(who, 'POST', path, body)
  assert.ok([200, 201].includes(answer.status), JSON.stringify(answer.body))
  return { status: answer.status, ...answer.body.opt_out }
}

const list = async (who: Tenant, query = '') => {
  const answer = await call(who, 'GET', `${path}${query}`)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const keyWith = async (who: Tenant, scopes: readonly string[]): Promise<Tenant> => {
  const made = await call('operator', 'POST', `/operator/accounts/${who.uuid}/keys`, { label: 'limited', scopes })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return { ...who, key: made.body.key }
}

test('an opt-out from all numbers refuses messages of each number, until it is removed', async () => {
  const who = await tenant()
  const [first, second] = [await giveNumber(world, who), await giveNumber(world, who)]
  const added = await add(who, { contact_number: contact, note: ' Asked by telephone ' })
  assert.deepEqual(
    [added.status, added.channel, added.contact_number, 'phone_number' in added, added.reason, added.note],
    [201, 'sms', contact, false, 'manual', 'Asked by telephone'],
  )
  const sendAt = { send_at: new Date(Date.now() + 600_000).toISOString() }
  for (const { number } of [first, second])
    assert.deepEqual([await send(who, number), await send(who, number, contact, sendAt)], ['opted_out', 'opted_out'])
  assert.equal(await send(who, first.number, other), 202)
  assert.equal((await call(who, 'DELETE', `${path}/${added.uuid}`)).status, 200)
  assert.deepEqual([await send(who, first.number), await send(who, second.number)], [202, 202])
  assert.equal((await call(who, 'DELETE', `${path}/${added.uuid}`)).status, 404)
})

test('an opt-out of one number leaves the others, and removing it leaves that of another number', async () => {
  const who = await tenant()
  const [first, second, third] = [
    await giveNumber(world, who),
    await giveNumber(world, who),
    await giveNumber(world, who),
  ]
  const added = await add(who, { contact_number: contact, phone_number: first.number, reason: 'complaint' })
  assert.deepEqual([added.phone_number, added.reason], [first.number, 'complaint'])
  await hears(second.number, 'Stop.')
  const each = async () => [
    await send(who, first.number),
    await send(who, second.number),
    await send(who, third.number),
  ]
  assert.deepEqual(await each(), ['opted_out', 'opted_out', 202])
  await call(who, 'DELETE', `${path}/${added.uuid}`)
  assert.deepEqual(await each(), [202, 'opted_out', 202])
})

test('an opt-out that exists is answered 200 as it is, and its word is that of the contact', async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  await hears(number, 'Stop all!')
  const again = await add(who, { contact_number: contact, phone_number: number, reason: 'complaint', note: 'again' })
  assert.deepEqual([again.status, again.reason, again.keyword, 'note' in again], [200, 'keyword', 'STOP ALL', false])
  const all = await add(who, { contact_number: contact.slice(1), note: 'first' })
  const repeated = await add(who, { contact_number: contact, note: 'second' })
  assert.deepEqual({ ...repeated, status: 201 }, all)
  assert.equal((await list(who)).count, 2)
})

test('START lifts the opt-out of the number that it is sent to, whatever its reason, and none of all numbers', async () => {
  const who = await tenant()
  const [first, second] = [await giveNumber(world, who), await giveNumber(world, who)]
  await add(who, { contact_number: contact, phone_number: first.number })
  await add(who, { contact_number: contact, phone_number: second.number })
  await hears(first.number, 'START')
  assert.deepEqual([await send(who, first.number), await send(who, second.number)], [202, 'opted_out'])
  await add(who, { contact_number: contact })
  await hears(first.number, 'START')
  assert.equal(await send(who, first.number), 'opted_out')
})

test('the list is filtered by contact, number, reason and time, and paged by cursor, newest first', async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  await hears(number, 'STOP')
  await add(who, { contact_number: contact })
  await add(who, { contact_number: other, reason: 'complaint' })
  const contacts = async (query: string) =>
    (await list(who, query)).opt_outs.map((one: { contact_number: string; reason: string }) => one.reason)
  assert.deepEqual(await contacts(''), ['complaint', 'manual', 'keyword'])
  assert.deepEqual(await contacts(`?contact_number=${encodeURIComponent(contact)}`), ['manual', 'keyword'])
  assert.deepEqual(await contacts(`?contact_number=${contact.slice(1)}&reason=keyword`), ['keyword'])
  assert.deepEqual(await contacts(`?phone_number=${number.slice(1)}`), ['complaint', 'manual', 'keyword'])
  assert.deepEqual(await contacts('?phone_number=447700900999'), ['complaint', 'manual'])
  assert.deepEqual(await contacts('?reason=complaint'), ['complaint'])
  assert.deepEqual(await contacts('?since=2099-01-01T00:00:00Z'), [])
  assert.deepEqual(await contacts('?until=2001-01-01T00:00:00Z'), [])
  const pages: string[] = []
  let cursor = ''
  do {
    const page = await list(who, `?results_per_page=1${cursor}`)
    pages.push(...page.opt_outs.map((one: { uuid: string }) => one.uuid))
    cursor = page.next_cursor ? `&cursor=${page.next_cursor}` : ''
  } while (cursor !== '')
  assert.equal(new Set(pages).size, 3)
  assert.equal((await list(who, '?page=0')).total, 3)
  const one = await call(who, 'GET', `${path}/${pages[0]}`)
  assert.deepEqual([one.status, one.body.opt_out.reason], [200, 'complaint'])
  const csv = (await call(who, 'GET', `${path}?format=csv`)).body.split('\r\n')
  assert.deepEqual(
    [csv.length, csv[0].split(',').slice(1, 5)],
    [5, ['channel', 'contact_number', 'phone_number', 'reason']],
  )
})

test('an opt-out of a number that is not the account’s is refused as one of an unknown number', async () => {
  const [who, neighbour] = [await tenant(), await tenant()]
  const { number } = await giveNumber(world, neighbour)
  for (const phone_number of [number, '+447700900999']) {
    const { status, body } = await call(who, 'POST', path, { contact_number: contact, phone_number })
    assert.deepEqual([status, body.field], [404, '/phone_number'], JSON.stringify(body))
  }
  const theirs = await add(neighbour, { contact_number: contact })
  for (const method of ['GET', 'DELETE'] as const)
    assert.equal((await call(who, method, `${path}/${theirs.uuid}`)).status, 404)
  assert.deepEqual([(await list(who)).count, await send(neighbour, number)], [0, 'opted_out'])
})

test('each addition and removal is in the audit trail with its key, and a repeated one without a change', async () => {
  const who = await tenant()
  const added = await add(who, { contact_number: contact })
  await add(who, { contact_number: contact })
  await call(who, 'DELETE', `${path}/${added.uuid}`)
  const rows = await db.many<{ action: string; actor_kind: string; targets: string[]; changes: unknown[] }>`
    select action, actor_kind, targets, changes from audit where account_id = ${who.id} order by id`
  assert.deepEqual(
    rows.map(({ action, actor_kind, targets, changes }) => [action, actor_kind, targets, changes.length > 0]),
    [
      ['createOptOut', 'api_key', [added.uuid], true],
      ['createOptOut', 'api_key', [added.uuid], false],
      ['deleteOptOut', 'api_key', [added.uuid], true],
    ],
  )
})

test('a key without team_settings adds opt-outs and removes none', async () => {
  const who = await tenant()
  const limited = await keyWith(who, ['inbox', 'inbox.all'])
  const added = await add(limited, { contact_number: contact })
  const refused = await call(limited, 'DELETE', `${path}/${added.uuid}`)
  assert.deepEqual([refused.status, refused.body.error_code], [403, 'scope_missing'])
  assert.equal((await list(who)).count, 1)
})

test('a reader of the own conversations alone sees no opt-out of a person of another agent', async () => {
  const who = await tenant()
  await giveNumber(world, who)
  const narrowed = await keyWith(who, ['inbox', 'team_settings'])
  const begun = await call(who, 'POST', '/open/conversations', { number: contact })
  const { user: assignee_uuid } = await member(world, who, 'agent')
  const conversation = `/open/conversations/${begun.body.conversation.uuid}`
  const given = await call(who, 'PATCH', conversation, { assignee_uuid })
  assert.equal(given.status, 200, JSON.stringify(given.body))
  const hidden = await add(who, { contact_number: contact, note: 'private' })
  const shown = await add(who, { contact_number: other })
  const uuids = (await list(narrowed)).opt_outs.map((one: { uuid: string }) => one.uuid)
  assert.deepEqual(uuids, [shown.uuid])
  for (const method of ['GET', 'DELETE'] as const)
    assert.equal((await call(narrowed, method, `${path}/${hidden.uuid}`)).status, 404)
  const again = await add(narrowed, { contact_number: contact })
  assert.deepEqual([again.status, again.uuid, 'note' in again], [200, hidden.uuid, false])
  assert.equal((await list(who)).count, 2)
})

test('the quota bounds what requests add; a STOP beyond it is stored', async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  await call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { quotas: { opt_outs: 1 } })
  const bodies = [{ contact_number: '+447911000001' }, { contact_number: '+447911000002' }]
  const answers = await Promise.all(bodies.map((body) => call(who, 'POST', path, body)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 403])
  assert.ok(answers.some(({ body }) => body.error_code === 'limit_exceeded' && body.limit === 'opt_outs'))
  await hears(number, 'STOP')
  assert.deepEqual([await send(who, number), (await list(who)).count], ['opted_out', 2])
})

test('an opt-out survives the contact of the address book', async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  await hears(number, 'STOP')
  const details = [{ type: 'PH', value: contact }]
  const { body } = await call(who, 'POST', '/open/contacts', { first_name: 'Ada', contact_details: details })
  assert.equal((await call(who, 'DELETE', `/open/contacts/${body.contact.uuid}`)).status, 200)
  assert.deepEqual([await send(who, number), (await list(who)).count], ['opted_out', 1])
})
