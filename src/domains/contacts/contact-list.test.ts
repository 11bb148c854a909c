import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'

const { call, tenant } = await makeWorld()

let serial = 0
const create = async (who: Tenant, name: string): Promise<string> => {
  const [first_name, last_name = ''] = name.split(' ')
  const value = `+4477009${String(++serial).padStart(5, '0')}`
  const body = { first_name, last_name, contact_details: [{ type: 'PH', value }] }
  return (await call(who, 'POST', '/open/contacts', body)).body.contact.uuid
}

type Row = { uuid: string; first_name: string; last_name: string }

/** Reads a list to its end. */
const namesOf = async (who: Tenant, query: string): Promise<string[]> => {
  const names: string[] = []
  let cursor = ''
  do {
    const { status, body } = await call(who, 'GET', `/open/contacts?${query}${cursor}`)
    assert.equal(status, 200, JSON.stringify(body))
    names.push(...body.contacts.map((one: Row) => `${one.first_name} ${one.last_name}`.trim()))
    cursor = body.next_cursor === undefined ? '' : `&cursor=${body.next_cursor}`
  } while (cursor !== '')
  return names
}

test('contacts are listed by name without regard to case and accents, or newest first, page by page', async () => {
  const who = await tenant()
  const names = ['bob', 'Zoë', 'Émile Zola', 'Anna', 'Émile zola', 'anna', 'Ärger', '\ufdfa'.repeat(100), 'Яна']
  for (const name of names) await create(who, name)
  const sorted = ['Anna', 'anna', 'Ärger', 'bob', 'Émile Zola', 'Émile zola', 'Zoë', 'Яна', '\ufdfa'.repeat(100)]
  for (const size of [1, 2, 50]) assert.deepEqual(await namesOf(who, `sort=name&results_per_page=${size}`), sorted)
  assert.deepEqual(await namesOf(who, 'sort=-created_at&results_per_page=4'), names.toReversed())
})

test('only blocked contacts are listed with blocked, in each order, and their number is exact', async () => {
  const who = await tenant()
  const ids: string[] = []
  for (const name of ['Cora', 'Bob', 'Ada', 'Dan']) ids.push(await create(who, name))
  for (const id of ids.slice(0, 3)) await call(who, 'PUT', `/open/contacts/${id}/block`)
  for (const [query, expected] of [
    ['blocked=true', ['Cora', 'Bob', 'Ada']],
    ['blocked=true&sort=name', ['Ada', 'Bob', 'Cora']],
    ['blocked=true&q=ada', ['Ada']],
    ['blocked=true&q=dan', []],
    ['blocked=false', ['Cora', 'Bob', 'Ada', 'Dan']],
  ] as const)
    assert.deepEqual(await namesOf(who, `${query}&results_per_page=2`), expected, query)
  assert.equal((await call(who, 'GET', '/open/contacts?blocked=true&results_per_page=1')).body.total, 3)
})

test('a text finds contacts as the search does, page by page, and CSV has the same rows', async () => {
  const who = await tenant()
  for (let i = 0; i < 7; i++) await create(who, `Ada${i} Lovelace`)
  await create(who, 'Grace Hopper')
  const found = (await call(who, 'GET', '/open/contacts/search?q=lovelace')).body.contacts as Row[]
  const names = await namesOf(who, 'q=lovelace&results_per_page=3')
  assert.deepEqual(
    names,
    found.map(({ first_name, last_name }) => `${first_name} ${last_name}`),
  )
  const csv = String((await call(who, 'GET', '/open/contacts?q=lovelace&format=csv')).body)
  assert.equal(csv.trim().split('\r\n').length, 1 + names.length)
  assert.deepEqual(await namesOf(who, 'q=%20'), await namesOf(who, ''))
})

test('a list by name or by text has no page numbers, and its cursors are its own', async () => {
  const who = await tenant()
  for (const name of ['Ada', 'Bob', 'Cora']) await create(who, name)
  const cursorOf = async (query: string): Promise<string> =>
    (await call(who, 'GET', `/open/contacts?${query}&results_per_page=1`)).body.next_cursor
  const orders = ['sort=name', 'sort=created_at', 'q=a&sort=name']
  const cursors = [await cursorOf('sort=name'), await cursorOf('sort=created_at')]
  for (const [i, order] of orders.entries())
    for (const [j, cursor] of cursors.entries()) {
      const { status } = await call(who, 'GET', `/open/contacts?${order}&cursor=${cursor}`)
      assert.equal(status, i === j ? 200 : 400, `${order} with the cursor of ${orders[j]}`)
    }
  for (const query of ['sort=name&page=1', 'q=ada&page_number=1']) {
    const { status, body } = await call(who, 'GET', `/open/contacts?${query}`)
    assert.deepEqual([status, body.field], [400, query.includes('page_number') ? '/query/page_number' : '/query/page'])
  }
})
