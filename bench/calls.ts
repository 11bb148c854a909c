import { setTimeout } from 'node:timers/promises'
import { dial } from '../src/adapters/sip-gateway/testing.ts'
import { makeSoftphone } from '../test/media/softphone.ts'
import { buyNumber, type Platform, startPlatform } from '../test/platform.ts'
import { packetsOf, startEchoCall, startEchoCalls, unlimitedCalls } from '../test/voice/echo-calls.ts'
import { activeUsers, type BrowserUser, freePortSettings, openBrowserUser } from '../test/voice/voice-fixture.ts'
import { benchRun } from './bench.ts'
import { median, table } from './lib.ts'
import { childrenByRole, memory, prefixed, startMeter } from './usage.ts'

/**
 * Measures calls through the whole platform while the API is under load: from softphones that act as browsers to
 * handsets of the sandbox.
 *
 * First: time from INVITE to ringing and from answer to the first sound. Then: packet loss and round-trip time of
 * concurrent recorded calls in one media worker, each with an echo at its far end. One call above the limit is refused.
 * The softphones use more CPU than the platform: with many calls on few cores, they lose the packets.
 */
const run = benchRun()
const { seconds } = run
const [calls, setUps] = [run.number('calls'), run.number('setups')]

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.push(end) }

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN

/** Returns the milliseconds from INVITE to ringing and from answer to the first sound. */
const measureSetUp = async (person: BrowserUser, number: string): Promise<{ ring: number; sound: number }> => {
  const softphone = await makeSoftphone()
  const began = performance.now()
  const { dialled } = await dial(person.web, person.dialOptions(number), softphone)
  const wait = async (isThere: () => boolean) => {
    while (!isThere()) await setTimeout(1)
    return performance.now()
  }
  const rang = await wait(() => dialled.progress.includes(180))
  const answered = await wait(() => dialled.session !== null)
  softphone.sendTone(1_000)
  const heard = await wait(() => softphone.received > 0)
  await dialled.session?.bye()
  await softphone.close()
  return { ring: rang - began, sound: heard - answered }
}

/** Sends about 50 API requests a second until stopped. @returns a function that stops and returns the latencies, ms */
const startLoad = (platform: Platform) => {
  const answers: number[] = []
  let isOver = false
  const run = async () => {
    while (!isOver) {
      const began = performance.now()
      await platform.call('GET', '/open/voip/call-history')
      answers.push(performance.now() - began)
      await setTimeout(80)
    }
  }
  const all = Promise.all(Array.from({ length: 4 }, run))
  return async () => {
    isOver = true
    await all
    return answers
  }
}

const platform = await startPlatform(undefined, {
  ...{
    ...freePortSettings,
    ...unlimitedCalls,
    TRUNKLINE_MEDIA_WORKERS: '1',
    TRUNKLINE_MEDIA_CALLS: String(calls),
    TRUNKLINE_LOG: 'warn',
  },
})
scope.after(() => platform.end())
const [user = ''] = await activeUsers(platform)
await buyNumber(platform)
await platform.call(
  'POST',
  `/operator/accounts/${(await platform.call('GET', '/open/info')).body.account.uuid}/credit`,
  {
    amount: '10000',
  },
)
const person = await openBrowserUser(scope, platform, user)
await person.register()

const measured: { ring: number; sound: number }[] = []
for (let i = 0; i < setUps; i++) measured.push(await measureSetUp(person, `+4477009011${String(i).padStart(2, '0')}`))
const figure = (values: readonly number[]) => [
  ...[`${median(values).toFixed(0)} ms`, `${percentile(values, 0.95).toFixed(0)} ms`],
]
console.log(`\n${setUps} calls, one after another\n`)
table(
  ['', 'median', 'p95'],
  [
    ['INVITE to ringing', ...figure(measured.map(({ ring }) => ring))],
    ['answer to first sound', ...figure(measured.map(({ sound }) => sound))],
  ],
)

const all = await startEchoCalls(person, calls)
const beyond = await startEchoCall(person, '+447700990008')
await setTimeout(1_000)
const before = packetsOf(all)
const costOf = await startMeter({ node: [platform.pid], ...childrenByRole(platform.pid) })
for (const { delays } of all) delays.length = 0
const stop = startLoad(platform)
await setTimeout(seconds * 1_000)
const answers = await stop()
const after = packetsOf(all)
const cost = await costOf(calls * seconds)
const [wentOut, cameIn] = [after.sent - before.sent, after.received - before.received]
const delays = all.flatMap((one) => one.delays)
run.record({
  ring: median(measured.map(({ ring }) => ring)),
  sound: median(measured.map(({ sound }) => sound)),
  loss: Math.max(0, 1 - cameIn / wentOut) * 100,
  roundTrip: percentile(delays, 0.95),
  ...prefixed('cost', cost),
})
console.log(
  `\n${calls} recorded calls at once in one media worker for ${seconds} s, with ${answers.length} concurrent API requests\n`,
)
table(
  ['round-trip loss', 'round-trip time, median', 'p95', 'API, median', 'memory', 'one call more'],
  [
    [
      `${(Math.max(0, 1 - cameIn / wentOut) * 100).toFixed(3)} %`,
      ...figure(delays),
      `${median(answers).toFixed(0)} ms`,
      `${memory(platform.pid)} MB`,
      typeof beyond === 'string' ? beyond : 'accepted',
    ],
  ],
)
await Promise.all(all.map(({ end }) => end()))
for (const end of ends.toReversed()) await end()
