// Measures whether searches, pages of free numbers and purchases are independent of the size of the inventory.
//
//   npm run bench -- numbers [--most 5000000] [--rounds 300] [--buyers 64]
//
// An inventory of 1,000 groups grows from 10,000 numbers to 5,000,000. One group holds a fifth of them; searches and
// purchases use that group. Each figure is the latency of a whole HTTP request in this process, one at a time, with its
// ratio to the smallest inventory. Then concurrent buyers buy from one group, and from one group each.

import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { assemble } from '../src/assemble.ts'
import { readConfig } from '../src/config.ts'
import { issueKey, openAccount } from '../src/domains/accounts/ops.ts'
import { deposit } from '../src/domains/ledger/ops.ts'
import { makeSimulatorClient } from '../src/domains/sandbox/simulator-client.ts'
import { connect } from '../src/platform/db/sql.ts'
import { makeSeal } from '../src/platform/lib/secret.ts'
import { buildApp } from '../src/start-roles.ts'
import { startServer } from '../test/servers.ts'
import { type Latencies, latencies, option, table } from './lib.ts'

const maxSize = option('most', 5_000_000)
const rounds = option('rounds', 300)
const buyers = option('buyers', 64)
const sizes = [10_000, 100_000, 1_000_000, 5_000_000].filter((size) => size <= maxSize)
const groups = 1000

const server = await startServer()
const db = connect({ url: server.url, connections: 16 })
const patient = connect({ url: server.url, connections: 1, unlimited: true })
const parts = await assemble({
  config: readConfig({}),
  version: 'bench',
  db,
  log: pino({ level: 'warn' }),
  seal: makeSeal(randomBytes(32)),
  simulator: makeSimulatorClient(() => null),
  publicUrl: () => 'http://127.0.0.1',
})
parts.lifecycle.ready = true
const app = await buildApp(parts)
await app.ready()

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

let size = 0
for (const wanted of sizes) {
  const added = wanted - size
  const took = await grow(size, wanted)
  imports.push(`${Math.round(added / took)} k/s`)
  size = wanted
  const some = await patient.raw<{ n: string }>(`
    select substr(number, 2) as n from numbers where group_id = 'g0' order by md5(number) limit 1000`)
  deep = some.map(({ n }) => n)
  for (const [name, act] of Object.entries(operations)) figures.get(name)?.push(await latencies(act, rounds))
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
const measurePurchases = async (groupOf: (buyer: number) => string): Promise<number> => {
  const began = performance.now()
  let count = 0
  const buyer = async (key: string, n: number) => {
    while (performance.now() - began < 10_000) {
      await call('POST', '/open/numbers/purchase', { group_id: groupOf(n) }, key)
      count++
    }
  }
  await Promise.all(keys.map(buyer))
  return count / ((performance.now() - began) / 1000)
}
const fromOwnGroups = await measurePurchases((n) => `g${n}`)
const fromOneGroup = await measurePurchases(() => 'g0')
console.log(
  `\n${buyers} buyers: ${Math.round(fromOwnGroups)} purchases/s from one group each, ${Math.round(fromOneGroup)} from a single group (${(fromOneGroup / fromOwnGroups).toFixed(2)})`,
)

parts.changes.stop()
await app.close()
await db.end()
await patient.end()
await server.stop()
