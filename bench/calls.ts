import { setTimeout } from 'node:timers/promises'
import { dial } from '../src/connectors/sip/gateway/testing.ts'
import { makeSoftphone } from '../test/media/softphone.ts'
import { buyNumber, type Platform, startPlatform } from '../test/platform.ts'
import { activeUsers, openPerson, type Person, voice } from '../test/voice/scene.ts'
import { packetsOf, talk, talks, unbounded } from '../test/voice/talk.ts'
import { median, option, table } from './lib.ts'
import { memory } from './usage.ts'

/**
 * Calls through the whole platform, from browsers (without a browser) to the sandbox's handsets, with the interface under load:
 * `npm run bench -- calls [--calls 20] [--seconds 10] [--setups 20]`. How long it takes until a handset rings and is heard; then so
 * many recorded calls at once in one media worker, each with an echo at its end: what is lost of them, and how long sound is under way, there
 * and back. The call beyond the last one is refused. The softphones take more than the platform does: with many calls on few cores it
 * is they who lose.
 */
const calls = option('calls', 20)
const seconds = option('seconds', 10)
const setUps = option('setups', 20)

const ends: (() => unknown)[] = []
const bench = { after: (end: () => unknown) => void ends.push(end) }

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN

/** Milliseconds from the INVITE to the ringing and from the answer to the first sound. */
const setUp = async (person: Person, number: string): Promise<{ ring: number; sound: number }> => {
  const softphone = await makeSoftphone()
  const began = performance.now()
  const { dialled } = await dial(person.web, person.toward(number), softphone)
  const wait = async (isThere: () => boolean) => {
    while (!isThere()) await setTimeout(1)
    return performance.now()
  }
  const rang = await wait(() => dialled.progress.includes(180))
  const answered = await wait(() => dialled.session !== null)
  softphone.say(1_000)
  const heard = await wait(() => softphone.received > 0)
  await dialled.session?.bye()
  await softphone.close()
  return { ring: rang - began, sound: heard - answered }
}

/** Asks the interface 50 times a second, until it is told to stop. @returns how often it was asked, and what it answered within */
const loadOf = (platform: Platform) => {
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
    ...voice,
    ...unbounded,
    TRUNKLINE_MEDIA_WORKERS: '1',
    TRUNKLINE_MEDIA_CALLS: String(calls),
    TRUNKLINE_LOG: 'warn',
  },
})
bench.after(() => platform.end())
const [user = ''] = await activeUsers(platform)
await buyNumber(platform)
await platform.call(
  'POST',
  `/operator/accounts/${(await platform.call('GET', '/open/info')).body.account.uuid}/credit`,
  {
    amount: '10000',
  },
)
const person = await openPerson(bench, platform, user)
await person.register()

const made: { ring: number; sound: number }[] = []
for (let i = 0; i < setUps; i++) made.push(await setUp(person, `+4477009011${String(i).padStart(2, '0')}`))
const figure = (values: readonly number[]) => [
  ...[`${median(values).toFixed(0)} ms`, `${percentile(values, 0.95).toFixed(0)} ms`],
]
console.log(`\n${setUps} calls, one after the other\n`)
table(
  ['', 'median', 'p95'],
  [
    ['INVITE to ringing', ...figure(made.map(({ ring }) => ring))],
    ['answer to first sound', ...figure(made.map(({ sound }) => sound))],
  ],
)

const all = await talks(person, calls)
const beyond = await talk(person, '+447700990008')
await setTimeout(1_000)
const before = packetsOf(all)
for (const { delays } of all) delays.length = 0
const stop = loadOf(platform)
await setTimeout(seconds * 1_000)
const answers = await stop()
const after = packetsOf(all)
const [wentOut, cameIn] = [after.sent - before.sent, after.received - before.received]
const delays = all.flatMap((one) => one.delays)
console.log(
  `\n${calls} recorded calls at once in one media worker for ${seconds} s, ${answers.length} requests of the interface beside\n`,
)
table(
  ['lost there and back', 'under way, median', 'p95', 'interface, median', 'memory', 'the next call'],
  [
    [
      `${(Math.max(0, 1 - cameIn / wentOut) * 100).toFixed(3)} %`,
      ...figure(delays),
      `${median(answers).toFixed(0)} ms`,
      `${memory(platform.pid)} MB`,
      typeof beyond === 'string' ? beyond : 'was taken',
    ],
  ],
)
await Promise.all(all.map(({ end }) => end()))
for (const end of ends.toReversed()) await end()
process.exit(0)
