import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import type { ProgramRequest, ResolvedProgram } from '../../../domains/calls/programs/program.ts'
import { makeReportStream } from '../../../domains/calls/streams/stream-status.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import { makeTwilioWorld, startProgram } from '../testing.ts'
import { makeCallRequestWriter, streamHeaders } from './call-request.ts'
import { signatureOf } from './signature.ts'

const world = await makeTwilioWorld()
const { app, parts, tenant, credentials } = world
const write = makeCallRequestWriter(parts)

const url = 'https://example.com/voice?x=1'

const open = async () => {
  const who = await tenant()
  const own = await credentials(who)
  const program: ResolvedProgram = {
    ...{ account: who.id, application: null, begin: { url, method: 'POST' }, fallback: null, shape: 'twilio' },
    ...{ timeoutMs: 8_000, secret: null },
  }
  const content: ProgramRequest = {
    ...{ event: 'call.started', sequence: 0, verb: null, result: null, error: null },
    call: {
      ...{ id: uuid(), account: who.id, parent: null, direction: 'inbound', origin: 'trunk', status: 'RINGING' },
      ...{ from: '+442079460123', to: '+14155550123', number: null, divertedFrom: null, tags: {} },
    },
  }
  return { who, own, program, content }
}

const parametersOf = (body: string | null) => Object.fromEntries(new URLSearchParams(body ?? ''))

test('a POST describes the call in a form, signed with the token of the account', async () => {
  const { own, program, content } = await open()
  const {
    method,
    url: target,
    headers,
    body,
    ...stated
  } = await write(program, { url: `${url}#ct=2000&rc=2`, method: 'POST' }, content, 'id')
  assert.deepEqual(stated, { connectMs: 2_000, retries: 2 })
  const parameters = parametersOf(body)
  assert.deepEqual(parameters, {
    ...{ CallSid: printSid('CA', content.call.id), AccountSid: own.sid, CallStatus: 'ringing', Direction: 'inbound' },
    ...{ From: '+442079460123', Caller: '+442079460123', FromCountry: 'GB', CallerCountry: 'GB' },
    ...{ To: '+14155550123', Called: '+14155550123', ToCountry: 'US', CalledCountry: 'US' },
    ApiVersion: '2010-04-01',
  })
  assert.deepEqual([method, target], ['POST', url])
  assert.equal(headers['x-twilio-signature'], signatureOf(own.token, url, parameters))
  assert.equal(headers['i-twilio-idempotency-token'], 'id')
})

test('a GET has the call in its query, which is signed', async () => {
  const { own, program, content } = await open()
  const written = await write(program, { url, method: 'GET' }, content, 'id')
  assert.deepEqual([written.method, written.body], ['GET', null])
  assert.equal(new URL(written.url).searchParams.get('CallSid'), printSid('CA', content.call.id))
  assert.equal(written.headers['x-twilio-signature'], signatureOf(own.token, written.url))
})

test('a child call names its parent, and a forwarded one the number that forwarded it', async () => {
  const { program, content } = await open()
  const parent = uuid()
  const call = { ...content.call, origin: 'dial', parent, divertedFrom: '+442079460188', status: 'ANSWERED' } as const
  const { body } = await write(program, { url, method: 'POST' }, { ...content, call }, 'id')
  const { ParentCallSid, ForwardedFrom, Direction, CallStatus } = parametersOf(body)
  assert.deepEqual(
    [ParentCallSid, ForwardedFrom, Direction, CallStatus],
    [printSid('CA', parent), '+442079460188', 'outbound-dial', 'in-progress'],
  )
})

const [recording, child] = [uuid(), uuid()]

const results: readonly (readonly [string, string, object, Record<string, string>])[] = [
  [
    'keys and the one that ended them',
    'gather',
    { reason: 'digits', digits: '12', finished_on_key: '#' },
    { Digits: '12', FinishedOnKey: '#' },
  ],
  ['no key', 'gather', { reason: 'timeout', digits: '' }, { Digits: '', msg: 'Gather End', FinishedOnKey: '' }],
  [
    'a recording that a hang-up ended',
    'record',
    { reason: 'hangup', recording_uuid: `REC${recording}`, seconds: 3.4 },
    { RecordingSid: printSid('RE', recording), RecordingDuration: '3', Digits: 'hangup' },
  ],
  [
    'a dialled call',
    'dial',
    { status: 'completed', call_uuid: `CDR${child}`, seconds: 12 },
    { DialCallStatus: 'completed', DialCallSid: printSid('CA', child), DialCallDuration: '12', DialBridged: 'true' },
  ],
  [
    'a dialled call without an answer',
    'dial',
    { status: 'no_answer', call_uuid: child, seconds: 0 },
    { DialCallStatus: 'no-answer', DialCallSid: printSid('CA', child), DialBridged: 'false' },
  ],
]

