import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { callAnswered, callEnded, callRinging } from '../../../domains/calls/ops.ts'
import { answerCommand, claimCommands, type WaitingCommand } from '../../../domains/calls/orders/command-store.ts'
import { claimQueued } from '../../../domains/calls/orders/order-store.ts'
import type { CommandOutcome } from '../../../domains/calls/programs/call-command.ts'
import type { ProgramSource } from '../../../domains/calls/programs/program-source.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { parseSid, printSid } from '../../../platform/lib/sid.ts'
import { signatureOf } from '../callbacks/signature.ts'
import { makeCallWorld, startProgram } from '../testing.ts'

const { call, db, ask, from, to, open } = await makeCallWorld()
const Twiml = '<Response><Say>Hello</Say></Response>'

type Own = Awaited<ReturnType<typeof open>>['own']

const make = (own: Own, more: Record<string, string | string[]> = {}) =>
  ask(own, 'POST', '/Calls.json', { To: to, From: from, Twiml, ...more })

const made = async (own: Own, more: Record<string, string | string[]> = {}) => {
  const { status, body } = await make(own, more)
  assert.equal(status, 201, JSON.stringify(body))
  return { ...body, id: parseSid('CA', body.sid) ?? '' }
}

const claim = () => claimQueued(db, 1, { maxWaitSeconds: 60, callsAtATime: 1_000, limit: 100 })

/** Executes the next command of an account as the process of the call would. */
const execute = (account: string, outcome: CommandOutcome): Promise<WaitingCommand> =>
  until(async () => {
    const found = (await claimCommands(db, 1, 100)).find((one) => one.account_id === account)
    if (found) await answerCommand(db, account, found.id, outcome)
    return found
  })

test('a call is queued with its program, its callbacks and how it is placed', async () => {
  const { own } = await open()
  const program = await startProgram()
  const url = program.url('/voice')
  const body = await made(own, {
    ...{
      Twiml: '',
      Url: url,
      Method: 'GET',
      FallbackUrl: program.url('/fallback'),
      StatusCallback: program.url('/status'),
    },
    ...{
      StatusCallbackEvent: ['initiated ringing', 'completed'],
      SendDigits: 'ww12#',
      Timeout: '20',
      TimeLimit: '300',
    },
    Record: 'true',
  })
  assert.deepEqual(
    [body.status, body.direction, body.from, body.to, body.price, body.start_time, body.duration],
    ['queued', 'outbound-api', from, to, null, null, null],
  )
  const row = await db.one<{ program: ProgramSource; placement: object; callbacks: object }>`
    select program, placement, callbacks from calls where id = ${body.id}`
  assert.deepEqual(row.program, {
    kind: 'url',
    url,
    method: 'GET',
    fallback_url: program.url('/fallback'),
    fallback_method: 'POST',
    shape: 'twilio',
  })
  assert.deepEqual(row.placement, {
    ring_seconds: 20,
    most_seconds: 300,
    send_digits: 'ww12#',
    record: true,
    headers: {},
  })
  assert.deepEqual(row.callbacks, {
    url: program.url('/status'),
    method: 'POST',
    events: ['initiated', 'ringing', 'completed'],
    shape: 'twilio',
    application: null,
  })
})

test('the TwiML of a request is compiled at once, and refused by its fault', async () => {
  const { own } = await open()
  const { id } = await made(own)
  const { program } = await db.one<{ program: ProgramSource }>`select program from calls where id = ${id}`
  assert.deepEqual(program, {
    kind: 'verbs',
    verbs: [{ verb: 'say', text: 'Hello', language: 'en-US' }],
    base_url: null,
    shape: 'twilio',
  })
  for (const [twiml, code, why] of [
    ['Hello', 12100, /not valid/],
    ['<Response><Enqueue>a</Enqueue></Response>', 12200, /Enqueue/],
  ] as const) {
    const { status, body } = await make(own, { Twiml: twiml })
    assert.deepEqual([status, body.code], [400, code])
    assert.match(body.message, why)
  }
})

const refused: readonly (readonly [string, Record<string, string>, number, number])[] = [
  ['no To', { To: '' }, 400, 21201],
  ['a false To', { To: '12' }, 400, 21211],
  ['an unknown client', { To: 'client:nobody@example.com' }, 400, 21211],
  ['no From', { From: '' }, 400, 21213],
  ['a false From', { From: 'x' }, 400, 21212],
  ['a From of somebody else', { From: '+447911000000' }, 400, 21210],
  ['no program', { Twiml: '' }, 400, 21205],
  ['a false Url', { Url: 'ftp://example.com/' }, 400, 21205],
  ['an unknown application', { ApplicationSid: `AP${'0'.repeat(32)}` }, 400, 21218],
  ['false digits', { SendDigits: '12x' }, 400, 21206],
  ['an unknown event', { StatusCallback: 'http://127.0.0.1:8099/', StatusCallbackEvent: 'rang' }, 400, 21626],
  ['a destination that is closed', { To: '+882169999999' }, 400, 21215],
  ['MachineDetection', { MachineDetection: 'Enable' }, 400, 20001],
]

