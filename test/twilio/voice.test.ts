import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import Value from 'typebox/value'
import { callAnswered, callEnded, callRinging } from '../../src/domains/calls/ops.ts'
import { claimQueued } from '../../src/domains/calls/orders/order-store.ts'
import { ProgramError } from '../../src/domains/calls/programs/program.ts'
import { verbSchemas } from '../../src/domains/calls/programs/verbs.ts'
import { makeCallWorld, startProgram } from '../../src/interfaces/twilio/testing.ts'
import { compileCallDocument } from '../../src/interfaces/twilio/twiml/call-document.ts'
import { parseSid } from '../../src/platform/lib/sid.ts'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { installedLibraries } from './installed.ts'

// Calls by the official libraries, unchanged but for their base URL, and the TwiML that they build.

const { folder, skip } = installedLibraries()
const { app, db, from, to, open } = await makeCallWorld()
await app.listen({ host: '127.0.0.1', port: 0 })
after(() => app.close())
const base = `http://127.0.0.1:${Object(app.server.address()).port}`

const twiml = '<Response><Say>Hello</Say></Response>'

/** Verbs and nouns that fail by their name. */
const notOffered = [
  ...['echo', 'enqueue', 'leave', 'pay', 'prompt', 'queue', 'refer', 'sms'],
  ...['application', 'conference', 'queue', 'sim', 'sip', 'whatsApp'],
]

const plain: readonly string[] = ['constructor', 'comment', 'commentAfter', 'commentBefore']

/** Attributes of every kind, of which each verb knows some. */
const attributes = {
  ...{ action: '/next', method: 'GET', timeout: 7, loop: 2, length: 2, voice: 'Polly.Amy', language: 'en-GB' },
  ...{ numDigits: 2, finishOnKey: '*', bargeIn: false, actionOnEmptyResult: true, maxLength: 30, playBeep: false },
  ...{ trim: 'do-not-trim', recordingStatusCallback: '/stored', callerId: from, timeLimit: 60, hangupOnStar: true },
  ...{ answerOnBridge: true, record: 'record-from-answer', name: 'tap', track: 'inbound_track', reason: 'busy' },
  ...{ statusCallback: '/status', profanityFilter: true, ringTone: 'uk', sequential: true },
}

/** Compiles a document that a builder made; every verb of it has the form of ours. */
const compile = (document: string) => {
  const { verbs } = compileCallDocument('https://example.com/voice', document)
  for (const verb of verbs) assert.ok(Value.Check(verbSchemas[verb.verb], verb), JSON.stringify(verb))
  return verbs.map(({ verb }) => verb)
}

const isRefused = (document: string, name: string) =>
  assert.throws(
    () => compile(document),
    (error) => error instanceof ProgramError && new RegExp(`\\b${name}\\b`, 'i').test(error.message),
    document,
  )

