import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { until } from '@trunkline/sip/user-agent/testing.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { energyShare } from '../../../adapters/media/tone-testing.ts'
import { answer, closedAfter, dial, openMedia, openWorld, receivesTone } from '../../../adapters/sip-gateway/testing.ts'
import type { VoicePlan } from '../../../ports/voice.ts'
import type { CallCommand } from './call-command.ts'
import type { ResolvedProgram, VerbResult } from './program.ts'
import type { ProgramDeps, ProgramStream } from './program-deps.ts'
import { makeProgramRunner } from './program-runner.ts'
import {
  type Answer,
  makeProgramDeps,
  openOutbound,
  openProgram,
  programCall,
  resolvedProgram,
} from './program-testing.ts'
import type { Verb } from './verbs.ts'

const media = await openMedia()
after(() => media.close())
const folder = await mkdtemp(join(tmpdir(), 'programs-'))
after(() => rm(folder, { recursive: true }))

/** Half a second of a tone. */
const blip = (hertz: number) => ({ verb: 'play', tone: { hertz: [hertz], on_ms: 500 } })
/** A tone that the party ends. */
const say = (hertz: number) => ({ verb: 'say', text: String(hertz) })

/** The left channel of a recording. */
const samplesOf = (wav: Buffer): number[] =>
  Array.from({ length: (wav.length - 44) / 4 }, (_, index) => wav.readInt16LE(44 + index * 4))

type Wish = {
  readonly preamble?: readonly Verb[]
  readonly deps?: Partial<ProgramDeps>
  readonly program?: (base: string) => Partial<ResolvedProgram>
}

/** A gateway whose calls from a carrier run the program that answers at /begin. */
const open = async (t: TestContext, answers: Record<string, Answer>, wish: Wish = {}) => {
  const program = await openProgram(t, answers)
  const outbound = openOutbound(t)
  const made = makeProgramDeps(folder, wish.deps)
  const runner = makeProgramRunner(made.deps)
  const resolved = resolvedProgram(`${program.base}/begin`, wish.program?.(program.base))
  const world = await openWorld(
    t,
    () => ({
      value: {
        program: runner.begin({ call: programCall, program: resolved, outbound, preamble: wish.preamble ?? [] }),
      },
    }),
    { media },
  )
  const telephone = () => closedAfter(t, makeTelephone())
  const { gateway, carrier, ended } = world
  /** The carrier calls us. */
  const receive = async () => {
    const peer = await telephone()
    const ask = { uri: `sip:33187654321@127.0.0.1:${gateway.port}`, from: '<sip:0033612345678@carrier.test>' }
    return { peer, ...(await dial(carrier, ask, peer)) }
  }
  const command = (wanted: CallCommand) => runner.command(programCall.id, wanted)
  /** No call is open, and the runner has none. */
  const over = async () => {
    await ended()
    await until(() => gateway.calls() === 0 && media.state().calls === 0, 'no call is open')
    await until(async () => (await command({ command: 'stop' })) === null, 'the end of the program')
  }
  const requested = (path: string) => until(() => program.received.find((one) => one.path === path), path)
  return { ...world, ...program, ...made, runner, telephone, receive, command, over, requested }
}

