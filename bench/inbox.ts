// Measures the shared inbox: the latency of its lists with the data of scripts/console-data.ts, and the rate of accepted SMS
// with and without the projector.

import { until } from '../test/platform.ts'
import { benchRun } from './bench.ts'
import { startDatabase } from './database.ts'
import { filledInbox } from './filled-inbox.ts'
import { assembleInProcess } from './in-process.ts'
import { load, post } from './load.ts'
import { from, key, type Platform, startPlatform } from './platform.ts'
import { startMeter } from './usage.ts'

const run = benchRun()
const { rounds, seconds } = run
const conversations = run.number('conversations')

const at = (times: readonly number[], share: number) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN

const measureLists = async () => {
  const server = await startDatabase(filledInbox(conversations))
  const { db, app, end } = await assembleInProcess(server.url)
  await db.run`update accounts set requests_per_minute = 100000000`
  const get = async (url: string) => {
    const answer = await app.inject({ method: 'GET', url, headers: { 'x-user-api-key': key } })
    if (answer.statusCode !== 200) throw new Error(`GET ${url}: ${answer.statusCode} ${answer.payload}`)
    return answer.json()
  }
  const list = '/open/conversations?status=open&results_per_page=50'
  let deep = list
  for (let page = 1; page < Math.min(1_000, conversations / 250 - 1); page++)
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

/** Messages of jobs that wait are given up: sending them all takes longer than the measurement. */
const giveUpWaiting = async ({ db }: Platform) => {
  await until(async () => {
    await db.run`delete from jobs where kind like 'sms.%' and leased_until is null`
    return (await db.one<{ n: number }>`select count(*)::integer as n from jobs where kind like 'sms.%'`).n === 0
  }, 30_000)
}

const measureOne = async (platform: Platform) => {
  const { port, pid, postgres } = platform
  const costOf = await startMeter({ node: [pid], postgres: [postgres], peer: platform.simulator })
  const { count, seconds: took, statuses } = await load(port, 64, seconds, next)
  const { cpu, peer } = await costOf(count)
  const odd = [...statuses].filter(([status]) => status !== 202)
  if (odd.length > 0) console.error('responses other than 202:', odd)
  await giveUpWaiting(platform)
  return { rate: count / took, cpu: cpu - peer }
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

const measureAccepting = async () => {
  const settings = { TRUNKLINE_ROLES: 'api,worker', TRUNKLINE_SANDBOX: 'true' }
  const on = await startPlatform(0, settings)
  const off = await startPlatform(0, { ...settings, TRUNKLINE_INBOX: 'false' })
  for (const platform of [on, off]) await measureOne(platform)
  for (let round = 0; round < rounds; round++) {
    const found: Record<'on' | 'off', Awaited<ReturnType<typeof measureOne>>[]> = { on: [], off: [] }
    // Both are measured twice, so that a trend of the machine concerns them alike.
    for (const name of ['on', 'off', 'off', 'on'] as const) found[name].push(await measureOne(name === 'on' ? on : off))
    const rate = { on: mean(found.on.map((one) => one.rate)), off: mean(found.off.map((one) => one.rate)) }
    const cpu = { on: mean(found.on.map((one) => one.cpu)), off: mean(found.off.map((one) => one.cpu)) }
    run.record({ on: rate.on, off: rate.off, ratio: rate.on / rate.off, 'cpu.on': cpu.on, 'cpu.off': cpu.off })
    console.error(`round ${round + 1}: ${Math.round(rate.on)}/s with the projector, ${Math.round(rate.off)}/s without`)
  }
  await on.stop()
  await off.stop()
}

const only = run.word('only')
if (only !== 'lists') await measureAccepting()
if (only !== 'accepting') await measureLists()
