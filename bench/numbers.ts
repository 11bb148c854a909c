// Measures whether searches, pages of free numbers and purchases are independent of the size of the inventory.
//
// An inventory of 1,000 groups grows from 10,000 numbers to 5,000,000. One group holds a fifth of them; searches and
// purchases use that group. Each figure is the latency of a whole HTTP request in this process, one at a time, with its
// ratio to the smallest inventory. Then concurrent buyers buy from one group, and from one group each.

import { issueKey, openAccount } from '../src/domains/accounts/ops.ts'
import { deposit } from '../src/domains/ledger/ops.ts'
import { benchRun } from './bench.ts'
import { startDatabase } from './database.ts'
import { assembleInProcess } from './in-process.ts'
import { type Latencies, latencies, medianOf, table } from './lib.ts'
import { type Cost, prefixed, startMeter } from './usage.ts'

const run = benchRun()
const { rounds } = run
const [maxSize, buyers] = [run.number('most'), run.number('buyers')]
const requests = run.number('requests')
const sizes = [10_000, 100_000, 1_000_000, 5_000_000].filter((size) => size <= maxSize)
const groups = 1000

const server = await startDatabase(run.rows)
const { db, patient, app, end } = await assembleInProcess(server.url, 16)

/** Opens an account with enough money. @returns its key */
const customer = () =>
  db.begin(async (tx) => {
    const id = await openAccount(tx, { name: 'Bench', requestsPerMinute: 100_000_000, sandbox: true })
    await deposit(tx, id, 9_000_000_000_000, { kind: 'credit' })
    return (await issueKey(tx, id, 'bench')).key
  })
const ownKey = await customer()

/** Sends a request that must succeed. @returns the body of the response */
const call = async (method: 'GET' | 'POST' | 'DELETE', url: string, body?: object, key = ownKey): Promise<string> => {
  const headers = { 'x-user-api-key': key }
  const answer = await app.inject({ method, url, headers, ...(body ? { payload: body } : {}) })
  if (answer.statusCode >= 300) throw new Error(`${method} ${url}: ${answer.statusCode} ${answer.payload}`)
  return answer.payload
}

await patient.raw(`insert into number_countries values ('GB', 'United Kingdom', '44')`)
await patient.raw(`
  insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
    allow_number_selection, is_eligible_for_free_number, supplier)
  select 'g' || g, 'GB', 'local', (1000 + g)::text, 'Place ' || g, 'place ' || g, 1, 1, 0, true, false, 'bench'
  from generate_series(0, ${groups - 1}) g`)
await patient.raw(`insert into number_stock select id, 0 from number_groups`)

/**
 * Adds the numbers `from` to `to` - 1: every fifth to the group g0, the others in turn to the rest. The last seven
 * digits are scattered and unique within a group (multiplied by a prime that does not divide 10^7).
 */
const grow = async (from: number, to: number): Promise<number> => {
  const began = performance.now()
  const batch = 100_000
  for (let at = from; at < to; at += batch)
    await patient.raw(`
      insert into numbers (number, group_id, shuffle)
      select '+44' || (1000 + g) || lpad((n::bigint * 7368787 % 10000000)::text, 7, '0'), 'g' || g,
        (random() * 4294967295 - 2147483648)::integer
      from (select n, case when n % 5 = 0 then 0 else 1 + n % ${groups - 1} end as g
        from generate_series(${at}, ${Math.min(at + batch, to) - 1}) n) s
      order by 1`)
  const took = performance.now() - began
  await patient.raw(`
    update number_stock s set free = (select count(*) from numbers n where n.group_id = s.group_id and state = 'free')`)
  await patient.raw('vacuum analyze numbers')
  await patient.raw('vacuum analyze number_stock')
  return took
}

const scattered = (i: number, limit: number) => (i * 7_368_787) % limit

const cancel = async (reserved: string): Promise<void> => {
  const { data } = JSON.parse(reserved)
  await call('DELETE', `/open/numbers/reservations/${data.reservation_details.uuid}`)
}