test('a menu takes the keys of the party, and the answer of its action goes on', async (t) => {
  const { receive, received, ended, requested, steps, over } = await open(t, {
    '/begin': [{ verb: 'gather', id: 'menu', num_digits: 1, prompts: [say(440)], action: '/menu' }, say(2_000)],
    '/menu': [{ verb: 'gather', finish_on_key: '#', action: '/number', prompts: [say(880)] }, { verb: 'hangup' }],
    '/number': [blip(1_200), { verb: 'tag', data: { done: true } }, { verb: 'redirect', url: '/end' }],
    '/end': [],
  })
  const { peer } = await receive()
  await receivesTone(peer, 440)
  await peer.press('2')
  await receivesTone(peer, 880)
  await peer.press('13#')
  await requested('/number')
  const { how } = await ended()
  assert.equal(how, 'completed')
  assert.deepEqual(
    received.map(({ path, body }) => [path, body.event, body.sequence, body.call.status, body.verb, body.result]),
    [
      ['/begin', 'call.started', 1, 'RINGING', undefined, undefined],
      [
        '/menu',
        'verb.completed',
        2,
        'ANSWERED',
        { id: 'menu', name: 'gather' },
        { reason: 'digits', digits: '2', finished_on_key: null },
      ],
      [
        '/number',
        'verb.completed',
        3,
        'ANSWERED',
        { id: null, name: 'gather' },
        { reason: 'digits', digits: '13', finished_on_key: '#' },
      ],
      ['/end', 'verb.completed', 4, 'ANSWERED', { id: null, name: 'redirect' }, undefined],
    ],
  )
  assert.deepEqual(received.at(-1)?.body.call.tags, { done: true })
  assert.deepEqual(
    steps.map(({ sequence, verb, answerStatus }) => [sequence, verb, answerStatus]),
    [
      [1, null, 200],
      [2, 'gather', null],
      [3, 'gather', 200],
      [4, 'gather', null],
      [5, 'gather', 200],
      [6, 'play', null],
      [7, 'tag', null],
      [8, 'redirect', null],
      [9, 'redirect', 200],
    ],
  )
  await over()
})

test('a party may type ahead, and without barge-in its keys during prompts are ignored', async (t) => {
  const { receive, requested, command } = await open(t, {
    '/begin': [say(440), { verb: 'gather', num_digits: 2, prompts: [say(2_000)], action: '/first' }],
    '/first': [
      { verb: 'gather', barge_in: false, timeout: 0, prompts: [say(880)], on_empty: 'action', action: '/second' },
    ],
    '/second': [],
  })
  const { peer, dialled } = await receive()
  const session = await until(() => dialled.session)
  /** Resolves once the key was taken. */
  const press = (key: string) =>
    session.info({ body: { type: 'application/dtmf-relay', content: `Signal=${key}\r\nDuration=100\r\n` } })
  await receivesTone(peer, 440)
  for (const key of '123') await press(key)
  await command({ command: 'stop' })
  assert.equal((await requested('/first')).body.result?.digits, '12')
  await receivesTone(peer, 880)
  await press('4')
  await command({ command: 'stop' })
  assert.equal((await requested('/second')).body.result?.digits, '')
})

test('a gather ends though its prompts failed', async (t) => {
  const { receive, requested, steps, callControl, over } = await open(t, {
    '/begin': [
      {
        verb: 'gather',
        timeout: 0.1,
        prompts: [
          { verb: 'play', url: '/none.wav' },
          { verb: 'play', clip_uuid: 'CLPnone' },
        ],
        on_empty: 'action',
        action: '/after',
      },
    ],
    '/after': [{ verb: 'gather', timeout: 0, action: '/never' }],
  })
  await receive()
  const { body } = await requested('/after')
  assert.deepEqual(body.result, { reason: 'timeout', digits: '', finished_on_key: null })
  await over()
  assert.equal(steps.find(({ verb, requestUrl }) => verb === 'gather' && requestUrl === null)?.errorCode, 'unreachable')
  assert.ok(callControl.traces.includes('play: unreachable, no connection'))
})

test('a sound that never gets ready is left within 3 s', async (t) => {
  const { receive, requested, steps } = await open(
    t,
    { '/begin': [{ verb: 'say', text: 'never', action: '/after' }], '/after': [] },
    { deps: { sounds: { prepare: () => new Promise(() => {}) } } },
  )
  await receive()
  const { body } = await requested('/after')
  assert.deepEqual(body.result, { how: 'failed', error_code: 'timeout' })
  const step = steps.find(({ verb, requestUrl }) => verb === 'say' && requestUrl === null)
  assert.ok(step && step.ms < 4_000)
})

test('a recording begins with a beep, and ends by a key', async (t) => {
  const { receive, requested, finished, over } = await open(t, {
    '/begin': [{ verb: 'record', action: '/message', finish_on_key: '#', timeout: 0 }],
    '/message': [],
  })
  const { peer } = await receive()
  await until(() => peer.samples.length > 2_000 && energyShare(peer.samples.slice(-2_000), 1_000) > 0.95, 'the beep')
  await until(async () => {
    await peer.press('5#')
    return finished.length > 0
  }, 'the end of the recording')
  const { result } = (await requested('/message')).body
  assert.deepEqual([result?.reason, result?.digits], ['key', '#'])
  assert.equal(result?.recording_url, `https://files.test/${finished[0]?.id}`)
  await over()
})

