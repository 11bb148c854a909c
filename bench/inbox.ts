// Measures the shared inbox: the latency of its lists with the data of scripts/console-data.ts, and the rate of accepted SMS
// with and without the projector.

import { acceptanceSizes, fillInbox } from '../scripts/console-data/fill-inbox.ts'
import { until } from '../test/platform.ts'
import { benchRun } from './bench.ts'
import { startDatabase } from './database.ts'
import { assembleInProcess, openCustomer } from './in-process.ts'
import { load, post } from './load.ts'
import { from, key, type Platform, startPlatform } from './platform.ts'

const run = benchRun()
const { rounds, seconds } = run
const conversations = run.number('conversations')

const at = (times: readonly number[], share: number) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN

const measureLists = async () => {
  const server = await startDatabase(0)
  const { db, patient, app, end } = await assembleInProcess(server.url)
  const owner = await openCustomer(db)
  const sizes = { ...acceptanceSizes, conversations, open: conversations / 5, texts: conversations * 2 }
  await fillInbox(patient, owner.id, sizes, (line) => console.error(line))

  const get = async (url: string) => {
    const answer = await app.inject({ method: 'GET', url, headers: { 'x-user-api-key': owner.key } })
    if (answer.statusCode !== 200) throw new Error(`GET ${url}: ${answer.statusCode} ${answer.payload}`)
    return answer.json()
  }
  const list = '/open/conversations?status=open&results_per_page=50'
  let deep = list
  for (let page = 1; page < Math.min(1_000, sizes.open / 50 - 1); page++)
    deep = `${list}&cursor=${(await get(deep)).next_cursor}`
  const kinds = {
    first: list,
    deep,
    counts: '/open/conversations/counts',
    search: '/open/conversations?q=ref77',
    common: '/open/conversations?q=hello',
  }
  for (let round = 0; round < rounds; round++) {
    const times: Record<string, number[]> = {}
    // The kinds take turns, so that load of the machine affects all of them.
    for (let n = 0; n < run.number('requests') + 20; n++)
      for (const [kind, url] of Object.entries(kinds)) {
        const began = performance.now()
        await get(url)
        if (n >= 20) times[kind] = [...(times[kind] ?? []), performance.now() - began]
      }
    const p95 = Object.fromEntries(Object.entries(times).map(([kind, of]) => [kind, at(of, 0.95)]))
    run.record({ ...p95, growth: at(times.deep ?? [], 0.5) / at(times.first ?? [], 0.5) })
  }
  await end()
  await server.stop()
}

let sent = 0
const next = (): Buffer =>
  post(
    '/open/sms/send',
    { 'x-user-api-key': key },
    JSON.stringify({
      from_number: from,
      to_number: `+4477${10_000_000 + (sent++ % 50_000) * 1_607}`,
      text: 'A message',
    }),
  )

const rateOf = async ({ port, db }: Platform): Promise<number> => {
  const { count, seconds: took, statuses } = await load(port, 64, seconds, next)
  const odd = [...statuses].filter(([status]) => status !== 202)
  if (odd.length > 0) console.error('responses other than 202:', odd)
  // The rest is sent before the other platform is measured.
  await until(
    async () => (await db.one<{ n: number }>`select count(*)::integer as n from jobs where kind like 'sms.%'`).n === 0,
    120_000,
  )
  return count / took
}

const measureAccepting = async () => {
  const settings = { TRUNKLINE_ROLES: 'api,worker', TRUNKLINE_SANDBOX: 'true' }
  const on = await startPlatform(0, settings)
  const off = await startPlatform(0, { ...settings, TRUNKLINE_INBOX: 'false' })
  for (const platform of [on, off]) await rateOf(platform)
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? [on, off] : [off, on]
    const rates = new Map<Platform, number>()
    for (const platform of order) rates.set(platform, await rateOf(platform))
    const [withIt = Number.NaN, without = Number.NaN] = [rates.get(on), rates.get(off)]
    run.record({ on: withIt, off: without, ratio: withIt / without })
    console.error(`round ${round + 1}: ${Math.round(withIt)}/s with the projector, ${Math.round(without)}/s without`)
  }
  await on.stop()
  await off.stop()
}

const only = run.word('only')
if (only !== 'lists') await measureAccepting()
if (only !== 'accepting') await measureLists()