test('a call that cannot be made is refused with the code of its reason', async () => {
  const { own } = await open()
  for (const [what, fields, status, code] of refused) {
    const answer = await make(own, fields)
    assert.deepEqual([answer.status, answer.body.code], [status, code], `${what}: ${answer.body.message}`)
  }
})

test('calls are listed newest first, filtered by their sides, status and day, and by pages', async () => {
  const { own } = await open()
  const other = '+442079460188'
  const sids: string[] = []
  for (const To of [to, other, to]) sids.unshift((await made(own, { To })).sid)
  const list = async (query: Record<string, string> = {}) => {
    const { status, body } = await ask(own, 'GET', '/Calls.json', query)
    assert.equal(status, 200, JSON.stringify(body))
    return body.calls.map(({ sid }: { sid: string }) => sid)
  }
  const day = new Date().toISOString().slice(0, 10)
  assert.deepEqual(await list(), sids)
  assert.deepEqual(await list({ To: other }), [sids[1]])
  assert.deepEqual(await list({ From: from, Status: 'queued' }), sids)
  assert.deepEqual(await list({ From: to }), [])
  assert.deepEqual(await list({ Status: 'initiated' }), [])
  assert.deepEqual(await list({ StartTime: day }), sids)
  assert.deepEqual(await list({ 'StartTime<': '2020-01-01' }), [])
  assert.deepEqual(await list({ ParentCallSid: sids[0] ?? '' }), [])
  const first = (await ask(own, 'GET', '/Calls.json', { PageSize: '2' })).body
  const next = await ask(own, 'GET', first.next_page_uri.replace(/^.*(?=\/Calls)/, ''))
  assert.deepEqual(
    [...first.calls, ...next.body.calls].map(({ sid }: { sid: string }) => sid),
    sids,
  )
})

test('an update redirects a call in progress, ends it, or does nothing', async () => {
  const { who, own } = await open()
  const { sid, id } = await made(own)
  const path = `/Calls/${sid}.json`
  assert.deepEqual([(await ask(own, 'POST', path)).status, (await ask(own, 'POST', path)).body.status], [200, 'queued'])
  await claim()
  assert.equal((await ask(own, 'GET', path)).body.status, 'initiated')
  await db.begin((tx) => callAnswered(tx, who.id, id, null))
  assert.equal((await ask(own, 'GET', path)).body.status, 'in-progress')

  const redirected = ask(own, 'POST', path, { Twiml })
  const { command } = await execute(who.id, { ok: true })
  assert.deepEqual(command.command, 'redirect')
  assert.deepEqual([(await redirected).status, (await redirected).body.sid], [200, sid])

  assert.equal((await ask(own, 'POST', path, { Status: 'canceled' })).body.status, 'in-progress', 'it was answered')
  const ended = ask(own, 'POST', path, { Status: 'completed' })
  assert.equal((await execute(who.id, { ok: true })).command.command, 'hangup')
  assert.equal((await ended).status, 200)

  const failed = ask(own, 'POST', path, { Twiml })
  await execute(who.id, { ok: false, code: 'not_answered', reason: 'It is not answered' })
  assert.deepEqual([(await failed).status, (await failed).body.code], [400, 21220])
  assert.equal((await ask(own, 'DELETE', path)).body.code, 20009)
  await db.begin((tx) => callEnded(tx, who.id, id, { status: 'COMPLETED', reason: 'x' }))
  const { status, body } = await ask(own, 'POST', path, { Twiml })
  assert.deepEqual([status, body.code], [400, 21220])
  // Voice agents, such as pipecat's, take this for a call whose party hung up first.
  const over = await ask(own, 'POST', path, { Status: 'completed' })
  assert.deepEqual([over.status, over.body.code], [404, 20404])
})

