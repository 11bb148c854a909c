import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { csvContractOf } from '../src/platform/http/csv-export.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { testDatabase } from './database.ts'
import { fillLists } from './list-rows.ts'
import { until } from './platform.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { send } from './recipes/send.ts'

const long = process.env.TRUNKLINE_TEST_LONG === '1'

/** Statements built at run time: one for each page of a list. */
let pages = 0
const database = await testDatabase()
const db: typeof database = {
  ...database,
  raw: (text, values) => {
    pages += text.includes('from (select') || text.includes('limit') ? 1 : 0
    return database.raw(text, values)
  },
}
const scene = await makeScene(await makeRecipeWorld({ db }), 'csv')
const { world, tenant } = scene
const { app } = world
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as AddressInfo // it listens on TCP

const owner = { account: tenant.id, smsChannel: uuid(), chatChannel: uuid(), webhook: uuid(), group: 'g' }

/** Reads CSV (RFC 4180). */
const parse = (text: string): string[][] => {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}

const read = (url: string) =>
  app
    .inject({ method: 'GET', url, headers: { 'x-user-api-key': tenant.key } })
    .then(({ statusCode, headers, body }) => {
      assert.equal(statusCode, 200, body)
      assert.match(String(headers['content-type']), /^text\/csv; charset=utf-8/)
      assert.match(String(headers['content-disposition']), /^attachment; filename="[a-z-]+-\d{4}-\d\d-\d\d\.csv"$/)
      return parse(body)
    })

/** Returns the rows of a reply, at the path of the contract. */
const rowsAt = (reply: unknown, path: readonly string[]): unknown[] =>
  path.reduce<unknown[]>((rows, name) => rows.flatMap((row) => Object(row)[name] ?? []), [reply])

const lists = contracts.filter(({ csv }) => csv !== undefined)

test('every list that takes format=csv sends the rows of its pages, in their order', async () => {
  assert.ok(lists.length >= 15, `saw only ${lists.length} lists`)
  for (const contract of lists) {
    const request = (await recipes[contract.id]?.ok(scene)) ?? {}
    const paging = new Set(['results_per_page', 'cursor', 'page_number', 'page', 'per_page'])
    const query = Object.fromEntries(Object.entries(request.query ?? {}).filter(([name]) => !paging.has(name)))
    const path = contract.csv?.split('.') ?? []
    const rows: unknown[] = []
    for (let cursor: unknown = undefined; ; ) {
      const page = { ...query, ...(cursor === undefined ? {} : { cursor: String(cursor) }) }
      const { body } = await send(world, contract, tenant, { ...request, query: page })
      rows.push(...rowsAt(body, path))
      cursor = Object(body).next_cursor
      if (cursor === undefined) break
    }
    const answer = await send(world, contract, tenant, { ...request, query: { ...query, format: 'csv' } })
    assert.equal(answer.status, 200, `${contract.id} ${answer.text}`)
    const alone = await send(world, csvContractOf(contract), tenant, { ...request, query })
    assert.equal(alone.status, 200, `${contract.id} ${alone.text}`)
    // The audit trail has one row more: the first export.
    const rowsOf = (text: string) => text.split('\r\n').filter((line) => !line.includes(',listOwnAudit,'))
    assert.deepEqual(rowsOf(alone.text), rowsOf(answer.text), `${contract.id} with .csv after its path`)
    const [head = [], ...lines] = parse(answer.text)
    assert.equal(lines.length, rows.length, contract.id)
    assert.ok(head.length >= 3 && lines.every(({ length }) => length === head.length), `${contract.id}: ${head}`)
    const column = head.indexOf('uuid')
    if (column >= 0)
      assert.deepEqual(
        lines.map((line) => line[column]),
        rows.map((row) => Object(row).uuid),
        contract.id,
      )
  }
})

test('cells that a spreadsheet would run get an apostrophe, and phone numbers do not', async () => {
  const texts = ['=1+1', '-2+3', '@SUM(A1)', '\t=1', '+1+cmd|x', '+44 7700', 'a,"b"\r\nc', 'plain', ' =1']
  const { channel } = await scene.number()
  const contact = '+447700900777'
  for (const [i, text] of texts.entries())
    await db.run`
      insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price,
        status, created_at, updated_at)
      values (${tenant.id}, ${uuid()}, ${channel.slice(3)}, 'inbound', ${contact}, '+447700900001', ${text}, 'gsm7', 1,
        0, 'received', ${new Date(1_767_000_000_000 + i * 1_000)}, app_now())`
  const [head = [], ...lines] = await read(`/open/sms/messages/${channel}/${contact}?format=csv`)
  const cells = (name: string) => lines.map((line) => line[head.indexOf(name)])
  assert.deepEqual(cells('text'), [
    "'=1+1",
    "'-2+3",
    "'@SUM(A1)",
    "'\t=1",
    "'+1+cmd|x",
    "'+44 7700",
    'a,"b"\r\nc',
    'plain',
    ' =1',
  ])
  assert.deepEqual(new Set(cells('source')), new Set([contact]))
})

test('HEAD reads no more than the first page', async () => {
  await fillLists(database, owner, { from: 0, to: 1_000, tables: new Set(['holds']) })
  pages = 0
  const headers = { 'x-user-api-key': tenant.key }
  const { statusCode } = await app.inject({ method: 'HEAD', url: '/open/holds?format=csv', headers })
  assert.equal(statusCode, 200)
  await until(async () => world.parts.limiters.exports.used(tenant.id) === 0)
  assert.equal(pages, 1)
})

