import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { makeStreamServer } from '../media/stream-server.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { installedLibraries } from '../twilio/installed.ts'
import { openPipecatAgent } from '../twilio/pipecat-agent.ts'
import { callsSeenBy, freePortSettings, secondsOf } from './voice-fixture.ts'

// Programs on the official library, in its major versions by turns: they answer calls of the sandbox's handsets with
// TwiML, make calls and change them, and check the signature of every request by the library's own function. The last
// is a voice agent that speaks as pipecat's TwilioFrameSerializer does.

const { folder, skip } = installedLibraries()
const libraries = (['twilio4', 'twilio5', 'twilio6'] as const).map((version) =>
  skip ? null : createRequire(join(folder, 'node_modules', 'x.js'))(version),
)
const platform = await startPlatform(undefined, freePortSettings)
after(() => platform.end())
const { number } = await buyNumber(platform)
const made = await platform.call('POST', '/open/compat/credentials', {})
assert.equal(made.status, 201, JSON.stringify(made.body))
const { account_sid: sid, auth_token: token } = made.body

type Parameters = Readonly<Record<string, string>>
/** What `require` gives: the library in one of three versions. */
type Library = ReturnType<NodeJS.Require>
type Paths = Readonly<Record<string, (response: Library, parameters: Parameters) => unknown>>
type Program = {
  readonly client: Library
  readonly url: (path: string) => string
  /** The path and the parameters of each request, oldest first. */
  readonly requests: readonly { readonly path: string; readonly parameters: Parameters }[]
  /** Waits for the nth request to a path, from 1. */
  seen(path: string, n?: number): Promise<Parameters>
}