test('a call of an application reports its statuses where the application says, unless the call says', async () => {
  const { who, own } = await open()
  const voice = { VoiceUrl: 'http://127.0.0.1:8099/voice', StatusCallback: 'http://127.0.0.1:8099/status' }
  const { body: application } = await ask(own, 'POST', '/Applications.json', { FriendlyName: 'Menu', ...voice })
  const callbacksOf = async (more: Record<string, string>) => {
    const { id } = await made(own, { Twiml: '', ApplicationSid: application.sid, ...more })
    const { callbacks } = await db.one<{ callbacks: { url: string; events: string[]; shape: string } }>`
      select callbacks from calls where account_id = ${who.id} and id = ${id}`
    return [callbacks.url, callbacks.events, callbacks.shape]
  }
  assert.deepEqual(await callbacksOf({}), [voice.StatusCallback, ['completed'], 'twilio'])
  const other = { StatusCallback: 'http://127.0.0.1:8099/own', StatusCallbackEvent: 'answered' }
  assert.deepEqual(await callbacksOf(other), [other.StatusCallback, ['answered'], 'twilio'])
})

test('a call that waits is canceled at once; one that has ended is deleted, and is not shown any more', async () => {
  const { own } = await open()
  const { sid } = await made(own)
  const path = `/Calls/${sid}.json`
  assert.equal((await ask(own, 'POST', path, { Status: 'canceled' })).body.status, 'canceled')
  assert.equal((await ask(own, 'DELETE', path)).status, 204)
  assert.equal((await ask(own, 'GET', path)).body.code, 20404)
  assert.deepEqual((await ask(own, 'GET', '/Calls.json')).body.calls, [])
})

test('each status of a call is reported once and in order, signed, with what its end cost', async () => {
  const { who, own } = await open()
  const program = await startProgram()
  const url = program.url('/status')
  const { sid, id } = await made(own, {
    StatusCallback: url,
    StatusCallbackEvent: ['initiated', 'ringing', 'answered', 'completed'],
  })
  await claim()
  await db.begin((tx) => callRinging(tx, who.id, id))
  await db.begin((tx) => callAnswered(tx, who.id, id, null))
  await db.begin((tx) => callEnded(tx, who.id, id, { status: 'COMPLETED', reason: 'x' }))
  await until(async () => program.requests.length >= 4)
  assert.deepEqual(
    program.requests.map(({ parameters: p }) => [p.CallStatus, p.SequenceNumber, p.CallSid, p.Direction]),
    ['initiated', 'ringing', 'in-progress', 'completed'].map((status, n) => [status, String(n), sid, 'outbound-api']),
  )
  for (const { signature, parameters } of program.requests)
    assert.equal(signature, signatureOf(own.token, url, parameters))
  const { Timestamp, CallDuration, ...last } = program.requests[3]?.parameters ?? {}
  assert.match(CallDuration ?? '', /^[01]$/)
  assert.ok(!Number.isNaN(Date.parse(Timestamp ?? '')))
  assert.deepEqual(last, {
    ...{ CallSid: sid, AccountSid: own.sid, From: from, To: to, Caller: from, Called: to, CallStatus: 'completed' },
    ...{ ApiVersion: '2010-04-01', Direction: 'outbound-api', FromCountry: 'GB', CallerCountry: 'GB' },
    ...{ ToCountry: 'GB', CalledCountry: 'GB', CallbackSource: 'call-progress-events', SequenceNumber: '3' },
    ...{ Duration: '1', SipResponseCode: '200' },
  })
})

test('calls and recordings of another account are unknown', async () => {
  const [ada, bob] = [await open(), await open()]
  const { sid } = await made(bob.own)
  const missing = `CA${'0'.repeat(32)}`
  for (const method of ['GET', 'POST', 'DELETE'] as const) {
    const [foreign, unknown] = [
      await ask(ada.own, method, `/Calls/${sid}.json`),
      await ask(ada.own, method, `/Calls/${missing}.json`),
    ]
    assert.equal(foreign.status, 404)
    assert.equal(JSON.stringify(foreign.body).replace(sid, missing), JSON.stringify(unknown.body))
  }
})

test('a key that sees only some conversations reads the other calls with read_only, and changes none of them', async () => {
  const { who, own } = await open()
  const { sid } = await made(own)
  const names = { first_name: 'Bob', last_name: 'L', email: `${uuid()}@example.com` }
  const { user } = (await call('operator', 'POST', `/operator/accounts/${who.uuid}/users`, names)).body
  await db.run`
    insert into conversations (account_id, id, counterpart, name, status, assignee_id, last_at, last_item, last_kind,
      last_text, created_at)
    values (${who.id}, ${uuid()}, ${to}, 'Bob', 'open', ${user.uuid.slice(3)}, now(), ${uuid()}, 'call', '', now())`
  const limited = await call(who, 'POST', '/open/keys', { label: 'limited', scopes: ['inbox', 'read_only'] })
  const narrow = { ...own, token: limited.body.key }
  assert.equal((await ask(narrow, 'GET', `/Calls/${sid}.json`)).status, 200)
  const changes = [
    [`/Calls/${sid}.json`, { Status: 'completed' }],
    [`/Calls/${sid}/Recordings.json`, {}],
    [`/Calls/${sid}/Streams.json`, { Url: 'ws://127.0.0.1:8099/' }],
  ] as const
  for (const [path, fields] of changes) assert.equal((await ask(narrow, 'POST', path, fields)).body.code, 20404, path)
  assert.equal((await ask(narrow, 'DELETE', `/Calls/${sid}.json`)).body.code, 20404)
  assert.equal((await ask(own, 'GET', `/Calls/${sid}.json`)).body.status, 'queued')
})

