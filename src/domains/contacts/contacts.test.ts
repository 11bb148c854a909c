import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import { create as createChannel } from '../msgapp/channels/store.ts'

const { db, call, tenant } = await makeWorld()

const phone = { type: 'PH', value: '+447700900123' }
const email = { type: 'E', value: 'ada@example.com' }

const create = async (who: Tenant, body: object = {}) => {
  const answer = await call(who, 'POST', '/open/contacts', { first_name: 'Ada', contact_details: [phone], ...body })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.contact
}

const change = async (who: Tenant, id: string, body: object) => {
  const answer = await call(who, 'PUT', `/open/contacts/${id}`, body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body.contact
}

const eventsOf = ({ id }: Tenant) => db.many<{ name: string; conversation: string; payload: { uuid: string } }>`
  select name, conversation, payload from events where account_id = ${id} order by id`

test('a contact is created, read, listed and deleted', async () => {
  const ada = await tenant()
  const before = Math.floor(Date.now() / 1000)
  const created = await create(ada, { last_name: 'Lovelace', contact_details: [phone, email] })
  assert.match(created.uuid, /^CON[0-9a-f-]{36}$/)
  assert.equal(created.profile_pic_url, null)
  assert.equal('channel_uuid' in created, false)
  assert.equal(created.created_at, created.last_updated)
  assert.deepEqual(
    created.details.map(({ type, value }: typeof phone) => ({ type, value })),
    [phone, email],
  )
  for (const { id, created_at, updated_at } of created.details) {
    assert.ok(Number.isInteger(id) && created_at >= before && created_at <= before + 60)
    assert.equal(updated_at, 0)
  }
  const path = `/open/contacts/${created.uuid}`
  assert.deepEqual((await call(ada, 'GET', path)).body, { success: true, contact: created })
  assert.deepEqual((await call(ada, 'GET', '/open/contacts')).body.contacts, [created])
  assert.deepEqual((await call(ada, 'DELETE', path)).body, { success: true })
  assert.equal((await call(ada, 'GET', path)).status, 404)
  assert.equal((await call(ada, 'DELETE', path)).status, 404)
  const { contacts, total } = (await call(ada, 'GET', '/open/contacts')).body
  assert.deepEqual([contacts, total], [[], 0])
})

test('details come by either spelling, on create and on update', async () => {
  const ada = await tenant()
  for (const name of ['contact_detail', 'contact_details']) {
    const created = await create(ada, { contact_details: undefined, [name]: [phone] })
    assert.equal(created.details[0].value, phone.value)
    const changed = await change(ada, created.uuid, { [name]: [email] })
    assert.deepEqual([changed.details.length, changed.details[0].value], [1, email.value])
  }
  const both = await create(ada, { contact_details: {}, contact_detail: [email] })
  assert.equal(both.details[0].value, email.value)
})

test('a contact without a first name or without any detail is rejected, and the error names the field', async () => {
  const ada = await tenant()
  const refusals: [object, number, RegExp][] = [
    [{ contact_details: [phone] }, 400, /first_name/],
    [{ first_name: ' ', contact_details: [phone] }, 400, /first_name/],
    [{ first_name: 'Ada' }, 400, /contact_details/],
    [{ first_name: 'Ada', contact_details: [] }, 400, /contact_details/],
    [{ first_name: 'Ada', contact_details: {} }, 400, /contact_details/],
    [{ first_name: 'Ada', contact_details: Array(51).fill(phone) }, 400, /contact_details/],
    [{ first_name: 'Ada', contact_details: [{ type: 'FAX', value: '1' }] }, 400, /contact_details.0.type/],
    [{ first_name: 'Ada', contact_details: [phone, { type: 'E', value: 'ada' }] }, 400, /contact_details.1.value/],
    [{ first_name: 'Ada', contact_detail: [{ type: 'A', value: '  ' }] }, 400, /contact_detail.0.value/],
    [{ first_name: 'Ada', contact_detail: [{ type: 'PH', value: '12' }] }, 422, /contact_detail.0.value/],
    [{ first_name: 'Ada', contact_details: [phone], profile_pic_url: 'javascript:x' }, 400, /profile_pic_url/],
    [{ first_name: 'Ada', contact_details: [phone], channel_uuid: `DID${uuid()}` }, 400, /channel_uuid/],
    [{ first_name: 'Ada', contact_details: [phone], channel_uuid: `WPN${uuid()}` }, 404, /WPN/],
  ]
  for (const [body, status, message] of refusals) {
    const answer = await call(ada, 'POST', '/open/contacts', body)
    assert.equal(answer.status, status, JSON.stringify([body, answer.body]))
    assert.match(answer.body.error_message, message)
  }
  assert.equal((await call(ada, 'GET', '/open/contacts')).body.total, 0)
  assert.deepEqual(await eventsOf(ada), [])
})

test('phone numbers are stored as E.164 in whatever way they are written, and each once', async () => {
  const ada = await tenant()
  const values = ['+44 (0)7700 900-123', '447700900123', '0044 7700 900123', '+1 (202) 555-0123']
  const created = await create(ada, { contact_details: values.map((value) => ({ type: 'PH', value })) })
  assert.deepEqual(
    created.details.map(({ value }: typeof phone) => value),
    ['+447700900123', '+12025550123'],
  )
})

test('on update a list replaces the previous one, and matching details keep their ids', async () => {
  const ada = await tenant()
  const created = await create(ada, { contact_details: [phone, email, { type: 'A', value: '12 St James Square' }] })
  const [ph, em] = created.details
  const changed = await change(ada, created.uuid, {
    contact_details: [
      { type: 'WAPH', value: '+44 7700 900123' },
      { type: 'E', value: 'ada@example.com' },
      { ...email, value: 'al@example.com' },
    ],
  })
  const [first, second, third] = changed.details
  assert.deepEqual([first.id, first.type, first.value], [ph.id, 'WAPH', phone.value], 'PH and WAPH match')
  assert.ok(first.updated_at > 0)
  assert.deepEqual(second, em)
  assert.ok(third.id > em.id && changed.details.length === 3)
  const again = await change(ada, created.uuid, { contact_details: [phone] })
  assert.deepEqual(again.details, [first], 'a number known to be on the messaging app stays so')
})

test('on update absent fields and details given as an empty object stay; an empty list is 400', async () => {
  const ada = await tenant()
  const created = await create(ada, { last_name: 'Byron', profile_pic_url: 'https://example.com/a.jpg' })
  const named = await change(ada, created.uuid, { last_name: 'Lovelace' })
  assert.deepEqual({ ...named, last_name: '', last_updated: '' }, { ...created, last_name: '', last_updated: '' })
  for (const name of ['contact_detail', 'contact_details'])
    assert.deepEqual((await change(ada, created.uuid, { [name]: {} })).details, created.details)
  for (const name of ['contact_detail', 'contact_details'])
    assert.equal((await call(ada, 'PUT', `/open/contacts/${created.uuid}`, { [name]: [] })).status, 400)
  assert.equal((await change(ada, created.uuid, { profile_pic_url: '' })).profile_pic_url, created.profile_pic_url)
  assert.equal((await change(ada, created.uuid, { profile_pic_url: null })).profile_pic_url, null)
})

test('each change publishes an event in its transaction; an update without a change publishes none', async () => {
  const ada = await tenant()
  const created = await create(ada)
  const changed = await change(ada, created.uuid, { first_name: 'Augusta' })
  assert.deepEqual(await change(ada, created.uuid, { first_name: 'Augusta', contact_details: [phone] }), changed)
  const events = await eventsOf(ada)
  assert.deepEqual(
    events.map(({ name, conversation, payload }) => [name, conversation, payload]),
    [
      ['contact.created', created.uuid.slice(3), { ...created, event: 'contact.created' }],
      ['contact.updated', created.uuid.slice(3), { ...changed, event: 'contact.updated' }],
    ],
  )
})

test('pages are read by number or by cursor, 1 to 100 at a time, in the order of creation', async () => {
  const ada = await tenant()
  const names = Array.from({ length: 7 }, (_, i) => `Ada ${i}`)
  for (const first_name of names) await create(ada, { first_name })
  const read = async (query: string) => (await call(ada, 'GET', `/open/contacts?${query}`)).body
  const namesOf = (body: { contacts: { first_name: string }[] }) => body.contacts.map(({ first_name }) => first_name)
  for (const [number, size] of [
    ['page_number', 'results_per_page'],
    ['page', 'per_page'],
  ]) {
    const second = await read(`${number}=1&${size}=3`)
    assert.deepEqual([second.count, second.page, second.total, namesOf(second)], [3, 1, 7, names.slice(3, 6)])
    assert.deepEqual((await read(`${number}=9&${size}=3`)).contacts, [])
    assert.equal((await call(ada, 'GET', `/open/contacts?${size}=101`)).status, 400)
  }
  const seen: string[] = []
  let cursor = ''
  do {
    const body = await read(`per_page=3&cursor=${cursor}`)
    seen.push(...namesOf(body))
    cursor = body.next_cursor ?? ''
  } while (cursor !== '')
  assert.deepEqual(seen, names)
  assert.equal((await call(ada, 'GET', '/open/contacts?cursor=x')).status, 400)
  assert.equal((await call(ada, 'GET', `/open/contacts?channel_uuid=WPN${uuid()}`)).status, 404)
})

test('contacts added and deleted concurrently are all counted', async () => {
  const ada = await tenant()
  const created = await Promise.all(Array.from({ length: 30 }, () => create(ada)))
  await Promise.all(created.slice(0, 12).map(({ uuid }) => call(ada, 'DELETE', `/open/contacts/${uuid}`)))
  const { total, contacts } = (await call(ada, 'GET', '/open/contacts')).body
  assert.deepEqual([total, contacts.length], [18, 18])
})

const giveChannel = async ({ id: account_id }: Tenant, phone_number: string): Promise<string> => {
  const id = uuid()
  const channel = { account_id, id, connection_id: uuid(), platform: 'sandbox', phone_number, friendly_name: 'n' }
  assert.ok(
    await db.begin((tx) => createChannel(tx, { ...channel, iso_country_code: 'GB', timezones: ['Europe/London'] })),
  )
  return `WPN${id}`
}

test('a contact can name a channel of its own account, is listed by it, and can leave it', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const [own, foreign] = [await giveChannel(ada, '+447700900001'), await giveChannel(bob, '+447700900002')]
  const plain = await create(ada)
  const created = await create(ada, { channel_uuid: own })
  assert.equal(created.channel_uuid, own)
  const refused = await call(ada, 'PUT', `/open/contacts/${plain.uuid}`, { channel_uuid: foreign })
  assert.equal(refused.status, 404)
  const listed = async (query = '') => {
    const { body } = await call(ada, 'GET', `/open/contacts?channel_uuid=${own}${query}`)
    return [body.total, body.contacts.map((one: { uuid: string }) => one.uuid)]
  }
  assert.deepEqual(await listed(), [1, [created.uuid]])
  assert.equal((await change(ada, plain.uuid, { channel_uuid: own })).channel_uuid, own)
  assert.deepEqual(await listed('&per_page=1&page=1'), [2, [created.uuid]])
  assert.equal((await change(ada, created.uuid, { first_name: 'Augusta' })).channel_uuid, own)
  assert.equal('channel_uuid' in (await change(ada, created.uuid, { channel_uuid: null })), false)
  assert.deepEqual(await listed(), [1, [plain.uuid]])
  assert.equal((await call(ada, 'GET', `/open/contacts?channel_uuid=${foreign}`)).status, 404)
})