test('a recording ends by silence after speech, and without speech', async (t) => {
  const { receive, requested, finished, over } = await open(t, {
    '/begin': [{ verb: 'record', beep: false, timeout: 0.3, action: '/spoken' }],
    '/spoken': [{ verb: 'record', beep: false, timeout: 0.2, trim: false, action: '/silent' }],
    '/silent': [{ verb: 'record', beep: false, timeout: 0, max_seconds: 1, action: '/long' }],
    '/long': [],
  })
  const { peer } = await receive()
  peer.sendTone(440)
  await until(() => peer.sent > 40)
  peer.sendTone(0)
  const spoken = (await requested('/spoken')).body.result
  assert.equal(spoken?.reason, 'silence')
  const silent = (await requested('/silent')).body.result
  assert.equal(silent?.reason, 'silence')
  // The silence that ended the first one was removed.
  const [first, second] = await Promise.all(
    finished.slice(0, 2).map(async ({ id }) => samplesOf(await readFile(join(folder, `${id}.wav`)))),
  )
  assert.ok(first && second)
  assert.equal(first.length, Math.round(Number(spoken?.seconds) * 8_000))
  assert.ok(first.length > 5_600 && energyShare(first.slice(-1_600), 440) > 0.9, `${first.length} samples`)
  assert.ok(second.length > 1_500 && second.every((sample) => Math.abs(sample) < 100))
  assert.equal((await requested('/long')).body.result?.reason, 'max_seconds')
  await over()
})

test('a program that fails before the answer refuses the call with 480', async (t) => {
  const { receive, failures, over, base, paths } = await open(
    t,
    { '/begin': (response) => void response.writeHead(500).end() },
    { program: (base) => ({ fallback: { url: `${base}/fallback`, method: 'POST' } }) },
  )
  const { dialled } = await receive()
  await until(() => dialled.refused.length === 1)
  assert.match(dialled.refused[0] ?? '', /^480/)
  assert.deepEqual(paths(), ['/begin', '/fallback'])
  await over()
  assert.deepEqual(
    failures.map(({ code, url, status }) => [code, url, status]),
    [['status', `${base}/begin`, 500]],
  )
})

test('a program that fails after the answer lets the party hear tones, and hangs up', async (t) => {
  const { receive, failures, ended, over } = await open(t, {
    '/begin': [{ verb: 'answer' }, { verb: 'redirect', url: '/broken' }],
    '/broken': [{ verb: 'sing' }],
  })
  const { peer } = await receive()
  const { how, reason } = await ended()
  assert.deepEqual([how, reason], ['program_error', 'Program error: verb'])
  await over()
  assert.equal(failures[0]?.code, 'verb')
  // Three tones of 200 ms, at the rate of 8,000 samples.
  const loud = peer.samples.filter((sample) => Math.abs(sample) > 1_000).length
  assert.ok(loud > 3_600 && loud < 4_900, `${loud} samples of tones`)
})

test('documents that only redirect are the error loop', async (t) => {
  const { receive, failures, received, over } = await open(t, {
    '/begin': [{ verb: 'answer' }, { verb: 'redirect', url: '/begin' }],
  })
  await receive()
  await over()
  assert.equal(failures[0]?.code, 'loop')
  assert.equal(received.length, 50)
})

test('the party may hang up during a request: there is no failure, and the request ends', async (t) => {
  const gone = Promise.withResolvers<void>()
  const { receive, requested, failures, over, errors } = await open(t, {
    '/begin': [{ verb: 'answer' }, { verb: 'redirect', url: '/slow' }],
    '/slow': (response) => void response.on('close', gone.resolve),
  })
  const { dialled } = await receive()
  await requested('/slow')
  await (await until(() => dialled.session)).bye()
  await gone.promise
  await over()
  assert.deepEqual([failures, errors], [[], []])
})