for (const [what, name, result, expected] of results)
  test(`the result of ${name} has the names of Twilio: ${what}`, async () => {
    const { program, content } = await open()
    const { body: before } = await write(program, { url, method: 'POST' }, content, 'id')
    const { body } = await write(
      program,
      { url, method: 'POST' },
      { ...content, event: 'verb.completed', verb: { id: null, name }, result: { ...result } },
      'id',
    )
    const { RecordingUrl, ...added }: Record<string, string> = Object.fromEntries(
      Object.entries<string>(parametersOf(body)).filter(([key]) => !(key in parametersOf(before))),
    )
    assert.deepEqual(added, expected)
    if (name === 'record') assert.ok(RecordingUrl?.endsWith(`/${printSid('RE', recording)}`), String(RecordingUrl))
  })

test('the fallback learns which address failed, by the code of Twilio', async () => {
  const { program, content } = await open()
  for (const [code, expected] of [
    ['timeout', '11200'],
    ['malformed', '12100'],
    ['verb', '12200'],
    ['content_type', '12300'],
  ] as const) {
    const error = { code, url, status: null }
    const { body } = await write(program, { url, method: 'POST' }, { ...content, event: 'call.error', error }, 'id')
    const { ErrorCode, ErrorUrl } = parametersOf(body)
    assert.deepEqual([ErrorCode, ErrorUrl], [expected, url])
  }
})

test('an account without a token makes no request, and the handshake of a stream is signed over its address', async () => {
  const { who, own, program, content } = await open()
  const stream = 'wss://example.com/sound'
  const headers = await streamHeaders(parts, who.id, stream)
  assert.equal(headers['x-twilio-signature'], signatureOf(own.token, stream))
  await world.db.run`update api_keys set revoked_at = now() where account_id = ${who.id}`
  await assert.rejects(write(program, { url, method: 'POST' }, content, 'id'), { code: 'unreachable', url })
  await assert.rejects(streamHeaders(parts, who.id, stream), { code: 'unreachable' })
})

test('the link to a recording in a request leads to its file', async () => {
  const { program, content } = await open()
  const verb = { id: null, name: 'record' }
  const { body } = await write(
    program,
    { url, method: 'POST' },
    { ...content, verb, result: { recording_uuid: recording } },
    'id',
  )
  const { pathname } = new URL(parametersOf(body).RecordingUrl ?? '')
  const answer = await app.inject({ url: pathname })
  // The link is valid, and the recording does not exist.
  assert.equal(answer.json().error_code, 'recording_not_found')
})

test('the changes of a stream are reported in order with the parameters of Twilio, by POST and by GET', async () => {
  const { own, content } = await open()
  const program = await startProgram()
  const report = makeReportStream({ ...parts, onError: (error) => assert.fail(String(error)) })
  const stream = uuid()
  const common = { stream, name: 'ears', error: null, end: null }
  const error = { code: 'stream_broken', detail: 'the connection broke' }
  const address = { url: program.url('/stream'), shape: 'twilio', application: null } as const
  report(content.call, { ...address, method: 'POST' }, { ...common, change: 'started' })
  report(content.call, { ...address, method: 'POST' }, { ...common, change: 'error', error })
  report(content.call, { ...address, method: 'GET' }, { ...common, name: null, change: 'stopped' })
  await until(async () => program.requests.length === 3)
  const sid = printSid('MZ', stream)
  const fixed = { AccountSid: own.sid, CallSid: printSid('CA', content.call.id), StreamSid: sid }
  assert.deepEqual(
    program.requests.map(({ method, parameters: { Timestamp, ...rest } }) => [method, rest]),
    [
      ['POST', { ...fixed, StreamName: 'ears', StreamEvent: 'stream-started' }],
      [
        'POST',
        {
          ...fixed,
          StreamName: 'ears',
          StreamEvent: 'stream-error',
          StreamError: 'stream_broken: the connection broke',
        },
      ],
      ['GET', { ...fixed, StreamName: sid, StreamEvent: 'stream-stopped' }],
    ],
  )
  for (const { parameters, signature, method } of program.requests) {
    assert.match(parameters.Timestamp ?? '', /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    if (method === 'POST') assert.equal(signature, signatureOf(own.token, address.url, parameters))
  }
})

test('a person who calls is named as a client of Twilio', async () => {
  const { program, content } = await open()
  const call = { ...content.call, from: 'USR01900000-0000-7000-8000-000000000001', origin: 'device' as const }
  const { body } = await write(program, { url, method: 'POST' }, { ...content, call }, 'id')
  const { From, Caller, Direction } = parametersOf(body)
  assert.deepEqual([From, Caller, Direction], [`client:${call.from}`, `client:${call.from}`, 'inbound'])
})
