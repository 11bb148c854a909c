import assert from 'node:assert/strict'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SipSession } from '@trunkline/sip/dialog/sip-session.ts'
import { until } from '@trunkline/sip/user-agent/testing.ts'
import { energyShare, maxEnergyShare } from '../../../adapters/media/tone-testing.ts'
import { receivesTone } from '../../../adapters/sip-gateway/testing.ts'
import { blip, makeInterpreters, samplesOf, say } from './interpreter-testing.ts'

const { folder, open } = await makeInterpreters()

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
  await until(() => maxEnergyShare(Int16Array.from(peer.samples), 1_000) > 0.95, 'the beep')
  await until(async () => {
    await peer.press('5#')
    return finished.length > 0
  }, 'the end of the recording')
  const { result } = (await requested('/message')).body
  assert.deepEqual([result?.reason, result?.digits], ['key', '#'])
  assert.equal(result?.recording_url, `https://files.test/${finished[0]?.id}`)
  await over()
})

test('a key that comes while a recording begins ends it', async (t) => {
  const session = Promise.withResolvers<SipSession>()
  const begin = async () => {
    await (await session.promise).info({
      body: { type: 'application/dtmf-relay', content: 'Signal=#\r\nDuration=100\r\n' },
    })
    return { id: 'late-key', path: join(folder, 'late-key.wav') }
  }
  const { receive, requested, over } = await open(
    t,
    { '/begin': [{ verb: 'record', beep: false, timeout: 0, action: '/message' }], '/message': [] },
    { deps: { recordings: { begin, finish: async () => ({ url: null }) } } },
  )
  const { dialled } = await receive()
  session.resolve(await until(() => dialled.session))
  const { result } = (await requested('/message')).body
  assert.deepEqual([result?.reason, result?.digits], ['key', '#'])
  await over()
})

test('a recording ends by silence after speech, and without speech', async (t) => {
  const { receive, requested, finished, sources, over } = await open(t, {
    '/begin': [{ verb: 'record', beep: false, timeout: 1, action: '/spoken' }],
    '/spoken': [{ verb: 'record', beep: false, timeout: 0.2, trim: false, action: '/silent' }],
    '/silent': [{ verb: 'record', beep: false, timeout: 0, max_seconds: 1, action: '/long' }],
    '/long': [],
  })
  const known = (await readdir(folder)).length
  const { peer } = await receive()
  await until(async () => (await readdir(folder)).length > known, 'the recording')
  const before = peer.sent
  peer.sendTone(440)
  await until(() => peer.sent > before + 40)
  const spokenFrames = peer.sent - before
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
  const loud = first.filter((sample) => Math.abs(sample) > 100).length
  assert.ok(Math.abs(loud - spokenFrames * 160) < 2_400, `${loud} samples of ${spokenFrames} frames`)
  assert.ok(first.length > 5_600 && energyShare(first.slice(-1_600), 440) > 0.9, `${first.length} samples`)
  assert.ok(second.length > 1_500 && second.every((sample) => Math.abs(sample) < 100))
  assert.equal((await requested('/long')).body.result?.reason, 'max_seconds')
  await over()
  assert.deepEqual(sources, ['record', 'record', 'record'])
})

test('a program that fails before the answer refuses the call with 480, as an error of the program', async (t) => {
  const { receive, failures, ended, over, base, paths } = await open(
    t,
    { '/begin': (response) => void response.writeHead(500).end() },
    { program: (base) => ({ fallback: { url: `${base}/fallback`, method: 'POST' } }) },
  )
  const { dialled } = await receive()
  await until(() => dialled.refused.length === 1)
  assert.match(dialled.refused[0] ?? '', /^480/)
  assert.equal((await ended()).how, 'program_error')
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

test('a call has at most 1,000 documents, though each of them takes time', async (t) => {
  const { receive, failures, received, over } = await open(t, {
    '/begin': [
      { verb: 'pause', seconds: 0.001 },
      { verb: 'redirect', url: '/begin' },
    ],
  })
  await receive()
  await over()
  assert.deepEqual([failures[0]?.code, received.length], ['loop', 1_000])
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
  // One party alone, as it speaks.
  assert.equal(one.content.channels, 1)
  assert.ok((await stat(join(folder, `${one.id}.wav`))).size >= one.content.bytes)
  await over()
})
