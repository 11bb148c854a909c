import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { find } from '../src/domains/sms/message-trace-store.ts'
import { connect, type Sql, type Tx, type Value } from '../src/platform/db/sql.ts'
import type { Contract } from '../src/platform/http/endpoint.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { testDatabase } from './database.ts'
import { atEnd } from './endings.ts'
import { fillLists, listedTables } from './list-rows.ts'
import { recipes } from './recipes/all.ts'
import type { Request } from './recipes/recipe.ts'
import { group, makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { type Node, nodeOf } from './recipes/schema.ts'
import { send } from './recipes/send.ts'

// A list reads its page and little else, whatever other accounts have. Each statement of a request is explained.

/** Rows of another account in each table: more than an exact total counts. */
const foreignRows = process.env.TRUNKLINE_TEST_LONG === '1' ? 100_000 : 12_000
const pageSize = 50
/** Rows that a request may read for a page. */
const maxRows = 10 * pageSize
/** Rows that an exact total counts: see src/platform/db/list-query.ts. */
const maxCounted = 10_001

type Statement = { readonly text: string; readonly values: Value[] }

/** The statements since the last request. */
const statements: Statement[] = []

const statementOf = (text: TemplateStringsArray, values: Value[]): Statement => ({
  text: text.reduce((whole, part, i) => (i === 0 ? part : `${whole}$${i}${part}`), ''),
  values,
})

/** @param into where the statements go */
const recorded = <S extends Sql>(sql: S, into = statements): S => ({
  ...sql,
  one: (text: TemplateStringsArray, ...values: Value[]) => {
    into.push(statementOf(text, values))
    return sql.one(text, ...values)
  },
  maybe: (text: TemplateStringsArray, ...values: Value[]) => {
    into.push(statementOf(text, values))
    return sql.maybe(text, ...values)
  },
  many: (text: TemplateStringsArray, ...values: Value[]) => {
    into.push(statementOf(text, values))
    return sql.many(text, ...values)
  },
  raw: (text: string, values: Value[] = []) => {
    into.push({ text, values })
    return sql.raw(text, values)
  },
})

const db = await testDatabase()
const scene = await makeScene(await makeRecipeWorld({ db: recorded(db) }), 'costs')
const { world, tenant } = scene

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** Rows that a plan reads from tables, and tables that it reads from their start. */
const costOf = (plan: Plan): { rows: number; scanned: string[] } => {
  const table = plan['Relation Name']
  const read =
    plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  const below = (plan.Plans ?? []).map(costOf)
  const isScan = table !== undefined || plan['Node Type'] === 'Bitmap Index Scan'
  return {
    rows: (isScan ? read * plan['Actual Loops'] : 0) + below.reduce((sum, { rows }) => sum + rows, 0),
    scanned: [
      ...(plan['Node Type'] === 'Seq Scan' && table !== undefined && listedTables.has(table) ? [table] : []),
      ...below.flatMap(({ scanned }) => scanned),
    ],
  }
}

const isTotal = ({ text }: Statement): boolean => text.includes(`limit ${maxCounted}`)

/** Rows that a search for a part of a name may read: all matches are read twice and sorted, while they are rare. */
const maxNameRows = 5_000

/** A search for digits examines the next 20,000 numbers of a group: see decision 0016. */
const maxRowsOf = (statement: Statement): number => {
  const isByName = statement.text.includes('account_name_terms')
  // An index of parts of names has no order, so that a total reads all matches: a ninth of the accounts here.
  if (isTotal(statement)) return Math.max(2 * maxCounted + maxRows, isByName ? foreignRows / 4 : 0)
  if (isByName) return maxNameRows
  // A page of free numbers of the inventory that is not full examines as many.
  return /like '%' \|\||limit 20000\)/.test(statement.text) ? 20_000 + maxRows : maxRows
}