/** A test of a program that answers by path; it fails if a signature does not hold. */
const program = (version: 4 | 5 | 6, name: string, paths: Paths, run: (program: Program) => Promise<void>) => {
  test(`twilio${version}: ${name}`, { skip }, async (t) => {
    const library = libraries[version - 4]
    const requests: { path: string; parameters: Parameters }[] = []
    const invalid: string[] = []
    const server = createServer(async (request, response) => {
      const path = request.url ?? ''
      const parameters = Object.fromEntries(new URLSearchParams(await text(request)))
      const signature = request.headers['x-twilio-signature']
      if (!library.validateRequest(token, signature, url(path), parameters)) invalid.push(path)
      requests.push({ path, parameters })
      const answer = new library.twiml.VoiceResponse()
      paths[path]?.(answer, parameters)
      response.setHeader('content-type', 'text/xml')
      response.end(answer.toString())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo // it listens on TCP
    t.after(() => void server.close())
    const url = (path: string) => `http://127.0.0.1:${port}${path}`
    const client = library(sid, token)
    client.api.baseUrl = platform.url
    const [own] = await client.incomingPhoneNumbers.list({ phoneNumber: number })
    await client.incomingPhoneNumbers(own.sid).update({ voiceUrl: url('/voice'), statusCallback: url('/ended') })
    const seen = (path: string, n = 1) =>
      until(async () => requests.filter((request) => request.path === path)[n - 1]?.parameters)
    await run({ client, url, requests, seen })
    assert.deepEqual(invalid, [])
  })
}

let handsets = 0
const newHandset = (ending = '50') => `+4477009${String(10 + handsets++)}0${ending}`
const ring = async (handset: string): Promise<string> => {
  const { status, body } = await platform.call('POST', `/sandbox/handsets/${handset}/calls`, { to: number })
  assert.equal(status, 202, JSON.stringify(body))
  return body.call_id
}
/** Presses keys, once the call is answered. */
const press = (handset: string, id: string, digits: string) =>
  until(
    async () => (await platform.call('POST', `/sandbox/handsets/${handset}/calls/${id}/keys`, { digits })).body.pressed,
  )
const hangUp = (handset: string, id: string) =>
  platform.call('POST', `/sandbox/handsets/${handset}/calls/${id}/hang-up`, {})
const ended = (handset: string) =>
  until(async () => {
    const call = (await callsSeenBy(platform, handset)).at(-1)
    return call?.ended_at && call
  })
const answered = (handset: string) =>
  until(async () => (await callsSeenBy(platform, handset)).find((call: Library) => call.state === 'answered'))

const gather = (action: string) => (response: Library) =>
  response.gather({ numDigits: 1, action, timeout: 10 }).say('Choose')

program(
  4,
  'a menu of three levels takes a key at each, and hangs up',
  {
    '/voice': gather('/first'),
    '/first': gather('/second'),
    '/second': gather('/third'),
    '/third': (response) => response.say('Bye') && response.hangup(),
  },
  async ({ seen, requests }) => {
    const handset = newHandset()
    const id = await ring(handset)
    for (const [n, path] of ['/voice', '/first', '/second'].entries()) {
      await seen(path)
      await press(handset, id, String(n + 1))
    }
    assert.equal((await ended(handset)).state, 'completed')
    assert.deepEqual(
      [(await seen('/ended')).CallStatus, ...requests.map(({ parameters }) => parameters.Digits)],
      ['completed', undefined, '1', '2', '3', undefined],
    )
    const [{ parameters }] = requests as [(typeof requests)[number]]
    assert.deepEqual(
      [parameters.AccountSid, parameters.From, parameters.To, parameters.Direction, parameters.CallStatus],
      [sid, handset, number, 'inbound', 'ringing'],
    )
  },
)

program(
  5,
  'a message is recorded, and played back from its address',
  {
    '/voice': (response) => response.record({ maxLength: 1, playBeep: false, action: '/recorded' }),
    '/recorded': (response, { RecordingUrl }) => response.play(RecordingUrl) && response.hangup(),
  },
  async ({ seen, client }) => {
    const handset = newHandset()
    await ring(handset)
    const call = await ended(handset)
    assert.ok(secondsOf(call.tones, 620) > 0.5, JSON.stringify(call.tones))
    const { RecordingSid, RecordingDuration, CallSid } = await seen('/recorded')
    assert.equal(RecordingDuration, '1')
    const stored = await client.recordings(RecordingSid).fetch()
    assert.deepEqual([stored.callSid, stored.status, stored.source], [CallSid, 'completed', 'RecordVerb'])
  },
)

program(
  6,
  'a call is rejected as busy',
  { '/voice': (response) => response.reject({ reason: 'busy' }) },
  async ({ seen }) => {
    const handset = newHandset()
    await ring(handset)
    const { status, answered_at } = await ended(handset)
    assert.deepEqual([status, answered_at], [486, undefined])
    assert.equal((await seen('/ended')).CallStatus, 'busy')
  },
)

program(
  4,
  'a document that redirects to itself for ever ends the call',
  { '/voice': (response) => response.redirect('/voice') },
  async ({ seen, requests }) => {
    const handset = newHandset()
    await ring(handset)
    await ended(handset)
    await seen('/ended')
    assert.ok(requests.length > 3 && requests.length < 200, `${requests.length} requests`)
  },
)

const [busy, second] = [newHandset('04'), newHandset()]
program(
  5,
  'a dial to a busy telephone goes on to another, which answers',
  {
    '/voice': (response) => response.dial({ action: '/dialled', timeout: 10 }, busy),
    '/dialled': (response, { DialCallStatus }) => {
      if (DialCallStatus === 'busy') response.dial({ action: '/dialled' }).number(second)
      else response.hangup()
    },
  },
  async ({ seen }) => {
    const handset = newHandset()
    await ring(handset)
    const { call_id } = await answered(second)
    await until(async () => secondsOf((await callsSeenBy(platform, handset)).at(-1).tones, 620) > 0.2)
    await hangUp(second, call_id)
    await ended(handset)
    assert.equal((await seen('/dialled')).DialCallStatus, 'busy')
    const done = await seen('/dialled', 2)
    assert.equal(done.DialCallStatus, 'completed')
    assert.match(done.DialCallSid ?? '', /^CA[0-9a-f]{32}$/)
    assert.ok(Number(done.DialCallDuration) >= 0)
  },
)

const agentNumber = newHandset()
program(
  6,
  'a callee is screened: it declines, then accepts, and the caller is answered at the connection',
  {
    '/voice': (response) => {
      const dial = response.dial({ action: '/dialled', answerOnBridge: true, hangupOnStar: true })
      dial.number(
        {
          ...{ url: '/screen', sendDigits: '9', statusCallback: '/agent' },
          statusCallbackEvent: ['initiated', 'ringing', 'answered', 'completed'],
        },
        agentNumber,
      )
    },
    '/screen': (response) => {
      response.gather({ numDigits: 1, action: '/screened', timeout: 20 }).say('Press 1 to accept')
      response.hangup()
    },
    '/screened': (response, { Digits }) => (Digits === '1' ? response.say('Connecting') : response.hangup()),
    '/dialled': (response, { DialBridged }) =>
      DialBridged === 'true' ? response.hangup() : response.redirect('/voice'),
  },
  async ({ seen, requests }) => {
    const handset = newHandset()
    const id = await ring(handset)
    const ringing = async () => (await callsSeenBy(platform, handset)).at(-1)
    for (const [n, key] of ['2', '1'].entries()) {
      const { ParentCallSid, Direction, CallStatus } = await seen('/screen', n + 1)
      assert.deepEqual([Direction, CallStatus], ['outbound-dial', 'in-progress'])
      assert.equal(ParentCallSid, (await seen('/voice')).CallSid)
      assert.equal((await ringing()).answered_at, undefined)
      await press(agentNumber, (await answered(agentNumber)).call_id, key)
      if (key === '1') continue
      const { DialCallStatus, DialBridged } = await seen('/dialled')
      assert.deepEqual([DialCallStatus, DialBridged], ['no-answer', 'false'])
    }
    await until(async () => secondsOf((await ringing()).tones, 620) > 0.2)
    await press(handset, id, '*')
    const { DialCallStatus, DialBridged, DialCallSid } = await seen('/dialled', 2)
    assert.deepEqual([DialCallStatus, DialBridged], ['completed', 'true'])
    await ended(handset)
    await seen('/agent', 8)
    const statuses = requests.filter(({ path, parameters }) => path === '/agent' && parameters.CallSid === DialCallSid)
    assert.deepEqual(
      statuses.map(({ parameters }) => parameters.CallStatus),
      ['initiated', 'ringing', 'in-progress', 'completed'],
    )
  },
)

const echo = await makeStreamServer(true)
after(() => echo.close())
program(
  6,
  'a stream to an echo, and the next verb once the server closes it',
  {
    '/voice': (response) => {
      const options = { url: echo.url, name: 'echo', statusCallback: '/stream' }
      response.connect({ action: '/streamed' }).stream(options).parameter({ name: 'room', value: '7' })
    },
    '/streamed': (response) => response.hangup(),
  },
  async ({ seen }) => {
    const handset = newHandset()
    await ring(handset)
    await until(async () => secondsOf((await callsSeenBy(platform, handset)).at(-1)?.tones ?? [], 620) > 0.3)
    const [stream] = echo.streams
    assert.ok(stream)
    const { start } = stream.frames[1] ?? {}
    assert.deepEqual(start?.customParameters, { room: '7' })
    stream.socket.close(1000)
    assert.equal((await seen('/streamed')).CallSid, start?.callSid)
    assert.equal((await ended(handset)).state, 'completed')
    const reports = [await seen('/stream'), await seen('/stream', 2)]
    assert.deepEqual(
      reports.map(({ StreamEvent, StreamName, StreamSid }) => [StreamEvent, StreamName, StreamSid]),
      ['stream-started', 'stream-stopped'].map((event) => [event, 'echo', start?.streamSid]),
    )
  },
)

program(
  4,
  'a call by API reports its statuses in order and once each',
  { '/out': (response) => response.say('Hello') && response.hangup() },
  async ({ client, url, seen, requests }) => {
    const to = newHandset()
    const call = await client.calls.create({
      ...{ from: number, to, url: url('/out'), statusCallback: url('/status') },
      statusCallbackEvent: ['initiated', 'ringing', 'answered', 'completed'],
    })
    await ended(to)
    await seen('/status', 4)
    const statuses = requests.filter(({ path }) => path === '/status').map(({ parameters }) => parameters)
    assert.deepEqual(
      statuses.map(({ CallSid, CallStatus, SequenceNumber }) => [CallSid, CallStatus, SequenceNumber]),
      ['initiated', 'ringing', 'in-progress', 'completed'].map((status, n) => [call.sid, status, String(n)]),
    )
    const [program] = requests.filter(({ path }) => path === '/out')
    assert.deepEqual([program?.parameters.CallSid, program?.parameters.CallStatus], [call.sid, 'in-progress'])
    assert.equal((await client.calls(call.sid).fetch()).status, 'completed')
  },
)

program(
  5,
  'a call is updated while it talks, to an address and to TwiML, and ended',
  { '/updated': (response) => response.pause({ length: 30 }) },
  async ({ client, url, seen }) => {
    const to = newHandset()
    const call = await client.calls.create({
      from: number,
      to,
      twiml: '<Response><Say loop="9">Hello</Say></Response>',
    })
    await answered(to)
    await until(async () => (await client.calls(call.sid).fetch()).status === 'in-progress')
    await client.calls(call.sid).update({ url: url('/updated') })
    await seen('/updated')
    await client.calls(call.sid).update({ twiml: `<Response><Redirect>${url('/updated')}</Redirect></Response>` })
    await seen('/updated', 2)
    const stream = await client
      .calls(call.sid)
      .streams.create({ url: echo.url, name: 'ears', statusCallback: url('/stream') })
    assert.equal((await seen('/stream')).StreamSid, stream.sid)
    await client.calls(call.sid).streams('ears').update({ status: 'stopped' })
    assert.equal((await seen('/stream', 2)).StreamEvent, 'stream-stopped')
    await client.calls(call.sid).update({ status: 'completed' })
    assert.equal((await ended(to)).state, 'completed')
    assert.equal((await client.calls(call.sid).fetch()).status, 'completed')
  },
)

const agent = await openPipecatAgent({ sid, token, base: platform.url })
after(() => agent.close())

program(
  6,
  "a voice agent that speaks as pipecat's serializer: media both ways, barge-in, hang-up",
  { '/voice': (response) => void response.connect().stream({ url: agent.url }) },
  async () => {
    const handset = newHandset()
    await ring(handset)
    const caller = {
      tones: async () => (await callsSeenBy(platform, handset)).at(-1)?.tones ?? [],
      ended: async () => (await ended(handset)).state,
    }
    // test/chaos/streams.test.ts has 60 s.
    await agent.takeCall(caller, 5)
  },
)
