import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'

const { db, call, tenant } = await makeWorld()

type Detail = { type: string; value: string }

const [number, email] = [
  { type: 'PH', value: '+447700900123' },
  { type: 'E', value: 'ada@example.com' },
]

const create = async (who: Tenant, name: string, details: readonly Detail[], more: object = {}) => {
  const [first_name, last_name = ''] = name.split(' ')
  const answer = await call(who, 'POST', '/open/contacts', { first_name, last_name, contact_details: details, ...more })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.contact
}

const duplicates = async (who: Tenant, query: string) =>
  (await call(who, 'GET', `/open/contacts/duplicates?${query}`)).body

const keysOf = async (who: Tenant, by: string): Promise<string[]> =>
  (await duplicates(who, `by=${by}`)).duplicates.map(
    ({ key, count, contacts }: { key: string; count: number; contacts: unknown[] }) =>
      `${key} ${count} ${contacts.length}`,
  )

const merge = (who: Tenant, into: string, body: object) => call(who, 'POST', `/open/contacts/${into}/merge`, body)

test('contacts with one number in two spellings, one address in two cases, or one name with accents are candidates', async () => {
  const [who, other] = [await tenant(), await tenant()]
  await create(who, 'José García', [number])
  await create(who, 'jose garcia', [{ type: 'WAPH', value: '0044 (0)7700 900123' }])
  await create(who, 'Ada', [email])
  await create(who, 'Augusta', [{ type: 'E', value: 'Ada@Example.com' }])
  await create(who, 'Grace', [{ type: 'E', value: 'grace@example.com' }])
  await create(other, 'Grace', [number, { type: 'E', value: 'grace@example.com' }])
  assert.deepEqual(await keysOf(who, 'number'), ['+447700900123 2 2'])
  assert.deepEqual(await keysOf(who, 'email'), ['ada@example.com 2 2'])
  assert.deepEqual(await keysOf(who, 'name'), ['jose garcia 2 2'])
  assert.deepEqual(await keysOf(other, 'name'), [])
})

test('candidates are read page by page, each once, also among more keys than a page examines', async () => {
  const who = await tenant()
  const [from, many] = [1_000_000, 10_050]
  // Every second number from the 10,000th on belongs to two contacts.
  const [first, second] = [uuid(), uuid()]
  for (const id of [first, second])
    await db.run`
      insert into contacts (account_id, id, first_name, last_name, grams, created_at)
      values (${who.id}, ${id}, 'A', 'B', '{}', now())`
  await db.run`
    insert into contact_details (account_id, contact_id, type, value, match_key, created_at)
    select ${who.id}::uuid, ${first}::uuid, 'PH', '+4477' || n, '+4477' || n, now()
    from generate_series(${from}::integer, ${from + many}::integer) n
    union all
    select ${who.id}::uuid, ${second}::uuid, 'PH', '+4477' || n, '+4477' || n, now()
    from generate_series(${from + 9_990}::integer, ${from + many}::integer, 2) n`
  const seen: string[] = []
  let cursor = ''
  let pages = 0
  do {
    const body = await duplicates(who, `results_per_page=7&cursor=${cursor}`)
    seen.push(...body.duplicates.map(({ key }: { key: string }) => key))
    cursor = body.next_cursor ?? ''
    pages++
  } while (cursor !== '')
  const expected = Array.from({ length: 31 }, (_, i) => `+4477${from + 9_990 + 2 * i}`)
  assert.deepEqual(seen, expected)
  assert.ok(pages >= 5, `${pages} pages`)
})