/** Makes a request that must succeed, and checks what each of its statements reads. */
const check = async (contract: Contract, request: Request): Promise<string | null> => {
  statements.length = 0
  const { status, body, text } = await send(world, contract, tenant, request)
  assert.equal(status, 200, `${contract.id} ${JSON.stringify(request.query)}: ${text}`)
  const made = statements.splice(0)
  assert.ok(made.length > 0, `${contract.id} ran no statement`)
  for (const statement of made) {
    const [row] = await db.raw<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, buffers, format json) ${statement.text}`,
      statement.values,
    )
    const { rows, scanned } = costOf(row?.['QUERY PLAN'][0].Plan ?? assert.fail())
    const place = `${contract.id} ${JSON.stringify(request.query)}: ${statement.text.replace(/\s+/g, ' ')}`
    assert.deepEqual(scanned, [], `a sequential scan: ${place}`)
    const most = maxRowsOf(statement)
    assert.ok(rows <= most, `${rows} rows are read, ${most} may be: ${place}`)
  }
  const { next_cursor: next }: { next_cursor?: unknown } = Object(body)
  return typeof next === 'string' ? next : null
}

const fieldsOf = (node: Node | undefined): Record<string, Node> => node?.properties ?? {}

const holdsRows = (reply: Node): boolean =>
  [...Object.values(fieldsOf(reply)), ...Object.values(fieldsOf(fieldsOf(reply).data))].some(
    ({ type }) => type === 'array',
  )

const eventOf = async (): Promise<string> => {
  const [row] = await db.many<{ id: string }>`select id from events where account_id = ${tenant.id} limit 1`
  return `EVT${row?.id}`
}

/** GETs whose rows are not of the database, or of one thing. */
const others = new Set([
  'inspectMessage',
  // Sums of days, and at most 5,000 transfers.
  'getUsage',
  'listNumberTypes',
  'checkNumber',
  'getHandset',
  'readiness',
  'getConnection',
  'getWebhookStats',
  'listEventTypes',
  'getMsgappChannelStatus',
  'showSession',
])

const lists = contracts.filter(
  ({ id, method, reply }) => method === 'GET' && holdsRows(nodeOf(reply)) && !others.has(id),
)

const pagingNames = new Set(['page_number', 'page', 'results_per_page', 'per_page', 'cursor'])

/** Values of filters that no schema lists. Many match few rows or none: those are the ones that cost. */
const valuesOf: Record<string, readonly string[]> = {
  name: ['Customer 7', 'Unknown'],
  name_contains: ['Tenant', 'ustomer 7', 'q', 'Unknown'],
  account_uuid: [tenant.uuid],
  actor: ['test', 'operator', `KEY${uuid()}`],
  action: ['createUser', 'changeAccount'],
  target: [tenant.uuid, 'USR7', 'USR17'],
  since: ['2026-01-01T00:00:30Z', '2036-01-01T00:00:00Z'],
  until: ['2026-01-01T00:00:30Z', '2020-01-01T00:00:00Z'],
  before_ts: ['1767225600'],
  contact_number: ['+447700900123', '+447700900998', 'Unknown'],
  in: ['contacts', 'numbers', 'texts', 'calls', 'events'],
  prefix: ['44', '44790000001', '999'],
  country: ['GB', 'US'],
  group_id: [group.id],
  region: [String(group.region)],
  region_id: [String(group.region)],
  city_id: [String(group.city)],
  city_name_or_prefix: ['Sceneton', '1632'],
  did_type: ['local'],
  number_contains: ['77'],
  contains: ['77'],
  to: ['customer7@example.com', 'unknown@example.com'],
  to_number: ['+447900000001', '+15550001111'],
  from_number: ['+447900000001', '+15550001111'],
  phone_number: ['+447900000001', '+15550001111'],
  number: ['+447900000001', '+15550001111'],
  min_duration: ['60'],
  kind: ['sms'],
  q: ['Ada', 'zzzz'],
  blocked: ['true', 'false'],
  query: ['Ada'],
  role: ['api'],
  event_name: ['contact.created', 'number.purchased'],
  status_code: ['500'],
  min_latency_ms: ['1000'],
  status: ['404'],
  route: ['/open/info'],
  error_code: ['ESME_RINVDSTADR', '001', 'not_found'],
  request_id: ['req_unknown'],
  key_last_four: ['none'],
  assignee: ['me', 'none'],
  unread: ['true', 'false'],
  waiting: ['true', 'false'],
  priority: ['0', '2'],
  kinds: ['sms'],
}

/** The recipe's requests, made before the rows of others. */
const requests = new Map<string, Request>()

/** Things of the inbox that filters name. */
const inboxValue = async (name: string): Promise<string[] | null> => {
  const id = uuid()
  if (name === 'contact_uuid') return [await scene.contact()]
  if (name === 'conversation_uuid' || name === 'conversation')
    return [(await recipes.getInboxConversation?.ok(scene))?.params?.conversation_uuid ?? assert.fail(name)]
  if (name === 'tag') {
    await db.run`
      insert into inbox_tags (account_id, id, name, name_key, color, created_at)
      values (${tenant.id}, ${id}, ${id}, ${id}, 'red', now())`
    return [`TAG${id}`]
  }
  if (name === 'view') {
    await db.run`
      insert into saved_views (account_id, id, name, page, query, place, created_at)
      values (${tenant.id}, ${id}, 'Open', 'inbox', ${{ status: 'open' }}, 0, now())`
    return [`VIW${id}`]
  }
  if (name !== 'around') return null
  const conversation = String(requests.get('listConversationItems')?.params?.conversation_uuid).slice(3)
  await db.run`
    insert into conversation_items (account_id, conversation_id, id, kind, at, change)
    values (${tenant.id}, ${conversation}, ${id}, 'change', now(), '{"field": "status", "from": "open", "to": "closed"}')`
  return [`ITM${id}`]
}

const filtersOf = async (contract: Contract): Promise<[name: string, value: string][]> => {
  const filters: [string, string][] = []
  for (const [name, node] of Object.entries(fieldsOf(nodeOf(contract.query)))) {
    if (pagingNames.has(name)) continue
    const ids =
      name === 'channel_uuid' ? [node.pattern === '^WPN' ? await scene.chat() : (await scene.number()).channel] : null
    const event = name === 'after' ? [await eventOf()] : null
    const made = await inboxValue(name)
    const user = name === 'user_uuid' ? [await scene.user()] : null
    const values = ids ?? event ?? made ?? user ?? node.enum?.map(String) ?? valuesOf[name]
    assert.ok(values, `give ${contract.id} values of the filter ${name}`)
    // The groups of the US need a region too.
    const some = contract.id === 'listNumberGroups' ? values.filter((value) => value !== 'US') : values
    for (const value of some) filters.push([name, value])
  }
  return filters
}

for (const { id } of lists) {
  const recipe = recipes[id]
  assert.ok(recipe, `${id} has no recipe: give it one in test/recipes`)
  requests.set(id, await recipe.ok(scene))
}
const filters = new Map<string, [string, string][]>()
for (const contract of lists) filters.set(contract.id, await filtersOf(contract))

const stranger = await world.tenant()
// Without a time limit: the long form writes 100,000 rows in a statement.
const patient = connect({ url: db.url, connections: 1, unlimited: true })
atEnd(patient.end)
await fillLists(
  patient,
  { account: stranger.id, smsChannel: uuid(), chatChannel: uuid(), webhook: uuid(), group: group.id },
  { from: 0, to: foreignRows, withInstallation: true },
)
await patient.raw('vacuum (analyze)')

test('the walk sees every list', () => {
  assert.ok(lists.length >= 45, `saw only ${lists.length} lists`)
})

for (const contract of lists)
  test(`${contract.id} reads at most ten times its page, with every filter and at every page`, async () => {
    const { query = {}, ...request } = requests.get(contract.id) ?? {}
    const names = fieldsOf(nodeOf(contract.query))
    const size = 'results_per_page' in names ? { results_per_page: pageSize } : {}
    const isFilter = (name: string) => !pagingNames.has(name)
    const required = Object.fromEntries(
      Object.entries(query).filter(([name]) => isFilter(name) && nodeOf(contract.query).required?.includes(name)),
    )
    const run = (more: Record<string, string | number>) =>
      check(contract, { ...request, query: { ...required, ...size, ...more } })
    const next = await run({})
    if ('page_number' in names) await run({ page_number: 1 })
    if (next !== null && 'cursor' in names) await run({ cursor: next })
    for (const [name, value] of filters.get(contract.id) ?? []) await run({ [name]: value })
  })

test('a message is found by its id alone, however many accounts have messages', async () => {
  await patient.begin(async (tx) => {
    await tx.raw("set local session_replication_role = 'replica'")
    await tx.raw(`insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments,
        price, status, created_at, updated_at)
      select id, id, id, 'outbound', '+447700900999', '+447700900001', 'a', 'gsm7', 1, 0.04, 'delivered', now(), now() from accounts order by id`)
  })
  await patient.raw('vacuum (analyze) sms_messages')
  const [one] = await db.raw<{ id: string }>(`select id from accounts offset ${foreignRows / 2} limit 1`)
  const costs: ReturnType<typeof costOf>[] = []
  // Background work of the platform adds to the statements of requests.
  const made: Statement[] = []
  const explained = (tx: Tx): Tx => ({
    ...tx,
    maybe: async (text: TemplateStringsArray, ...values: Value[]) => {
      const statement = statementOf(text, values)
      made.push(statement)
      const [row] = await tx.raw<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
        `explain (analyze, format json) ${statement.text}`,
        values,
      )
      costs.push(costOf(row?.['QUERY PLAN'][0].Plan ?? assert.fail()))
      return await tx.maybe(text, ...values)
    },
  })
  const begin = <T>(work: (tx: Tx) => Promise<T>) => db.begin((tx) => work(explained(tx)))
  await find({ ...recorded(db, made), begin }, one?.id ?? '')
  assert.equal(made.length, 2)
  // At most two ranges of 64 pages.
  for (const { rows, scanned } of costs)
    assert.deepEqual([scanned, rows <= 10_000], [[], true], `${rows} rows are read`)
})

test('/metrics reads no table from its start', async () => {
  statements.length = 0
  const { statusCode, payload } = await world.app.inject({ url: '/metrics' })
  assert.equal(statusCode, 200, payload)
  const made = statements.splice(0)
  assert.ok(made.length >= 5, `saw only ${made.length} statements`)
  for (const { text, values } of made) {
    const [row] = await db.raw<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`explain (analyze, format json) ${text}`, values)
    assert.deepEqual(costOf(row?.['QUERY PLAN'][0].Plan ?? assert.fail()).scanned, [], text)
  }
})
