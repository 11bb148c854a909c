import assert from 'node:assert/strict'
import { test } from 'node:test'
import { member } from '../../../test/persons.ts'
import { until } from '../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import { makeInbox } from '../inbox/inbox-testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db, call } = world
const inbox = makeInbox(world)

type Group = { in: string; count: number; more: boolean; results: { uuid: string; title: string; text: string }[] }

type Caller = (
  method: 'GET',
  url: string,
) => Promise<{ status: number; body: { groups: Group[]; next_cursor?: string } }>

/** Returns the pages of a search, from its first to its last. */
const pagesOf = async (by: Caller, query: string): Promise<Group[][]> => {
  const pages: Group[][] = []
  let cursor: string | undefined
  do {
    const { status, body } = await by('GET', `/open/search?${query}${cursor === undefined ? '' : `&cursor=${cursor}`}`)
    assert.equal(status, 200, JSON.stringify(body))
    pages.push(body.groups)
    assert.equal(body.groups.some(({ more }) => more) && body.next_cursor === undefined, false, 'more means a cursor')
    cursor = body.next_cursor
    assert.ok(pages.length < 30, 'the search ends')
  } while (cursor !== undefined)
  return pages
}

const resultsOf = (pages: readonly Group[][], kind: string) =>
  pages.flatMap((groups) => groups.filter((group) => group.in === kind).flatMap(({ results }) => results))

/** An account with seven of each kind that `Ada` or the number of the handset finds. */
const filled = async () => {
  const who = await world.tenant()
  const line = await inbox.giveNumber(who)
  const handset = '+447911130001'
  for (const n of [1, 2, 3, 4, 5, 6, 7]) {
    await inbox.write(handset, line.number, `Ada wrote ${n}`)
    await call(who, 'POST', '/open/contacts', {
      first_name: 'Ada',
      last_name: `Lovelace ${n}`,
      contact_details: [{ type: 'PH', value: `+44791114000${n}` }],
    })
    // The second of each pair was created in the same microsecond.
    await db.run`
      insert into calls (account_id, id, callid, direction, from_number, to_number, caller_id_used, iso_country_code,
        is_msgapp, is_trunk, status, duration, created_at, ended_at)
      values (${who.id}, ${uuid()}, ${uuid()}, 'I', ${handset}, ${line.number}, ${handset}, 'GB', false, false, 'answered', ${n},
        timestamptz '2026-01-01 00:00:00.000123' + make_interval(secs => ${Math.floor(n / 2)}::integer), app_now())`
  }
  const conversation = await until(async () => {
    const [found] = await inbox.conversations(who)
    return Object(found?.last).text === 'Ada wrote 7' && found
  })
  const ada = await member(world, who, 'owner')
  for (const n of [1, 2, 3, 4, 5, 6, 7])
    await ada.call('POST', `/open/conversations/${conversation.uuid}/notes`, { text: `Ada again ${n}` })
  return { who, handset, ada, conversation }
}

const place = await filled()
const asKey = (who: Tenant) => ((method, url) => call(who, method, url)) satisfies Caller as Caller

test('each page of a search has the next results of every kind that has more, each of them once', async () => {
  const pages = await pagesOf(asKey(place.who), 'q=Ada&results_per_page=3')
  assert.deepEqual(
    pages.map((groups) => groups.map(({ in: kind, count, more }) => [kind, count, more])),
    [
      [
        ['texts', 3, true],
        ['notes', 3, true],
        ['contacts', 3, true],
      ],
      [
        ['texts', 3, true],
        ['notes', 3, true],
        ['contacts', 3, true],
      ],
      [
        ['texts', 1, false],
        ['notes', 1, false],
        ['contacts', 1, false],
      ],
    ],
  )
  assert.deepEqual(
    resultsOf(pages, 'texts').map(({ text }) => text),
    [7, 6, 5, 4, 3, 2, 1].map((n) => `Ada wrote ${n}`),
  )
  assert.deepEqual(
    resultsOf(pages, 'notes').map(({ text }) => text),
    [7, 6, 5, 4, 3, 2, 1].map((n) => `Ada again ${n}`),
  )
  assert.equal(new Set(resultsOf(pages, 'contacts').map(({ title }) => title)).size, 7)
})

test('a search by number pages through texts and calls by time, also those of one microsecond', async () => {
  const number = encodeURIComponent(place.handset)
  const pages = await pagesOf(asKey(place.who), `q=${number}&in=texts,calls&results_per_page=2`)
  assert.equal(pages.length, 4)
  assert.deepEqual(
    resultsOf(pages, 'texts').map(({ text }) => text),
    [7, 6, 5, 4, 3, 2, 1].map((n) => `Ada wrote ${n}`),
  )
  const calls = resultsOf(pages, 'calls').map(({ text }) => text)
  assert.deepEqual(calls.map((text) => Number(/(\d) s/.exec(text)?.[1])).toSorted(), [1, 2, 3, 4, 5, 6, 7])
  assert.deepEqual((await pagesOf(asKey(place.who), `q=${number}&in=calls&results_per_page=7`)).length, 1)
})

test('a cursor continues the requested kinds alone, and one that is not of the search is refused', async () => {
  const by = asKey(place.who)
  const { body } = await by('GET', '/open/search?q=Ada&results_per_page=3')
  const next = await by('GET', `/open/search?q=Ada&results_per_page=3&in=notes&cursor=${body.next_cursor}`)
  assert.deepEqual(
    next.body.groups.map((group) => [group.in, group.results.at(0)?.text]),
    [['notes', 'Ada again 4']],
  )
  const cursorOf = (text: string) => Buffer.from(text).toString('base64url')
  for (const text of [
    'x',
    'search',
    'search|people=1',
    'search|notes=1',
    'search|contacts=00000000-0000-0000-0000-000000000000',
    'search|calls=2026-02-31T00:00:00Z,00000000-0000-0000-0000-000000000000',
    'search|notes=',
  ]) {
    const refused = await by('GET', `/open/search?q=Ada&cursor=${cursorOf(text)}`)
    assert.equal(refused.status, 400, text)
    assert.equal(Object(refused.body).field, '/query/cursor', JSON.stringify(refused.body))
  }
})

test('an agent who sees some conversations pages past the texts of the others', async () => {
  const who = await world.tenant()
  const line = await inbox.giveNumber(who)
  const [agent, other] = [await member(world, who, 'agent'), await member(world, who, 'agent')]
  const write = async (handset: string, text: string, assignee: string) => {
    await inbox.write(handset, line.number, text)
    const { uuid } = await until(async () =>
      (await inbox.conversations(who)).find(({ counterpart }) => counterpart === handset),
    )
    await call(who, 'PATCH', `/open/conversations/${uuid}`, { assignee_uuid: assignee })
  }
  await write('+447911130100', 'Zebra of mine', agent.user)
  for (let n = 1; n <= 20; n++) await write(`+4479111302${n + 10}`, `Zebra ${n}`, other.user)
  await db.run`update accounts set agents_see_all = false where id = ${who.id}`
  const pages = await pagesOf(agent.call as Caller, 'q=zebra&in=texts&results_per_page=1')
  assert.deepEqual(
    resultsOf(pages, 'texts').map(({ text }) => text),
    ['Zebra of mine'],
  )
})