test('filters apply, page parameters do not, and a refusal is JSON with its field', async () => {
  const of = (query: string) => read(`/open/ledger?format=csv&${query}`)
  assert.equal((await of('until=2020-01-01T00:00:00Z')).length, 1, 'an empty list is its header')
  assert.deepEqual(await of('results_per_page=1'), await of(''))
  const ask = async (url: string) => {
    const { status, body, headers } = await world.call(tenant, 'GET', url)
    assert.match(String(headers['content-type']), /^application\/json/)
    return [status, body.field]
  }
  assert.deepEqual(await ask('/open/ledger?format=xml'), [400, '/query/format'])
  assert.deepEqual(await ask('/open/ledger?format=csv&cursor=x'), [400, '/query/cursor'])
  const foreign = await makeScene(world, 'other', await world.tenant())
  const { channel } = await foreign.number()
  const missing = await ask(`/open/sms/messages/SMS${uuid()}/+447700900123?format=csv`)
  assert.deepEqual(await ask(`/open/sms/messages/${channel}/+447700900123?format=csv`), missing)
  assert.equal(missing[0], 404)
})

const request = async (path: string): Promise<IncomingMessage> => {
  const sent = get({ port, host: '127.0.0.1', path, headers: { 'x-user-api-key': tenant.key }, agent: false })
  const [response]: [IncomingMessage] = (await once(sent, 'response')) as [IncomingMessage] // Node's event
  return response
}

test('a long list is read no faster than the client takes it, and one export of an account runs at a time', async (t) => {
  const count = long ? 100_000 : 10_300
  await fillLists(database, owner, { from: 0, to: count, tables: new Set(['transfers']) })
  // Larger than the buffers of the sockets.
  await db.run`update transfers set note = repeat('x', 5000) where account_id = ${tenant.id}`
  const { n: all } = await db.one<{ n: number }>`
    select count(*)::integer as n from transfers where account_id = ${tenant.id}`
  const { exports } = world.parts.limiters
  pages = 0
  const response = await request('/open/ledger?format=csv')
  assert.equal(response.statusCode, 200)
  t.after(() => response.destroy())
  response.pause()
  let [seen, same] = [0, 0]
  await until(async () => {
    same = pages === seen ? same + 1 : 0
    seen = pages
    return same >= 10
  })
  assert.ok(seen > 0 && seen < all / 400, `${seen} pages are read before the client takes them`)
  const second = await world.call(tenant, 'GET', '/open/users?format=csv')
  assert.deepEqual([second.status, second.body.error_code], [503, 'too_many_exports'])
  const ids = new Set<string>()
  let [rest, largest] = ['', 0]
  for await (const part of response.setEncoding('latin1')) {
    const lines = `${rest}${part}`.split('\r\n')
    rest = lines.pop() ?? ''
    for (const line of lines) ids.add(line.slice(0, 39))
    largest = Math.max(largest, process.memoryUsage().heapUsed)
  }
  assert.equal(ids.size, all + 1, 'every row once, and the header')
  assert.ok(largest < 400 * 1024 * 1024, `${largest} bytes of heap`)
  await until(async () => exports.used(tenant.id) === 0)

  const left = await request('/open/ledger?format=csv')
  assert.equal(exports.used(tenant.id), 1)
  left.destroy()
  await until(async () => exports.used(tenant.id) === 0)
})

test('the path with .csv refuses as the list does, and has its place in the audit trail', async () => {
  const ask = async (url: string, who: typeof tenant | null = tenant) => {
    const { status, body } = await world.call(who, 'GET', url)
    return [status, body.error_code, body.field]
  }
  assert.deepEqual(await ask('/open/ledger.csv', null), await ask('/open/ledger', null))
  assert.deepEqual(await ask('/open/ledger.csv?since=x'), [400, 'invalid_request', '/query/since'])
  const foreign = await makeScene(world, 'foreign', await world.tenant())
  const { channel } = await foreign.number()
  const missing = await ask(`/open/sms/messages/SMS${uuid()}/+447700900123.csv`)
  assert.deepEqual(await ask(`/open/sms/messages/${channel}/+447700900123.csv`), missing)
  assert.equal(missing[0], 404)
  const { status, headers } = await world.call(tenant, 'POST', '/open/ledger.csv')
  assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'])
  const [head = [], line = []] = await read('/open/audit?format=csv&action=getOwnLedger')
  assert.equal(line[head.indexOf('action')], 'getOwnLedger')
})

test('OpenAPI has one operation for the JSON of every such list and one for its CSV, each with one type', async () => {
  const { body } = await world.call(null, 'GET', '/openapi.json')
  for (const { url, id } of lists) {
    const path = url.replace(/:(\w+)/g, '{$1}')
    const [json, csv] = [body.paths[path].get, body.paths[`${path}.csv`].get]
    assert.deepEqual([json.operationId, csv.operationId], [id, `${id}Csv`])
    assert.deepEqual(Object.keys(json.responses['200'].content), ['application/json'], id)
    assert.deepEqual(Object.keys(csv.responses['200'].content), ['text/csv'], id)
    assert.match(json.description, /as CSV\. So has this operation with `format=csv`\./)
    const names = [json, csv].map(({ parameters = [] }) => parameters.map(({ name }: { name?: string }) => name))
    assert.ok(!names.flat().includes('format'), id)
    assert.ok(
      !names[1].some((name: string) => /^(?:cursor|page|page_number|per_page|results_per_page)$/.test(name)),
      id,
    )
  }
})
