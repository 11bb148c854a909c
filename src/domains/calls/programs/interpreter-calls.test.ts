import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '@trunkline/sip/user-agent/testing.ts'
import { answer, receivesTone } from '../../../adapters/sip-gateway/testing.ts'
import type { VoicePlan } from '../../../ports/voice.ts'
import { blip, makeInterpreters, say } from './interpreter-testing.ts'
import type { VerbResult } from './program.ts'
import type { ProgramStream } from './program-deps.ts'
import { programCall, resolvedProgram } from './program-testing.ts'

const { open } = await makeInterpreters()

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
const childCall = { ...programCall, id: childId, parent: programCall.id }
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
    { deps: { placeChild: async () => ({ plan: childPlan, call: childCall }) } },
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
  const { receive, command, finished, sources, ended, over } = await open(t, {
    '/begin': [{ verb: 'gather', timeout: 60 }],
  })
  const { peer, dialled } = await receive()
  await until(() => dialled.session)
  await until(async () => (await command({ command: 'play', verb: say(660) }))?.ok)
  await receivesTone(peer, 660)
  const begun = await command({ command: 'record_call', verb: { verb: 'record_call', do: 'start' } })
  assert.ok(begun?.ok && /^[0-9a-f-]{36}$/.test(begun.recording ?? ''))
  const stop = { verb: 'record_call', do: 'stop' }
  const other = await command({ command: 'record_call', verb: stop, recording: childId })
  assert.ok(other && !other.ok && other.code === 'no_recording')
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
  assert.deepEqual(sources, ['command'])
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
  const { result } = (await requested('/failed')).body
  assert.deepEqual([result?.reason, result?.error_code], ['unreachable', 'stream_unreachable'])
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
  const { receive, requested, finished, sources, over } = await open(
    t,
    {
      '/begin': [{ verb: 'record_call', do: 'stop', action: '/recorded' }],
      '/recorded': [{ verb: 'record_call', do: 'start' }],
    },
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
  assert.deepEqual(sources, ['order', 'record_call'])
})

test('the result of a dial is sent though the party has hung up', async (t) => {
  const { receive, requested, carrier, over, paths } = await open(
    t,
    {
      '/begin': [{ verb: 'dial', targets: [{ number: '+442079460123' }], answer_on_bridge: true, action: '/dialled' }],
      '/dialled': [{ verb: 'redirect', url: '/never' }],
    },
    { deps: { placeChild: async () => ({ plan: childPlan, call: childCall }) } },
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
