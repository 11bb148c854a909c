import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import type { SipSession } from '@trunkline/sip/dialog/sip-session.ts'
import { defaultHandlers, noSessionEvents, openAgent } from '@trunkline/sip/user-agent/testing.ts'
import { outcomeText, sdp } from '../src/adapters/sip-gateway/testing.ts'
import { toneWav } from '../src/domains/calls/sounds/sound-testing.ts'
import { type LightPeer, makeLightPeer } from '../test/media/light-peer.ts'
import { makeTelephone } from '../test/media/telephone.ts'
import { buyNumber, startPlatform, until } from '../test/platform.ts'
import { unlimitedCalls } from '../test/voice/echo-calls.ts'
import { addTrunk, freePortSettings } from '../test/voice/voice-fixture.ts'
import { benchRun } from './bench.ts'
import { table } from './lib.ts'
import { childrenByRole, prefixed, startMeter } from './usage.ts'

/**
 * Measures calls that programs run, through the whole platform. A carrier, its telephones and the program share this
 * process and its clock; the platform has its own.
 *
 * First: calls of the carrier at a pace, each of which plays a prompt that is in the cache. Then: presses of keys in one
 * call. At last: calls by the API, one after another.
 */
const run = benchRun()
const { rounds, seconds } = run
const [pace, presses, orders] = [run.number('pace'), run.number('presses'), run.number('orders')]

const ends: (() => unknown)[] = []
const scope = { after: (end: unknown) => void (typeof end === 'function' && ends.push(() => end())) }

/** Milliseconds of the clock at which steps of a call of the carrier happened, by its caller; 0 before that. */
type CallTimes = { invited: number; requested: number; answered: number; accepted: number; heard: number }

const times = new Map<string, CallTimes>()
/** Resolves with the time of the next request that keys caused. */
let keyed = Promise.withResolvers<number>()
/** Milliseconds at which an INVITE arrived, by the number that it is for. */
const invites = new Map<string, number>()

const prompt = toneWav({ seconds: 0.5 })
const respond = (response: ServerResponse, verbs: readonly object[]) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(verbs))
}
const gatherKeys = { verb: 'gather', finish_on_key: '#', timeout: 60, action: '/keys' }

const program = createServer(async (request, response) => {
  const at = performance.now()
  if (request.url === '/prompt.wav') {
    response.setHeader('content-type', 'audio/wav')
    return response.end(prompt)
  }
  const { call } = JSON.parse(await text(request))
  if (request.url === '/keys') {
    keyed.resolve(at)
    return respond(response, [gatherKeys])
  }
  const entry = times.get(call.from)
  if (!entry) return respond(response, [gatherKeys])
  entry.requested = at
  respond(response, [{ verb: 'play', url: '/prompt.wav' }, { verb: 'hangup' }])
  entry.answered = performance.now()
})
program.keepAliveTimeout = 60_000
program.listen(0, '127.0.0.1')
await once(program, 'listening')
scope.after(() => program.close())
const { port } = program.address() as AddressInfo // it listens on TCP

const platform = await startPlatform(undefined, {
  ...freePortSettings,
  ...unlimitedCalls,
  TRUNKLINE_MEDIA_WORKERS: '1',
  TRUNKLINE_LOG: 'warn',
})
scope.after(() => platform.end())
const { number } = await buyNumber(platform)
const { account } = (await platform.call('GET', '/open/info')).body
await platform.call('POST', `/operator/accounts/${account.uuid}/credit`, { amount: '10000' })
const { numbers } = (await platform.call('GET', '/open/voip/virtual-numbers')).body
const voice = { kind: 'url', url: `http://127.0.0.1:${port}/begin` }
await platform.call('PUT', `/open/voip/virtual-numbers/${numbers[0].uuid}`, { voice })

const { agent, udp } = await openAgent(scope, {
  user: 'carrier',
  handlers: {
    ...defaultHandlers,
    onInvite: (call) => {
      invites.set(/\d{6,}/.exec(call.invite.uri)?.[0] ?? '', performance.now())
      call.refuse({ status: 486 })
    },
  },
})
await addTrunk(platform, { port: udp, prefixes: ['442079460'] })

/** Calls the number. Resolves once the call is answered. @throws Error if it is refused */
const callFrom = async (caller: string, peer: Pick<LightPeer, 'offer' | 'accept'>, entry: CallTimes | null) => {
  const { promise, resolve, reject } = Promise.withResolvers<SipSession>()
  const over = Promise.withResolvers<void>()
  const body = sdp(await peer.offer())
  if (entry) entry.invited = performance.now()
  agent.invite(
    { uri: `sip:${number}@127.0.0.1:${platform.voicePort}`, from: `<sip:${caller}@carrier.test>`, body },
    {
      progress: () => {},
      accepted: (response, session) => {
        if (entry) entry.accepted = performance.now()
        void peer.accept(response.body.toString())
        resolve(session)
      },
      refused: (outcome) => reject(new Error(`a call was refused: ${outcomeText(outcome)}`)),
      session: { ...noSessionEvents, ended: () => over.resolve() },
    },
  )
  return { session: await promise, over: over.promise }
}

