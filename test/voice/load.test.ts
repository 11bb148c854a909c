import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { packetsOf, startEchoCall, startEchoCalls, unlimitedCalls } from './echo-calls.ts'
import { activeUsers, freePortSettings, openBrowserUser } from './voice-fixture.ts'

/** The target is 100 calls for a minute, on an otherwise idle machine: TRUNKLINE_TEST_LONG=1. */
const isLong = process.env.TRUNKLINE_TEST_LONG === '1'
const [count, seconds] = isLong ? [100, 60] : [8, 2]

test(`${count} recorded calls at once in one worker continue while the API is in use, and the next one is refused`, async (t) => {
  const platform = await startPlatform(undefined, {
    ...{ ...freePortSettings, ...unlimitedCalls, TRUNKLINE_MEDIA_WORKERS: '1', TRUNKLINE_MEDIA_CALLS: String(count) },
  })
  t.after(() => platform.end())
  const [ada = ''] = await activeUsers(platform)
  const { uuid } = (await platform.call('GET', '/open/info')).body.account
  await platform.call('POST', `/operator/accounts/${uuid}/credit`, { amount: '1000' })
  await buyNumber(platform)
  const person = await openBrowserUser(t, platform, ada)
  assert.match(await person.register(), /^200/)
  const all = await startEchoCalls(person, count)
  const refusal = await startEchoCall(person, '+447709990008')
  assert.match(String(refusal), /^503 /)

  await until(async () => all.every(({ delays }) => delays.length > 0))
  const before = packetsOf(all)
  const early = all.map(({ delays }) => delays.length)
  const most = count * seconds * 50
  await until(
    async () => {
      await platform.call('GET', '/open/voip/call-history')
      return packetsOf(all).sent - before.sent > most
    },
    3 * seconds + 30,
  )
  for (const { softphone } of all) softphone.stopSending()
  // Packets in flight arrive; the rest is lost.
  const lost = () => {
    const now = packetsOf(all)
    return now.sent - before.sent - (now.received - before.received)
  }
  // In the short form a machine that stalls for a second may drop packets of that time.
  await until(async () => lost() <= most / (isLong ? 1_000 : 4))
  // Round trip through the echo: the delay of one direction is less.
  const delays = all.flatMap((one, i) => one.delays.slice(early[i])).sort((a, b) => a - b)
  const [p50 = 0, p95 = 0, p99 = 0] = [0.5, 0.95, 0.99].map((part) => delays[Math.floor(part * delays.length)])
  const percentiles = [p50, p95, p99].map((ms) => ms.toFixed(1)).join(', ')
  t.diagnostic(`${lost()} of ${most} packets lost; round trip ${percentiles} ms (p50, p95, p99)`)
  if (isLong) assert.ok(p95 < 20, `${p95} ms`)
  await Promise.all(all.map(({ end }) => end()))
  await until(async () => {
    const { cdrs } = (await platform.call('GET', '/open/voip/call-history?results_per_page=200')).body
    const recorded = cdrs.filter(({ recording_url }: { recording_url?: string }) => recording_url)
    return cdrs.length === count + 1 && recorded.length === count
  })
})