test('a merge keeps the own values, fills the empty ones, and moves every detail in one transaction', async () => {
  const who = await tenant()
  const into = await create(who, 'Ada', [number])
  const one = await create(who, 'Augusta King', [email, { type: 'PH', value: '+447700900456' }], {
    profile_pic_url: 'https://example.com/a.jpg',
  })
  const two = await create(who, 'A L', [number, { type: 'A', value: '12 St James Square' }])
  const { status, body } = await merge(who, into.uuid, { from: [one.uuid, two.uuid] })
  assert.equal(status, 200, JSON.stringify(body))
  const { contact } = body
  assert.equal(body.merged, 2)
  assert.deepEqual(
    [contact.uuid, contact.first_name, contact.last_name, contact.profile_pic_url, contact.blocked],
    [into.uuid, 'Ada', 'King', 'https://example.com/a.jpg', false],
  )
  assert.deepEqual(
    contact.details.map(({ value }: Detail) => value),
    ['+447700900123', 'ada@example.com', '+447700900456', '12 St James Square'],
  )
  assert.equal(contact.details[0].id, into.details[0].id, 'own details keep their ids')
  for (const { uuid: gone } of [one, two]) assert.equal((await call(who, 'GET', `/open/contacts/${gone}`)).status, 404)
  assert.equal((await call(who, 'GET', '/open/contacts')).body.total, 1)
  const found = (await call(who, 'GET', '/open/contacts/search?q=07700900456')).body.contacts
  assert.deepEqual(found, [contact], 'the numbers of the others lead to it')
  const [event] = await db.many<{ payload: unknown }>`
    select payload from events where account_id = ${who.id} order by id desc limit 1`
  assert.deepEqual(event?.payload, { ...contact, event: 'contact.updated' })
  const [row] = await db.many<{ targets: string[]; changes: { field: string }[] }>`
    select targets, changes from audit where account_id = ${who.id} and action = 'mergeContacts'`
  assert.deepEqual(row?.targets, [into.uuid, one.uuid, two.uuid])
  assert.match(JSON.stringify(row?.changes), /Augusta/, 'the former contacts are in the audit trail')
})

test('each field of a merge can be chosen, and a block stays unless it is lifted', async () => {
  const who = await tenant()
  const [into, from] = [await create(who, 'Ada', [number]), await create(who, 'Augusta King', [email])]
  await call(who, 'PUT', `/open/contacts/${from.uuid}/block`)
  const fields = { first_name: 'Augusta Ada', last_name: null, profile_pic_url: null, contact_details: [email] }
  const { contact } = (await merge(who, into.uuid, { from: [from.uuid], fields })).body
  assert.deepEqual([contact.first_name, contact.last_name, contact.blocked], ['Augusta Ada', '', true])
  assert.deepEqual(
    contact.details.map(({ value }: Detail) => value),
    [email.value],
  )
  const third = await create(who, 'Third', [number])
  const lifted = await merge(who, third.uuid, { from: [into.uuid], fields: { blocked: false } })
  assert.equal(lifted.body.contact.blocked, false)
})

test('a merge that is refused changes nothing, and names the field', async () => {
  const [who, other] = [await tenant(), await tenant()]
  const [into, from, foreign] = [
    await create(who, 'Ada', [number]),
    await create(who, 'Bob', [email]),
    await create(other, 'Eve', [email]),
  ]
  const many = Array.from({ length: 50 }, (_, i) => ({ type: 'A', value: `House ${i}` }))
  const large = await create(who, 'Large', many)
  const refusals: [object, number, string, string][] = [
    [{ from: [into.uuid] }, 400, 'merge_with_itself', '/from'],
    [{ from: [foreign.uuid] }, 404, 'not_found', '/from'],
    [{ from: [from.uuid, `CON${uuid()}`] }, 404, 'not_found', '/from'],
    [{ from: [from.uuid, large.uuid] }, 422, 'too_many_details', '/from'],
    [
      { from: [from.uuid], fields: { contact_details: [{ type: 'PH', value: '12' }] } },
      422,
      'invalid_phone_number',
      '/fields/contact_details/0/value',
    ],
    [{ from: [] }, 400, 'invalid_request', '/from'],
  ]
  for (const [body, status, code, field] of refusals) {
    const answer = await merge(who, into.uuid, body)
    assert.deepEqual([answer.status, answer.body.error_code, answer.body.field], [status, code, field])
  }
  assert.equal((await call(who, 'GET', '/open/contacts')).body.total, 3)
  assert.deepEqual((await call(who, 'GET', `/open/contacts/${into.uuid}`)).body.contact, into)
})

test('of two concurrent merges with one contact in common, one is refused, and no detail is lost', async () => {
  const who = await tenant()
  const [one, two, shared] = [
    await create(who, 'One', [{ type: 'A', value: 'a' }]),
    await create(who, 'Two', [{ type: 'A', value: 'b' }]),
    await create(who, 'Shared', [number]),
  ]
  const answers = await Promise.all([one, two].map(({ uuid: into }) => merge(who, into, { from: [shared.uuid] })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404])
  const { contacts, total } = (await call(who, 'GET', '/open/contacts')).body
  assert.equal(total, 2)
  assert.equal(JSON.stringify(contacts).split(number.value).length, 2)
})