test('a caller that cancels during the first request ends it', async (t) => {
  const gone = Promise.withResolvers<void>()
  const { receive, requested, failures, over } = await open(t, {
    '/begin': (response) => void response.on('close', gone.resolve),
  })
  const { call } = await receive()
  await requested('/begin')
  call.cancel()
  await gone.promise
  await over()
  assert.deepEqual(failures, [])
})

test('the result of a recording is sent though the party has hung up', async (t) => {
  const { receive, requested, finished, over } = await open(t, {
    '/begin': [{ verb: 'record', beep: false, action: '/message' }],
    '/message': [{ verb: 'redirect', url: '/never' }],
  })
  const { peer, dialled } = await receive()
  const session = await until(() => dialled.session)
  peer.sendTone(440)
  await until(() => peer.sent > 25)
  await session.bye()
  const { body } = await requested('/message')
  assert.equal(body.call.status, 'COMPLETED')
  assert.equal(body.result?.reason, 'hangup')
  const [one] = finished
  assert.ok(one && one.content !== 'left')
  assert.equal(body.result?.recording_uuid, `REC${one.id}`)
  assert.equal(body.result?.seconds, one.content.seconds)
  assert.ok((await stat(join(folder, `${one.id}.wav`))).size >= one.content.bytes)
  await over()
})

test('a dial that is refused is a result, and the program goes on', async (t) => {
  const { receive, requested, over } = await open(t, {
    '/begin': [{ verb: 'dial', targets: [{ number: '+442079460123' }], action: '/after' }],
    '/after': [blip(880)],
  })
  const { peer } = await receive()
  const { body } = await requested('/after')
  assert.deepEqual(body.result, {
    status: 'failed',
    call_uuid: null,
    recording_uuid: null,
    seconds: 0,
    sip_status: 402,
  })
  await over()
  assert.ok(peer.samples.some((sample) => Math.abs(sample) > 1_000))
})

const childId = '01900000-0000-7000-8000-000000000009'
const childPlan: VoicePlan = {
  call: childId,
  account: programCall.account,
  callerId: '+33187654321',
  targets: [{ trunk: 'carrier', number: '+442079460123' }],
  ringSeconds: 10,
  record: null,
  mostSeconds: null,
}

test('a dialled number that is busy, and one that talks, are results', async (t) => {
  const { receive, requested, carrier, telephone, over } = await open(
    t,
    {
      '/begin': [{ verb: 'dial', targets: [{ number: '+442079460123' }], action: '/first' }],
      '/first': [{ verb: 'dial', targets: [{ number: '+442079460123' }], action: '/second' }],
      '/second': [],
    },
    { deps: { placeChild: async () => ({ plan: childPlan, callId: childId }) } },
  )
  const { peer } = await receive()
  ;(await carrier.call()).refuse({ status: 486 })
  const busy = (await requested('/first')).body.result
  assert.deepEqual([busy?.status, busy?.sip_status, busy?.call_uuid], ['busy', 486, `CDR${childId}`])
  const other = await telephone()
  const { session } = await answer(await carrier.call(), other)
  other.sendTone(700)
  await receivesTone(peer, 700)
  await session.bye()
  const talked = (await requested('/second')).body.result
  assert.equal(talked?.status, 'completed')
  await over()
})

test('a redirection ends the verb that runs, and the program goes on with the other document', async (t) => {
  const { receive, command, base, requested, over } = await open(
    t,
    {
      '/begin': [say(440), say(440)],
      '/other': [{ verb: 'gather', num_digits: 1, prompts: [say(880)], action: '/key' }],
      '/key': [],
    },
    {
      deps: {
        resolve: async (_, source) => {
          assert.ok(source.kind === 'url')
          return resolvedProgram(source.url)
        },
      },
    },
  )
  const { peer } = await receive()
  await receivesTone(peer, 440)
  const program = {
    kind: 'url',
    url: `${base}/other`,
    method: 'POST',
    fallback_url: null,
    fallback_method: 'POST',
    shape: 'native',
  } as const
  assert.deepEqual(await command({ command: 'redirect', program }), { ok: true })
  await receivesTone(peer, 880)
  await peer.press('5')
  assert.equal((await requested('/key')).body.result?.digits, '5')
  await over()
})

