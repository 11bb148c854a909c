import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { type Node, nodeOf } from './recipes/schema.ts'
import { send } from './recipes/send.ts'

// Every list is paged in one way: a client that loops while a page is full always reaches an end.

const scene = await makeScene(await makeRecipeWorld(), 'lists')

const pageNames = ['page_number', 'page', 'results_per_page', 'per_page']

/** Lists that are never paged, and lists that belong to one thing. */
const unpagedLists = new Set([
  'listCompatCredentials',
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
  'getEvent',
  'getMessageTimeline',
  'getNumberTimeline',
  'getSmsTimeline',
  'search',
  'listTags',
  'listReplies',
  'listViews',
  'showTeam',
  'listChannelWebhooks',
  'listApplications',
  'listWebhooks',
  'listEndpoints',
  'listEventTypes',
  'getWebhookStats',
  'getMsgappChannelStatus',
  'getUsage',
  'listContactConversations',
  'listPushSubscriptions',
])

/** Lists of past events and candidates, which have cursors only. */
const logs = new Set([
  'listOwnAudit',
  'listDeliveries',
  'getOwnLedger',
  'listOwnHolds',
  'listEvents',
  'listRequests',
  'listInboxConversations',
  'listConversationItems',
  'listDuplicateContacts',
])

const fieldsOf = (node: Node | undefined): Record<string, Node> => node?.properties ?? {}

const holdsRows = (reply: Node): boolean =>
  [...Object.values(fieldsOf(reply)), ...Object.values(fieldsOf(fieldsOf(reply).data))].some(
    ({ type }) => type === 'array',
  )

const lists = contracts.filter(
  ({ method, auth, url, reply }) =>
    method === 'GET' && auth === 'account' && url.startsWith('/open/') && holdsRows(nodeOf(reply)),
)

test('every list of an account is paged in one way, or is known to be returned whole', () => {
  assert.ok(lists.length >= 25, `saw only ${lists.length} lists`)
  for (const { id, query, reply } of lists) {
    const [queryFields, replyFields] = [fieldsOf(nodeOf(query)), fieldsOf(nodeOf(reply))]
    if (unpagedLists.has(id)) continue
    if ('cursor' in queryFields) assert.ok('next_cursor' in replyFields, `${id} accepts a cursor and returns none`)
    assert.ok('count' in replyFields, `${id} has no count`)
    if (logs.has(id)) continue
    for (const name of pageNames) assert.ok(name in queryFields, `${id} does not accept ${name}`)
    for (const name of ['page', 'total']) assert.ok(name in replyFields, `${id} has no ${name}`)
  }
})

for (const contract of lists.filter(({ id }) => !unpagedLists.has(id) && !logs.has(id)))
  test(`${contract.id} ends for a client that loops while a page is full`, async () => {
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
    // Three steps of the loop, and the last page.
    for (let i = 1; i < Math.min(first.total, 4); i++)
      assert.deepEqual(await page({ page_number: i, results_per_page: 1 }), { ...first, at: i })
    assert.deepEqual(await page({ page_number: first.total, results_per_page: 1 }), {
      count: 0,
      at: first.total,
      total: first.total,
    })
  })

test('no statement skips rows by OFFSET, which reads them all', () => {
  const root = join(import.meta.dirname, '..')
  const files = globSync('src/**/*.ts', { cwd: root })
  assert.ok(files.length > 300, `saw only ${files.length} files`)
  const found = files.filter((file) => /\boffset +(?:\$|[1-9])/i.test(readFileSync(join(root, file), 'utf8')))
  assert.deepEqual(found, [])
})

test('a paged search returns each matching contact once, and only of its channel', async () => {
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