test('a stream is begun and stopped by the program of the call', async () => {
  const { who, own } = await open()
  const { sid } = await made(own)
  await claim()
  const path = `/Calls/${sid}/Streams`
  const stream = uuid()
  const begun = ask(own, 'POST', `${path}.json`, {
    ...{ Url: 'ws://127.0.0.1:8099/sound?x=1', Name: 'tap', Track: 'both_tracks' },
    ...{ 'Parameter1.Name': 'a', 'Parameter1.Value': 'b' },
  })
  const { command } = await execute(who.id, { ok: true, stream })
  assert.deepEqual(command, {
    command: 'stream',
    verb: {
      ...{ verb: 'stream', url: 'ws://127.0.0.1:8099/sound', direction: 'in', track: 'both', name: 'tap' },
      parameters: { a: 'b' },
    },
  })
  const { status, body } = await begun
  assert.deepEqual([status, body.sid, body.name, body.status], [201, printSid('MZ', stream), 'tap', 'in-progress'])
  const stopped = ask(own, 'POST', `${path}/${body.sid}.json`, { Status: 'stopped' })
  assert.deepEqual((await execute(who.id, { ok: true })).command, { command: 'stop_stream', stream, name: null })
  assert.deepEqual([(await stopped).status, (await stopped).body.status], [200, 'stopped'])
  for (const fields of [
    { Url: 'https://example.com/' },
    { Url: 'ws://127.0.0.1:8099/', StatusCallback: 'ws://x.test/' },
  ])
    assert.equal((await ask(own, 'POST', `${path}.json`, fields)).body.code, 21205, JSON.stringify(fields))
})

test('a recording is begun by the program of the call, with who gets it', async () => {
  const { who, own } = await open()
  const { sid, id } = await made(own)
  await claim()
  const recording = uuid()
  await db.run`
    insert into call_recordings (account_id, id, call_id, source) values (${who.id}, ${recording}, ${id}, 'command')`
  const url = 'http://127.0.0.1:8099/stored'
  const begun = ask(own, 'POST', `/Calls/${sid}/Recordings.json`, {
    ...{ RecordingStatusCallback: url, RecordingStatusCallbackMethod: 'get' },
  })
  const { command } = await execute(who.id, { ok: true, recording })
  assert.deepEqual(command, {
    command: 'record_call',
    verb: { verb: 'record_call', do: 'start', status_url: url, status_method: 'GET' },
  })
  const { status, body } = await begun
  assert.deepEqual([status, body.sid, body.status], [201, printSid('RE', recording), 'in-progress'])
})

test('a token of a key with a daily spend limit counts for it: calls beyond it are refused, recorded and cost nothing', async () => {
  const { who } = await open()
  const { key } = (await call(who, 'POST', '/open/keys', { label: 'limited', spend_per_day: '0.02' })).body
  const { body: token } = await call({ ...who, key }, 'POST', '/open/compat/credentials', {})
  assert.equal(token.spend_per_day, '0.02')
  const own = { sid: token.account_sid, token: token.auth_token, key: token.key_uuid }
  await made(own)
  await made(own)
  const refused = await make(own)
  assert.deepEqual([refused.status, refused.body.code], [402, 20005])
  assert.match(refused.body.message, /USD 0\.02 per day/)
  const { cdrs } = (await call(who, 'GET', '/open/voip/call-history')).body
  assert.deepEqual(
    cdrs.map(({ status, end_reason }: { status: string; end_reason?: string }) => [status, end_reason]),
    [['FAILED', 'key_spend_limit'], ...Array(2).fill(['QUEUED', undefined])],
  )
  const { keys } = (await call(who, 'GET', '/open/keys')).body
  const spent = keys.map(({ spent_today }: { spent_today?: string }) => spent_today)
  assert.deepEqual(spent, [undefined, undefined, '0.02', '0.02'])
})