const silence = 0xff
let callers = 0

/** One call that hears the prompt. */
const hearPrompt = async (): Promise<CallTimes> => {
  const entry: CallTimes = { invited: 0, requested: 0, answered: 0, accepted: 0, heard: 0 }
  const caller = `+33612${String(++callers).padStart(6, '0')}`
  times.set(caller, entry)
  const peer = await makeLightPeer('rtp', {
    frame: () => Buffer.alloc(160, silence),
    heard: (payload) => {
      if (payload.some((octet) => octet !== silence)) entry.heard ||= performance.now()
    },
  })
  const { over } = await callFrom(caller, peer, entry)
  peer.startSending()
  await over
  await peer.close()
  return entry
}

type Spread = { readonly p50: number; readonly p95: number; readonly p99: number }

const spreadOf = (values: readonly number[]): Spread => {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/** Makes calls at the pace, each of which hears the prompt. */
const hearPrompts = async (count: number): Promise<CallTimes[]> => {
  const all: Promise<CallTimes>[] = []
  const began = performance.now()
  for (let i = 0; i < count; i++) {
    await setTimeout(Math.max(0, began + (i * 1_000) / pace - performance.now()))
    all.push(hearPrompt())
  }
  return await Promise.all(all)
}

const measurePrompts = async () => {
  // The first call fetches the prompt, and further ones warm the platform up.
  await hearPrompt()
  await hearPrompts(2 * pace)
  const costOf = await startMeter({ node: [platform.pid], ...childrenByRole(platform.pid) })
  const heard = await hearPrompts(pace * seconds)
  return {
    cost: await costOf(heard.length),
    request: spreadOf(heard.map(({ invited, requested }) => requested - invited)),
    accepted: spreadOf(heard.map(({ answered, accepted }) => accepted - answered)),
    prompt: spreadOf(heard.map(({ answered, heard }) => heard - answered)),
  }
}

/** Milliseconds from a key press, which is sent at once and thus has ended, to the request. */
const measureKeys = async () => {
  const telephone = await makeTelephone()
  const { session } = await callFrom('+33699000000', telephone, null)
  telephone.sendTone(0)
  await setTimeout(500)
  const delays: number[] = []
  for (let i = 0; i < presses; i++) {
    keyed = Promise.withResolvers()
    await telephone.press('1')
    // At any moment between two ticks.
    await setTimeout(60 + (i % 20))
    const pressed = performance.now()
    await telephone.press('#')
    delays.push((await keyed.promise) - pressed)
    await setTimeout(40)
  }
  await session.bye()
  await telephone.close()
  return spreadOf(delays)
}

/** Milliseconds from a request of the API to its answer, and to the INVITE at the carrier. */
const measureOrders = async (round: number) => {
  const [answers, delays]: [number[], number[]] = [[], []]
  for (let i = 0; i < orders; i++) {
    const to = `442079460${String((round * orders + i) % 1_000).padStart(3, '0')}`
    invites.delete(to)
    const began = performance.now()
    const verbs = [{ verb: 'hangup' }]
    const made = await platform.call('POST', '/open/voip/calls', { from_number: number, to: `+${to}`, verbs })
    if (made.status !== 201) throw new Error(JSON.stringify(made.body))
    answers.push(performance.now() - began)
    delays.push((await until(async () => invites.get(to), 10, 5)) - began)
    // The call ends before the next one begins.
    await setTimeout(100)
  }
  return { answer: spreadOf(answers), invite: spreadOf(delays) }
}

const ms = (value: number): string => `${value.toFixed(1)} ms`
const rows: string[][] = []
const note = (what: string, { p50, p95, p99 }: Spread) => rows.push([what, ms(p50), ms(p95), ms(p99)])

for (let round = 0; round < rounds; round++) {
  const prompts = await measurePrompts()
  const keys = await measureKeys()
  const order = await measureOrders(round)
  note('INVITE to request', prompts.request)
  note('answer of the program to 200 of the INVITE', prompts.accepted)
  note('answer of the program to the first packet of the prompt', prompts.prompt)
  note('key to request', keys)
  note('request of the API to its answer', order.answer)
  note('request of the API to INVITE', order.invite)
  run.record({
    request: prompts.request.p95,
    prompt: prompts.prompt.p95,
    key: keys.p95,
    order: order.invite.p95,
    requestMedian: prompts.request.p50,
    promptMedian: prompts.prompt.p50,
    keyMedian: keys.p50,
    orderMedian: order.invite.p50,
    ...prefixed('cost', prompts.cost),
  })
}
for (const end of ends.toReversed()) await end()

console.log(`\n${pace} calls a second for ${seconds} s, ${presses} presses, ${orders} calls by the API\n`)
table(['delay', 'p50', 'p95', 'p99'], rows)