const available = '/open/numbers/available?group_id=g0'
const digits = (i: number, length: number) => String(scattered(i, 10 ** length)).padStart(length, '0')
/** Cursors at random positions in the group. */
let deep: string[] = []
/** The measured operations. Each receives the number of the round. */
const operations: Record<string, (i: number) => Promise<unknown>> = {
  'groups by name': (i) =>
    call('GET', `/open/numbers/groups?country=GB&city_name_or_prefix=place+${scattered(i, 1000)}`),
  'groups, a page': (i) => call('GET', `/open/numbers/groups?country=GB&page=${i % 20}&per_page=50`),
  'free numbers, first page': () => call('GET', available),
  'free numbers, page 20': () => call('GET', `${available}&page=19`),
  'free numbers, by cursor': (i) => call('GET', `${available}&cursor=${deep[i % deep.length]}`),
  'contain 2 digits': (i) => call('GET', `${available}&number_contains=${digits(i, 2)}`),
  'contain 3 digits': (i) => call('GET', `${available}&number_contains=${digits(i, 3)}`),
  'contain 4 digits': (i) => call('GET', `${available}&number_contains=${digits(i, 4)}`),
  'contain 7 digits': (i) => call('GET', `${available}&number_contains=${digits(i, 7)}`),
  'reserve and cancel': async () => cancel(await call('POST', '/open/numbers/reservations', { group_id: 'g0' })),
  purchase: () => call('POST', '/open/numbers/purchase', { group_id: 'g0' }),
}

const figures = new Map<string, Latencies[]>(Object.keys(operations).map((name) => [name, []]))
const imports: string[] = []
const p50 = (name: string, i: number) => figures.get(name)?.at(i)?.p50 ?? Number.NaN

/** Records the slowest kind of request in the largest inventory, round by round. */
const recordSlowest = (all: ReadonlyMap<string, Latencies[]>): void => {
  const slowest = [...figures.keys()].reduce((a, b) => (p50(a, -1) >= p50(b, -1) ? a : b))
  for (const { p50: large } of all.get(slowest) ?? []) run.record({ slowest: large, growth: large / p50(slowest, 0) })
}

let size = 0
for (const wanted of sizes) {
  const added = wanted - size
  const took = await grow(size, wanted)
  imports.push(`${Math.round(added / took)} k/s`)
  size = wanted
  const some = await patient.raw<{ n: string }>(`
    select substr(number, 2) as n from numbers where group_id = 'g0' order by md5(number) limit 1000`)
  deep = some.map(({ n }) => n)
  const all = new Map<string, Latencies[]>()
  for (let round = 0; round < rounds; round++)
    for (const [name, act] of Object.entries(operations)) {
      const measured = await latencies((i) => act(i + round * requests), requests)
      all.set(name, [...(all.get(name) ?? []), measured])
    }
  for (const [name, list] of figures) list.push(medianOf(all.get(name) ?? []))
  if (wanted === sizes.at(-1)) recordSlowest(all)
  console.error(`${wanted} numbers done`)
}

const ms = (value: number) => value.toFixed(value < 10 ? 1 : 0)
console.log(`milliseconds p50 / p99 (p99 as a ratio to that of ${sizes[0]} numbers)\n`)
table(
  ['', ...sizes.map((size) => size.toLocaleString('en'))],
  [
    ...[...figures].map(([name, list]) => [
      name,
      ...list.map(({ p50, p99 }) => `${ms(p50)} / ${ms(p99)} (${(p99 / (list[0]?.p99 ?? 1)).toFixed(1)})`),
    ]),
    ['(inserted)', ...imports],
  ],
)

const keys = await Promise.all(Array.from({ length: buyers }, customer))

/** Returns the purchases a second of all buyers at once, each with its own account. */
const measurePurchases = async (groupOf: (buyer: number) => string): Promise<{ rate: number; cost: Cost }> => {
  const costOf = await startMeter({ node: [process.pid], postgres: [server.pid()] }, db)
  const began = performance.now()
  let count = 0
  const buyer = async (key: string, n: number) => {
    while (performance.now() - began < run.seconds * 1000) {
      await call('POST', '/open/numbers/purchase', { group_id: groupOf(n) }, key)
      count++
    }
  }
  await Promise.all(keys.map(buyer))
  return { rate: count / ((performance.now() - began) / 1000), cost: await costOf(count) }
}
for (let round = 0; round < rounds; round++) {
  const fromOwnGroups = await measurePurchases((n) => `g${n}`)
  const fromOneGroup = await measurePurchases(() => 'g0')
  run.record({
    purchases: fromOwnGroups.rate,
    oneGroup: fromOneGroup.rate,
    ...prefixed('cost', fromOwnGroups.cost),
  })
}

await end()
await server.stop()
