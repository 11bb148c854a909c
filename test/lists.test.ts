import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { recipes } from './recipes/all.ts'
import { makeScene, makeScenery } from './recipes/scene.ts'
import { type Node, nodeOf } from './recipes/schema.ts'
import { send } from './recipes/send.ts'

// Every list has one shape of paging: a client that loops while a page is full always comes to an end.

const scene = await makeScene(await makeScenery(), 'lists')

const pageNames = ['page_number', 'page', 'results_per_page', 'per_page']

/** Lists that are never paged (completions.md part 1), and lists that belong to one thing. */
const whole = new Set([
  'listOwnKeys',
  'listActiveUsers',
  'listNumberCities',
  'listNumberCountries',
  'listNumberRegions',
  'listNumberRequirements',
  'listReservations',
  'listNumberTypes',
  'getNumberRequirements',
  'getCallTimeline',
  'listChannelWebhooks',
  'listWebhooks',
  'getMsgappChannelStatus',
])

/** Lists of what happened, which have cursors alone. */
const logs = new Set(['listOwnAudit', 'listDeliveries'])

const fieldsOf = (node: Node | undefined): Record<string, Node> => node?.properties ?? {}

const holdsRows = (reply: Node): boolean =>
  [...Object.values(fieldsOf(reply)), ...Object.values(fieldsOf(fieldsOf(reply).data))].some(
    ({ type }) => type === 'array',
  )

const lists = contracts.filter(
  ({ method, auth, url, reply }) =>
    method === 'GET' && auth === 'account' && url.startsWith('/open/') && holdsRows(nodeOf(reply)),
)

test('every list of an account is paged in one shape, or is known to be given whole', () => {
  assert.ok(lists.length >= 25, `saw only ${lists.length} lists`)
  for (const { id, query, reply } of lists) {
    const [asked, told] = [fieldsOf(nodeOf(query)), fieldsOf(nodeOf(reply))]
    if (whole.has(id)) continue
    if ('cursor' in asked) assert.ok('next_cursor' in told, `${id} takes a cursor and gives none`)
    assert.ok('count' in told, `${id} has no count`)
    if (logs.has(id)) continue
    for (const name of pageNames) assert.ok(name in asked, `${id} takes no ${name}`)
    for (const name of ['page', 'total']) assert.ok(name in told, `${id} tells no ${name}`)
  }
})

for (const contract of lists.filter(({ id }) => !whole.has(id) && !logs.has(id)))
  test(`${contract.id} comes to an end for a client that loops while a page is full`, async () => {
    const recipe = recipes[contract.id]
    assert.ok(recipe)
    const { query = {}, ...request } = await recipe.ok(scene)
    const page = async (names: { readonly [name: string]: number }) => {
      const { results_per_page: _, ...kept } = query
      const asked = { ...request, query: { ...kept, ...names } }
      const { status, body, text } = await send(scene.world, contract, scene.tenant, asked)
      assert.equal(status, 200, text)
      const { count, page: at, total }: { count: number; page: number; total: number } = Object(body)
      return { count, at, total }
    }
    const first = await page({ page_number: 0, results_per_page: 1 })
    assert.deepEqual([first.at, first.count], [0, Math.min(first.total, 1)])
    assert.deepEqual(await page({ page: 0, per_page: 1 }), first)
    // Three steps of the loop, and the page on which it ends.
    for (let i = 1; i < Math.min(first.total, 4); i++)
      assert.deepEqual(await page({ page_number: i, results_per_page: 1 }), { ...first, at: i })
    assert.deepEqual(await page({ page_number: first.total, results_per_page: 1 }), {
      count: 0,
      at: first.total,
      total: first.total,
    })
  })

test('a search goes through all that it found, each contact once, and keeps to a channel', async () => {
  const { world } = scene
  const who = await world.tenant()
  const chat = await world.call(who, 'POST', '/open/msgapp/channel/create', { phone_number: scene.chatNumber() })
  const channel_uuid: string = chat.body.channel.uuid
  for (let i = 0; i < 5; i++) {
    const contact = {
      first_name: 'Grace',
      last_name: `Number ${i}`,
      contact_details: [{ type: 'E', value: `g${i}@example.com` }],
    }
    const made = await world.call(who, 'POST', '/open/contacts', i === 3 ? { ...contact, channel_uuid } : contact)
    assert.equal(made.status, 201, JSON.stringify(made.body))
  }
  const walk = async (query: string): Promise<string[]> => {
    const seen: string[] = []
    for (let page = 0; ; page++) {
      const { body } = await world.call(
        who,
        'GET',
        `/open/contacts/search?${query}&page_number=${page}&results_per_page=2`,
      )
      assert.deepEqual([body.page, body.count], [page, body.contacts.length])
      seen.push(...body.contacts.map(({ uuid }: { uuid: string }) => uuid))
      if (body.count < 2) return seen
    }
  }
  const found = await walk('q=grace')
  assert.deepEqual([found.length, new Set(found).size], [5, 5])
  assert.equal((await walk('query=')).length, 5)
  const [only, ...others] = await walk(`q=grace&channel_uuid=${channel_uuid}`)
  assert.equal(
    only,
    found.find((uuid) => uuid === only),
  )
  assert.deepEqual([others, (await walk(`q=&channel_uuid=${channel_uuid}`)).length], [[], 1])
})