test('commands play, stop, send keys, record, tag and hang up', async (t) => {
  const { receive, command, finished, ended, over } = await open(t, { '/begin': [{ verb: 'gather', timeout: 60 }] })
  const { peer, dialled } = await receive()
  await until(() => dialled.session)
  await until(async () => (await command({ command: 'play', verb: say(660) }))?.ok)
  await receivesTone(peer, 660)
  const begun = await command({ command: 'record_call', verb: { verb: 'record_call', do: 'start' } })
  assert.ok(begun?.ok && begun.recording?.startsWith('REC'))
  assert.deepEqual(await command({ command: 'stop' }), { ok: true })
  assert.deepEqual(await command({ command: 'dtmf', digits: '7w8' }), { ok: true })
  await until(() => peer.digits === '78')
  assert.deepEqual(await command({ command: 'tag', data: { a: 1 } }), { ok: true })
  const refused = await command({ command: 'play', verb: { verb: 'say' } })
  assert.ok(refused && !refused.ok && refused.code === 'attribute')
  assert.deepEqual(await command({ command: 'hangup' }), { ok: true })
  assert.equal((await ended()).how, 'completed')
  await over()
  assert.ok(finished.length === 1 && finished[0]?.content !== 'left')
})

test('before the answer a program rings, plays early sounds, and rejects the call', async (t) => {
  const { receive, command, ended, over, callControl } = await open(t, {
    '/begin': [
      { verb: 'ring', seconds: 0 },
      { ...say(440), early: true },
      { verb: 'reject', reason: 'busy' },
    ],
  })
  const { peer, dialled } = await receive()
  await receivesTone(peer, 440)
  const refused = await command({ command: 'dtmf', digits: '1' })
  assert.ok(refused && !refused.ok && refused.code === 'not_answered')
  await command({ command: 'stop' })
  await until(() => dialled.refused.length === 1)
  assert.deepEqual([dialled.progress, dialled.session], [[180, 183], null])
  assert.match(dialled.refused[0] ?? '', /^486/)
  assert.equal((await ended()).status, 486)
  assert.deepEqual(callControl.of('answered'), [])
  await over()
})

test('an empty answer goes on with the verbs that are left, and their end refuses a call that is not answered', async (t) => {
  const { receive, over, paths } = await open(t, {
    '/begin': [
      { verb: 'pause', seconds: 0, action: '/empty' },
      { verb: 'ring', seconds: 0, action: '/empty' },
    ],
    '/empty': null,
  })
  const { dialled } = await receive()
  await until(() => dialled.refused.length === 1)
  assert.match(dialled.refused[0] ?? '', /^603/)
  assert.deepEqual(paths(), ['/begin', '/empty', '/empty'])
  await over()
})

/** A stream that a test ends, with the keys that it got. */
const makeStream = () => {
  const ended = Promise.withResolvers<VerbResult>()
  const keys: string[] = []
  const stream: ProgramStream = {
    id: '01900000-0000-7000-8000-00000000000a',
    ended: ended.promise,
    sendKey: (key) => void keys.push(key),
    stop: () => ended.resolve({ reason: 'stopped', code: 1000, seconds: 1, error_code: null }),
  }
  return { stream, keys, end: ended.resolve }
}

test('a stream in both directions holds the call, gets its keys, and hands back with its result', async (t) => {
  const { stream, keys, end } = makeStream()
  const urls: string[] = []
  const { receive, requested, over, callControl } = await open(
    t,
    {
      '/begin': [{ verb: 'stream', url: 'wss://agent.test/talk', action: '/after' }, say(2_000)],
      '/after': [{ verb: 'gather', timeout: 0, on_empty: 'action', action: '/keys' }],
      '/keys': [],
    },
    {
      deps: {
        runStream: async ({ verb, leg }) => {
          assert.ok(leg)
          urls.push(verb.url)
          return stream
        },
      },
    },
  )
  const { peer, dialled } = await receive()
  await until(() => urls.length === 1 && dialled.session)
  assert.equal(callControl.of('answered').length, 1)
  await peer.press('5')
  await until(() => keys.length === 1)
  end({ reason: 'closed', code: 1000, seconds: 2, error_code: null })
  const { result } = (await requested('/after')).body
  assert.deepEqual(result, { reason: 'closed', code: 1000, seconds: 2, error_code: null })
  // The key was for the stream alone.
  assert.equal((await requested('/keys')).body.result?.digits, '')
  assert.deepEqual([keys, urls], [['5'], ['wss://agent.test/talk']])
  await over()
})

