// Measures whether the latency of contact searches is independent of the number of contacts.
//
// The directory of one account grows from 10,000 contacts to 1,000,000; a second account has 1,000. The distribution of
// names is realistic: a few are frequent, most are rare. Each figure is the latency of a whole HTTP request in this
// process, one at a time, with its ratio to the smallest directory.

import { listContacts } from '../src/domains/contacts/contract.ts'
import { add, type Draft, emptyDraft } from '../src/domains/contacts/ops.ts'
import { cursorsOf } from '../src/platform/http/list-cursor.ts'
import { benchRun } from './bench.ts'
import { startDatabase } from './database.ts'
import { assembleInProcess, openCustomer } from './in-process.ts'
import { type Latencies, latencies, medianOf, table } from './lib.ts'
import { prefixed, startMeter } from './usage.ts'

const run = benchRun()
const { rounds } = run
const [maxSize, requests] = [run.number('most'), run.number('requests')]
const sizes = [10_000, 100_000, 1_000_000].filter((size) => size <= maxSize)

const server = await startDatabase(run.rows)
const { db, patient, app, end } = await assembleInProcess(server.url)

const [large, small] = [await openCustomer(db), await openCustomer(db)]

/** Sends a request that must succeed. @returns the body of the response */
const call = async (method: 'GET' | 'POST' | 'PUT', url: string, body?: object, key = large.key): Promise<string> => {
  const headers = { 'x-user-api-key': key }
  const answer = await app.inject({ method, url, headers, ...(body ? { payload: body } : {}) })
  if (answer.statusCode >= 300) throw new Error(`${method} ${url}: ${answer.statusCode} ${answer.payload}`)
  return answer.payload
}

/** Hashes an integer to a number from 0 to 1 (splitmix32). */
const chance = (n: number): number => {
  let state = Math.imul(n + 0x9e3779b9, 0x85ebca6b)
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35)
  return ((state ^ (state >>> 16)) >>> 0) / 2 ** 32
}

const firstSyllables = 'Ma Jo An Al Ka So Da El Ri Be Lu Mi Ro Sa Te Vi No Ha Ga Pe'.split(' ')
const middleSyllables = 'ri nat le ha vin mo ta li ber no ga do sel ka ni rou wen chi zo pa'.split(' ')
const lastSyllables = 'a son ez man ova er in ton ard is el ko mann ini sen ski ton ley rd as'.split(' ')
const pick = (parts: readonly string[], share: number): string => parts[Math.floor(share * parts.length)] ?? ''

/** Draws from 200 first names and 8,000 last names by the square of a uniform number: low ranks are frequent. */
const firstOf = (n: number) => {
  const rank = Math.floor(chance(3 * n) ** 2 * 200)
  return (
    pick(firstSyllables, chance(rank)) +
    pick(middleSyllables, chance(rank + 1000)) +
    pick(lastSyllables.slice(0, 4), chance(rank + 2000))
  )
}
const lastOf = (n: number) => {
  const rank = Math.floor(chance(3 * n + 1) ** 2 * 8000)
  return (
    pick(firstSyllables, chance(rank + 3000)) +
    pick(middleSyllables, chance(rank + 20_000)) +
    pick(lastSyllables, chance(rank + 40_000))
  )
}
const domains = ['gmail.com', 'outlook.com', 'example.com', 'acme.example', 'navy.example']
const phoneOf = (n: number) => `+4477${String(Math.floor(chance(3 * n + 2) * 1e8)).padStart(8, '0')}`
const emailOf = (n: number) =>
  `${firstOf(n)}.${lastOf(n)}${n}@${pick(domains, chance(n + 7_000_000) ** 2)}`.toLowerCase()

const draftOf = (n: number): Draft => ({
  ...emptyDraft,
  first_name: firstOf(n),
  last_name: lastOf(n),
  details: [
    { type: 'PH', value: phoneOf(n), key: phoneOf(n), label: null, extension: null },
    { type: 'E', value: emailOf(n), key: emailOf(n), label: null, extension: null },
  ],
})

const fill = async (account: string, from: number, to: number): Promise<number> => {
  const began = performance.now()
  const batch = 1000
  for (let at = from; at < to; at += batch)
    await patient.begin((tx) =>
      add(
        tx,
        account,
        Array.from({ length: Math.min(batch, to - at) }, (_, i) => draftOf(at + i)),
      ),
    )
  return performance.now() - began
}
await fill(small.id, 0, 1000)

/** Records the searches of the largest directory, round by round. */
const recordSearches = (all: ReadonlyMap<string, Latencies[]>): void => {
  const p50 = (name: string, i: number) => figures.get(name)?.at(i)?.p50 ?? Number.NaN
  const slowest = searches.reduce((a, b) => (p50(a, -1) >= p50(b, -1) ? a : b))
  for (const [round, { p50: search }] of (all.get(slowest) ?? []).entries()) {
    const other = all.get('the other account')?.[round]?.p50 ?? Number.NaN
    run.record({ search, growth: search / p50(slowest, 0), other })
  }
}