for (const version of ['twilio4', 'twilio5', 'twilio6']) {
  const load = () => createRequire(join(folder, 'node_modules', 'x.js'))(version)

  const clientOf = ({ sid, token }: { sid: string; token: string }) => {
    const client = load()(sid, token)
    client.api.baseUrl = base
    return client
  }

  test(`${version}: each verb that its builder has compiles, or is refused by its name`, { skip }, () => {
    const { VoiceResponse } = load().twiml
    const namesOf = (object: object) =>
      Object.getOwnPropertyNames(Object.getPrototypeOf(object)).filter((name) => !plain.includes(name))
    for (const name of namesOf(new VoiceResponse())) {
      const response = new VoiceResponse()
      // Some verbs take a text, and attributes after it.
      const takesText = ['say', 'play', 'redirect', 'dial', 'queue', 'sms', 'echo'].includes(name)
      const text = name === 'dial' ? to : 'https://example.com/a.wav'
      const verb = takesText ? response[name](attributes, text) : response[name](attributes)
      if (name === 'connect' || name === 'start' || name === 'stop')
        verb.stream({ ...attributes, url: 'wss://a.example/x' })
      if (notOffered.includes(name)) isRefused(response.toString(), name)
      else assert.ok(compile(response.toString()).length > 0, name)
    }
    for (const name of namesOf(new VoiceResponse().dial())) {
      const response = new VoiceResponse()
      response.dial(attributes)[name]({ statusCallback: '/status' }, to)
      if (notOffered.includes(name)) isRefused(response.toString(), name)
      else assert.deepEqual(compile(response.toString()), ['dial'])
    }
    for (const name of namesOf(new VoiceResponse().gather())) {
      const response = new VoiceResponse()
      if (name === 'pause') response.gather().pause({ length: 2 })
      else response.gather()[name](attributes, 'https://example.com/a.wav')
      assert.deepEqual(compile(response.toString()), ['gather'])
    }
  })

  test(`${version}: a call is made, read, listed over pages, canceled and deleted`, { skip }, async () => {
    const { own } = await open()
    const client = clientOf(own)
    const made = await client.calls.create({ from, to, twiml, timeout: 20, record: true, sendDigits: 'w1' })
    assert.match(made.sid, /^CA[0-9a-f]{32}$/)
    assert.deepEqual([made.status, made.direction, made.from, made.to], ['queued', 'outbound-api', from, to])
    for (let n = 0; n < 4; n++) await client.calls.create({ from, to, twiml })
    assert.equal((await client.calls.list({ to, pageSize: 2 })).length, 5)
    assert.equal((await client.calls.list({ status: 'queued', startTimeAfter: new Date(0) })).length, 5)
    assert.equal((await client.calls(made.sid).update({ status: 'canceled' })).status, 'canceled')
    assert.ok((await client.calls(made.sid).fetch()).endTime instanceof Date)
    assert.deepEqual(await client.calls(made.sid).recordings.list(), [])
    assert.equal(await client.calls(made.sid).remove(), true)
    await assert.rejects(client.calls(made.sid).fetch(), { status: 404, code: 20404 })
    await assert.rejects(client.calls.create({ from: '+442079460000', to, twiml }), { status: 400, code: 21210 })
    await assert.rejects(client.calls.create({ from, to, twiml: '<Response><Pay/></Response>' }), { code: 12200 })
  })

  test(`${version}: its validator accepts the statuses of a call, which come in order`, { skip }, async () => {
    const { who, own } = await open()
    const program = await startProgram()
    const statusCallback = program.url('/status?x=1')
    const made = await clientOf(own).calls.create({
      ...{ from, to, twiml, statusCallback },
      statusCallbackEvent: ['initiated', 'ringing', 'answered', 'completed'],
    })
    const id = parseSid('CA', made.sid) ?? ''
    await claimQueued(db, 1, { maxWaitSeconds: 60, callsAtATime: 1_000, limit: 100 })
    await db.begin((tx) => callRinging(tx, who.id, id))
    await db.begin((tx) => callAnswered(tx, who.id, id, null))
    await db.begin((tx) => callEnded(tx, who.id, id, { status: 'COMPLETED', reason: 'x' }))
    await until(async () => program.requests.length >= 4)
    assert.deepEqual(
      program.requests.map(({ parameters }) => parameters.CallStatus),
      ['initiated', 'ringing', 'in-progress', 'completed'],
    )
    const { validateRequest } = load()
    for (const { parameters, signature } of program.requests) {
      assert.equal(validateRequest(own.token, signature, statusCallback, parameters), true)
      assert.equal(validateRequest('other', signature, statusCallback, parameters), false)
    }
  })
}

const python = `
import sys
from twilio.rest import Client
from twilio.base.exceptions import TwilioRestException
from twilio.twiml.voice_response import VoiceResponse, Dial, Gather, Connect
base, sid, token, caller, callee = sys.argv[1:]
client = Client(sid, token)
client.api.base_url = base
response = VoiceResponse()
response.say("Hello", voice="alice", loop=2)
gather = Gather(num_digits=1, action="https://example.com/menu", method="GET")
gather.say("Press 1")
gather.play("https://example.com/a.mp3")
response.append(gather)
response.record(max_length=30, finish_on_key="#", action="https://example.com/done")
dial = Dial(caller_id=caller, timeout=20)
dial.number(callee)
response.append(dial)
connect = Connect()
connect.stream(url="wss://example.com/agent").parameter(name="a", value="b")
response.append(connect)
response.redirect("https://example.com/again")
made = client.calls.create(from_=caller, to=callee, twiml=str(response), record=True)
assert (made.status, made.direction) == ("queued", "outbound-api"), made.status
assert client.calls(made.sid).fetch().to == callee
assert [one.sid for one in client.calls.list(to=callee, page_size=1)] == [made.sid]
assert client.calls(made.sid).update(status="canceled").status == "canceled"
assert client.calls(made.sid).delete()
try:
    client.calls.create(from_=caller, to=callee, twiml="<Response><Enqueue>a</Enqueue></Response>")
    sys.exit("not refused")
except TwilioRestException as error:
    assert (error.status, error.code) == (400, 12200), (error.status, error.code)
`

/** Debian's interpreter, whatever the path has: its library belongs to it. */
const debianPython = '/usr/bin/python3'

const hasPython = await promisify(execFile)(debianPython, ['-c', 'import twilio']).then(
  () => true,
  () => false,
)

test('python3-twilio makes a call with its TwiML, and ends it', needs('python3-twilio', hasPython), async () => {
  const { own } = await open()
  await promisify(execFile)(debianPython, ['-c', python, base, own.sid, own.token, from, to])
})