test('a stream that cannot be opened goes on, and calls its action on request', async (t) => {
  const { receive, requested, paths, over } = await open(t, {
    '/begin': [
      { verb: 'stream', url: 'wss://agent.test/one', action: '/never' },
      { verb: 'stream', url: 'wss://agent.test/two', action: '/failed', on_error: 'action' },
    ],
    '/failed': [],
  })
  await receive()
  assert.equal((await requested('/failed')).body.result?.error_code, 'stream_unreachable')
  await over()
  assert.deepEqual(paths(), ['/begin', '/failed'])
})

test('a stream in the background leaves the keys to the program, until stop_stream ends it by its name', async (t) => {
  const { stream, keys } = makeStream()
  const { receive, requested, over } = await open(
    t,
    {
      '/begin': [
        { verb: 'stream', url: 'wss://agent.test/', direction: 'in', name: 'ears' },
        { verb: 'gather', num_digits: 1, prompts: [say(440)], action: '/key' },
      ],
      '/key': [{ verb: 'stop_stream', name: 'ears' }, say(880)],
    },
    { deps: { runStream: async () => stream } },
  )
  const { peer, dialled } = await receive()
  await receivesTone(peer, 440)
  await peer.press('6')
  assert.equal((await requested('/key')).body.result?.digits, '6')
  assert.equal((await stream.ended).reason, 'stopped')
  assert.deepEqual(keys, [])
  await (await until(() => dialled.session)).bye()
  await over()
})

test('verbs of the request that placed a call run before its program', async (t) => {
  const { receive, requested, finished, over } = await open(
    t,
    { '/begin': [{ verb: 'record_call', do: 'stop', action: '/recorded' }], '/recorded': [] },
    {
      preamble: [
        { verb: 'record_call', do: 'start' },
        { verb: 'record_call', do: 'pause', pause: 'skip' },
        { verb: 'dtmf', digits: '12' },
        { verb: 'record_call', do: 'resume' },
      ],
    },
  )
  const { peer } = await receive()
  const { result } = (await requested('/recorded')).body
  assert.equal(peer.digits, '12')
  const [one] = finished
  assert.ok(one && one.content !== 'left' && one.content.seconds < 0.2)
  assert.equal(result?.recording_uuid, `REC${one.id}`)
  await over()
})

test('the result of a dial is sent though the party has hung up', async (t) => {
  const { receive, requested, carrier, over, paths } = await open(
    t,
    {
      '/begin': [{ verb: 'dial', targets: [{ number: '+442079460123' }], answer_on_bridge: true, action: '/dialled' }],
      '/dialled': [{ verb: 'redirect', url: '/never' }],
    },
    { deps: { placeChild: async () => ({ plan: childPlan, callId: childId }) } },
  )
  const { call } = await receive()
  await carrier.call()
  call.cancel()
  const { body } = await requested('/dialled')
  assert.deepEqual([body.call.status, body.result?.status], ['MISSED', 'canceled'])
  await over()
  assert.deepEqual(paths(), ['/begin', '/dialled'])
})

test('a redirection ends a request that is under way', async (t) => {
  const gone = Promise.withResolvers<void>()
  const { receive, command, requested, base, failures, over } = await open(
    t,
    {
      '/begin': [{ verb: 'answer' }, { verb: 'redirect', url: '/slow' }],
      '/slow': (response) => void response.on('close', gone.resolve),
      '/other': [],
    },
    { deps: { resolve: async () => resolvedProgram(`${base}/other`) } },
  )
  await receive()
  await requested('/slow')
  await command({ command: 'redirect', program: { kind: 'verbs', verbs: [], base_url: null, shape: 'native' } })
  await gone.promise
  await requested('/other')
  await over()
  assert.deepEqual(failures, [])
})
