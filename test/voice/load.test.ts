import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { activeUsers, openPerson, voice } from './scene.ts'
import { packetsOf, talk, talks, unbounded } from './talk.ts'

/** The acceptance is of 100 for a minute, on a machine that has nothing else to do: TRUNKLINE_TEST_LONG=1. */
const isLong = process.env.TRUNKLINE_TEST_LONG === '1'
const [count, seconds] = isLong ? [100, 60] : [8, 2]

test(`${count} recorded calls at once in one worker go on while the interface is asked, and the next one is refused`, async (t) => {
  const platform = await startPlatform(undefined, {
    ...{ ...voice, ...unbounded, TRUNKLINE_MEDIA_WORKERS: '1', TRUNKLINE_MEDIA_CALLS: String(count) },
  })
  t.after(() => platform.end())
  const [ada = ''] = await activeUsers(platform)
  const { uuid } = (await platform.call('GET', '/open/info')).body.account
  await platform.call('POST', `/operator/accounts/${uuid}/credit`, { amount: '1000' })
  await buyNumber(platform)
  const person = await openPerson(t, platform, ada)
  assert.match(await person.register(), /^200/)
  const all = await talks(person, count)
  const refusal = await talk(person, '+447709990008')
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
  for (const { softphone } of all) softphone.hush()
  // What is under way arrives; what does not is lost.
  const lost = () => {
    const now = packetsOf(all)
    return now.sent - before.sent - (now.received - before.received)
  }
  // In the short form a machine that stalls for a second may drop what came meanwhile.
  await until(async () => lost() <= most / (isLong ? 1_000 : 4))
  // There and back, by way of the echo: what is added in one direction is less.
  const delays = all.flatMap((one, i) => one.delays.slice(early[i])).sort((a, b) => a - b)
  const [p50 = 0, p95 = 0, p99 = 0] = [0.5, 0.95, 0.99].map((part) => delays[Math.floor(part * delays.length)])
  const told = [p50, p95, p99].map((ms) => ms.toFixed(1)).join(', ')
  t.diagnostic(`${lost()} of ${most} packets lost; there and back in ${told} ms (p50, p95, p99)`)
  if (isLong) assert.ok(p95 < 20, `${p95} ms`)
  await Promise.all(all.map(({ end }) => end()))
  await until(async () => {
    const { cdrs } = (await platform.call('GET', '/open/voip/call-history?results_per_page=200')).body
    const recorded = cdrs.filter(({ recording_url }: { recording_url?: string }) => recording_url)
    return cdrs.length === count + 1 && recorded.length === count
  })
})
