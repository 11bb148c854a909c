import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { testDatabase } from './database.ts'
import { fillLists, type RowOwner } from './list-rows.ts'
import type { Request } from './recipes/recipe.ts'
import { group, makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { send } from './recipes/send.ts'

// A list read to its end returns each row once and in order: by cursor and by page number, and while rows are added.

/** Rows in each table; beyond the 10,000 that page numbers reach. */
const count = 10_300

const db = await testDatabase()
const scene = await makeScene(await makeRecipeWorld({ db }), 'deep')
const { world, tenant } = scene
const [sms, chat, webhook] = [await scene.number(), await scene.chat(), await scene.webhook()]
const owner: RowOwner = {
  account: tenant.id,
  smsChannel: sms.channel.slice(3),
  chatChannel: chat.slice(3),
  webhook: webhook.slice(3),
  group: group.id,
}

/** Rows of each list with both kinds of pages, and the query of its page. */
const lists: readonly { readonly id: string; readonly request: () => Promise<Request>; readonly rows: string }[] = [
  { id: 'listSmsMessages', rows: 'messages', request: async () => ({}) },
  { id: 'listSmsMessages', rows: 'messages', request: async () => ({ query: { direction: 'outbound' } }) },
  {
    id: 'getSmsThread',
    rows: 'messages',
    request: async () => ({ params: { channel_uuid: sms.channel, contact_number: '+447700900999' } }),
  },
  { id: 'getCallHistory', rows: 'cdrs', request: async () => ({}) },
  { id: 'getCallHistory', rows: 'cdrs', request: async () => ({ query: { status: 'COMPLETED' } }) },
  { id: 'listContacts', rows: 'contacts', request: async () => ({}) },
  { id: 'listContacts', rows: 'contacts', request: async () => ({ query: { channel_uuid: chat } }) },
  { id: 'listConversations', rows: 'sessions', request: async () => ({ params: { channel_uuid: chat } }) },
  { id: 'listVirtualNumbers', rows: 'numbers', request: async () => ({}) },
  { id: 'listSmsChannels', rows: 'channels', request: async () => ({}) },
  { id: 'listCallerIds', rows: 'caller_ids', request: async () => ({}) },
  { id: 'listDocuments', rows: 'documents', request: async () => ({}) },
  { id: 'listClips', rows: 'clips', request: async () => ({}) },
  { id: 'listUsers', rows: 'users', request: async () => ({ params: { account_uuid: tenant.uuid } }) },
  { id: 'listRegistrations', rows: 'registrations', request: async () => ({ query: { state: 'all' } }) },
]

/** Identifies a row of any list. */
const keyOf = (row: unknown): string => {
  const {
    uuid: id,
    session_key: session,
    number,
  }: { uuid?: string; session_key?: string; number?: unknown } = Object(row)
  return id ?? session ?? JSON.stringify(number ?? row)
}

type Page = { status: number; rows: string[]; next: string | undefined; total: unknown; capped: unknown; text: string }

const read = async (
  id: string,
  rows: string,
  request: Request,
  query: Record<string, string | number>,
): Promise<Page> => {
  const contract = contracts.find((one) => one.id === id) ?? assert.fail(id)
  const { status, body, text } = await send(world, contract, tenant, {
    ...request,
    query: { ...request.query, ...query },
  })
  const found: Record<string, unknown> = Object(body)
  const list = found[rows]
  const { next_cursor: next, total, total_capped: capped } = found
  return {
    ...{ status, total, capped, text },
    rows: Array.isArray(list) ? list.map(keyOf) : [],
    next: typeof next === 'string' ? next : undefined,
  }
}

/** Reads a list to its end by cursor. @param between runs after each page */
const walk = async (id: string, rows: string, request: Request, size: number, between = async () => {}) => {
  const seen: string[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await read(id, rows, request, { results_per_page: size, ...(cursor ? { cursor } : {}) })
    assert.equal(page.status, 200, page.text)
    if (page.next !== undefined) assert.equal(page.rows.length, size, `${id}: a page with a next one is full`)
    // Threads are returned oldest first within a page.
    seen.push(...(id === 'getSmsThread' ? page.rows.reverse() : page.rows))
    await between()
    if (page.next === undefined) return seen
    cursor = page.next
  }
}

await fillLists(db, owner, { from: 0, to: count })

for (const { id, rows, request } of lists) {
  const size = id === 'listContacts' ? 100 : 200
  test(`${id} returns the same rows by cursor and by page number, each once`, async () => {
    const asked = await request()
    const name = `${id} ${JSON.stringify(asked.query ?? {})}`
    const all = await walk(id, rows, asked, size)
    assert.ok(all.length >= count, `${name}: ${all.length} rows`)
    assert.equal(new Set(all).size, all.length, `${name}: each row once`)
    for (const page of [0, 1, 10_000 / size - 1]) {
      const found = await read(id, rows, asked, { page_number: page, results_per_page: size })
      if (id === 'getSmsThread') found.rows.reverse()
      assert.deepEqual(found.rows, all.slice(page * size, (page + 1) * size), `${name}, page ${page}`)
      assert.ok(found.next, `${name}, page ${page}: a next_cursor`)
      const isCounter = id === 'listContacts' && asked.query === undefined
      if (!isCounter) assert.deepEqual([found.total, found.capped], [10_000, true], name)
    }
    const beyond = await read(id, rows, asked, { page_number: 10_000 / size, results_per_page: size })
    assert.equal(beyond.status, 400, beyond.text)
    assert.match(beyond.text, /page_number \d+ begins beyond the first 10,000 rows: page by cursor/)
  })
}

test('a page number beyond the end of a short list returns an empty page', async () => {
  const who = await world.tenant()
  const { status, body } = await world.call(who, 'GET', '/open/sms/messages?page_number=1000&results_per_page=200')
  assert.deepEqual([status, body.count, body.total], [200, 0, 0])
})

test('a list read by cursor while rows are added returns each earlier row once and in order', async () => {
  let next = count
  const grow = async () => {
    await fillLists(db, owner, { from: next, to: next + 3, tables: new Set(['calls', 'sms_messages', 'contacts']) })
    next += 3
  }
  for (const [id, rows, request] of [
    ['getCallHistory', 'cdrs', {}],
    ['listSmsMessages', 'messages', {}],
    ['listContacts', 'contacts', {}],
  ] as const) {
    const size = id === 'listContacts' ? 100 : 200
    const before = await walk(id, rows, request, size)
    let pages = 0
    const during = await walk(id, rows, request, size, async () => {
      if (pages++ % 20 === 0) await grow()
    })
    assert.equal(new Set(during).size, during.length, `${id}: each row once`)
    const known = new Set(before)
    assert.deepEqual(
      during.filter((row) => known.has(row)),
      before,
      `${id}: the rows that were there, in order`,
    )
  }
})

test('a total is exact up to 10,000', async () => {
  const who = await world.tenant()
  const own = { ...owner, account: who.id }
  await fillLists(db, own, { from: 0, to: 10_000, tables: new Set(['calls']) })
  const total = async () => {
    const { body } = await world.call(who, 'GET', '/open/voip/call-history')
    return [body.total, body.total_capped]
  }
  assert.deepEqual(await total(), [10_000, undefined])
  await fillLists(db, own, { from: 10_000, to: 10_001, tables: new Set(['calls']) })
  assert.deepEqual(await total(), [10_000, true])
})