let size = 0
/** Returns the index of a random existing contact. */
const randomIndex = (i: number) => Math.floor(chance(i + 9_000_000) * size)
const swapLetters = (word: string) => word.slice(0, 2) + word.slice(3, 4) + word.slice(2, 3) + word.slice(4)

const cursors = cursorsOf(listContacts)
const search = (q: string, key?: string) =>
  call('GET', `/open/contacts/search?q=${encodeURIComponent(q)}`, undefined, key)
let deep: string[] = []

/** The measured operations. Each receives the number of the round. */
const operations: Record<string, (i: number) => Promise<unknown>> = {
  'a letter': (i) => search(pick([...'majskdel'], chance(i))),
  'a beginning, 4 letters': (i) => search(lastOf(randomIndex(i)).slice(0, 4)),
  'a last name': (i) => search(lastOf(randomIndex(i))),
  'both names': (i) => search(`${firstOf(randomIndex(i))} ${lastOf(randomIndex(i))}`),
  'both names, swapped letters': (i) =>
    search(`${swapLetters(firstOf(randomIndex(i)))} ${swapLetters(lastOf(randomIndex(i)))}`),
  'a part of a name': (i) => search(lastOf(randomIndex(i)).slice(2, 6)),
  'a name that is not there': (i) => search(`quixote${i}`),
  '3 digits that all have': () => search('447'),
  '3 digits': (i) => search(phoneOf(randomIndex(i)).slice(8, 11)),
  '6 digits in the middle': (i) => search(phoneOf(randomIndex(i)).slice(5, 11)),
  'a whole number': (i) => search(phoneOf(randomIndex(i))),
  'an e-mail address': (i) => search(emailOf(randomIndex(i))),
  'a domain': () => search('navy.example'),
  'the other account': (i) => search(lastOf(i % 1000), small.key),
  'list, first page': () => call('GET', '/open/contacts'),
  'list, by cursor': (i) => call('GET', `/open/contacts?cursor=${deep[i % deep.length]}`),
  create: (i) =>
    call('POST', '/open/contacts', {
      first_name: firstOf(i),
      last_name: lastOf(i),
      contact_details: [{ type: 'PH', value: phoneOf(i) }],
    }),
}

const figures = new Map<string, Latencies[]>(Object.keys(operations).map((name) => [name, []]))
const added: string[] = []
const searches = Object.keys(operations).filter((name) => !/^(the other account|list, |create)/.test(name))
const bytes: string[] = []
for (const wanted of sizes) {
  const count = wanted - size
  added.push(`${Math.round((count / (await fill(large.id, size, wanted))) * 1000)}/s`)
  size = wanted
  await patient.raw('vacuum analyze contacts')
  await patient.raw('vacuum analyze contact_details')
  const [space] = await patient.raw<{ heap: string; grams: string }>(`
    select pg_size_pretty(pg_table_size('contacts')) as heap, pg_size_pretty(pg_relation_size('contacts_by_gram')) as grams`)
  bytes.push(`${space?.heap}, ${space?.grams}`)
  const ids = await patient.raw<{ id: string }>(`
    select id from contacts where account_id = '${large.id}' order by md5(id::text) limit 1000`)
  deep = ids.map(({ id }) => cursors.write({ time: '2026-01-01T00:00:00Z', id }))
  const all = new Map<string, Latencies[]>()
  for (let round = 0; round < rounds; round++) {
    const costOf = await startMeter({ node: [process.pid], postgres: [server.pid()] }, db)
    let count = 0
    for (const [name, act] of Object.entries(operations)) {
      const counted = (i: number) => {
        count++
        return act(i + round * requests)
      }
      all.set(name, [...(all.get(name) ?? []), await latencies(counted, requests)])
    }
    if (wanted === sizes.at(-1)) run.record(prefixed('cost', await costOf(count)))
  }
  for (const [name, list] of figures) list.push(medianOf(all.get(name) ?? []))
  if (wanted === sizes.at(-1)) recordSearches(all)
  console.error(`${wanted} contacts done`)
}

const ms = (value: number) => value.toFixed(value < 10 ? 1 : 0)
console.log(`milliseconds p50 / p99 (p99 as a ratio to that of ${sizes[0]} contacts)\n`)
table(
  ['', ...sizes.map((size) => size.toLocaleString('en'))],
  [
    ...[...figures].map(([name, list]) => [
      name,
      ...list.map(({ p50, p99 }) => `${ms(p50)} / ${ms(p99)} (${(p99 / (list[0]?.p99 ?? 1)).toFixed(1)})`),
    ]),
    ['(added)', ...added],
    ['(table, index of grams)', ...bytes],
  ],
)

await end()
await server.stop()
