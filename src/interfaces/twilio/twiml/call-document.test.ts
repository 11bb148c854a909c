import assert from 'node:assert/strict'
import { test } from 'node:test'
import Value from 'typebox/value'
import { verbSchemas } from '../../../domains/calls/programs/verbs.ts'
import { compileCallDocument } from './call-document.ts'

const base = 'https://example.com/calls/menu?x=1'
const compile = (inner: string, from: string | null = base) => {
  const document = compileCallDocument(from, `<Response>${inner}</Response>`)
  for (const verb of document.verbs) assert.ok(Value.Check(verbSchemas[verb.verb], verb), JSON.stringify(verb))
  return document
}
const verbsOf = (inner: string) => compile(inner).verbs

test('Say speaks its text and that of SSML, which is noted', () => {
  const { verbs, notes } = compile(
    '<Say voice="alice" loop="2">One<break time="1s"/>two <say-as interpret-as="digits">34</say-as></Say><Say/>',
  )
  assert.deepEqual(verbs, [{ verb: 'say', text: 'One two 34', voice: 'alice', language: 'en-US', loop: 2 }])
  assert.deepEqual(notes, [
    'Say: the element break has no effect, its text is spoken',
    'Say: the element say-as has no effect, its text is spoken',
    'Say: it has no text',
  ])
})

test('Play plays a sound at an address relative to the document, or sends digits', () => {
  assert.deepEqual(verbsOf('<Play loop="0">../a.wav</Play><Play digits="ww1#"/>'), [
    { verb: 'play', url: 'https://example.com/a.wav', loop: 0 },
    { verb: 'dtmf', digits: 'ww1#' },
  ])
  assert.throws(() => compile('<Play digits="1x"/>'), { code: 'attribute' })
})

test('Gather asks at the address of its document by default', () => {
  assert.deepEqual(
    verbsOf('<Gather numDigits="1"><Say>Press 1.</Say><Pause length="2"/><Play>/a.wav</Play></Gather>'),
    [
      {
        verb: 'gather',
        action: base,
        prompts: [
          { verb: 'say', text: 'Press 1.', language: 'en-US' },
          { verb: 'pause', seconds: 2 },
          { verb: 'play', url: 'https://example.com/a.wav' },
        ],
        num_digits: 1,
        on_empty: 'next',
      },
    ],
  )
  const attributes =
    'action="/done" method="GET" timeout="3" finishOnKey="" bargeIn="false" actionOnEmptyResult="true" hints="a"'
  const { verbs, notes } = compile(`<Gather input="dtmf speech" ${attributes}/>`)
  assert.deepEqual(verbs, [
    {
      verb: 'gather',
      action: 'https://example.com/done',
      action_method: 'GET',
      finish_on_key: '',
      timeout: 3,
      barge_in: false,
      on_empty: 'action',
    },
  ])
  assert.deepEqual(notes, [
    'Gather: speech is not recognised, keys alone are gathered',
    'Gather: the attribute hints has no effect',
  ])
})

test('Gather of speech alone is refused by its name', () => {
  assert.throws(() => compile('<Gather input="speech"/>'), {
    code: 'attribute',
    message: /^Gather with input="speech"/,
  })
})

test('Record requests its document again by default, and reports the recording once it is stored', () => {
  assert.deepEqual(verbsOf('<Record/>'), [{ verb: 'record', action: base }])
  const callback = 'recordingStatusCallback="/stored" recordingStatusCallbackMethod="GET"'
  assert.deepEqual(
    verbsOf(
      `<Record action="done" maxLength="30" timeout="0" finishOnKey="#" playBeep="false" trim="do-not-trim" ${callback}/>`,
    ),
    [
      {
        verb: 'record',
        action: 'https://example.com/calls/done',
        max_seconds: 30,
        timeout: 0,
        finish_on_key: '#',
        beep: false,
        trim: false,
        status_url: 'https://example.com/stored',
        status_method: 'GET',
      },
    ],
  )
})

test('Dial calls one number or one person', () => {
  assert.deepEqual(verbsOf('<Dial>+44 7700 900123</Dial><Dial><Client>USR1</Client></Dial>'), [
    { verb: 'dial', targets: [{ number: '+447700900123' }] },
    { verb: 'dial', targets: [{ user_uuid: 'USR1' }] },
  ])
  const attributes =
    'action="/after" timeout="15" timeLimit="60" callerId="+447700900001" hangupOnStar="true" answerOnBridge="true"'
  assert.deepEqual(
    verbsOf(`<Dial ${attributes} record="record-from-answer-dual"><Number>+447700900123</Number></Dial>`),
    [
      {
        verb: 'dial',
        targets: [{ number: '+447700900123' }],
        action: 'https://example.com/after',
        timeout: 15,
        max_seconds: 60,
        caller_id: '+447700900001',
        answer_on_bridge: true,
        hangup_on_star: true,
        record: 'from_answer',
      },
    ],
  )
})

test('Connect and Start open streams, and Stop ends them; the query of a url is not requested', () => {
  const { verbs, notes } = compile(
    `<Start><Stream name="tap" url="wss://example.com/tap" track="both_tracks"/><Recording recordingStatusCallback="/r"/></Start>
     <Connect action="/after"><Stream url="wss://example.com/agent?a=1" statusCallback="/s"><Parameter name="a" value="1"/></Stream></Connect>
     <Stop><Stream name="tap"/></Stop>`,
  )
  assert.deepEqual(verbs, [
    { verb: 'stream', url: 'wss://example.com/tap', direction: 'in', track: 'both', name: 'tap' },
    { verb: 'record_call', do: 'start', status_url: 'https://example.com/r' },
    {
      verb: 'stream',
      url: 'wss://example.com/agent',
      direction: 'both',
      parameters: { a: '1' },
      status_url: 'https://example.com/s',
      action: 'https://example.com/after',
    },
    { verb: 'stop_stream', name: 'tap' },
  ])
  assert.deepEqual(notes, ['Stream: the query of its url is not requested, use Parameter'])
})

test('Redirect, Reject, Hangup and Pause', () => {
  assert.deepEqual(
    verbsOf('<Pause/><Redirect method="get">next?a=1&amp;b=2</Redirect><Reject reason="busy"/><Reject/><Hangup/>'),
    [
      { verb: 'pause' },
      { verb: 'redirect', url: 'https://example.com/calls/next?a=1&b=2', method: 'GET' },
      { verb: 'reject', reason: 'busy' },
      { verb: 'reject' },
      { verb: 'hangup' },
    ],
  )
})

for (const [document, name] of [
  ['<say>Hi</say>', 'say'],
  ['<Enqueue>a</Enqueue>', 'Enqueue'],
  ['<Pay/>', 'Pay'],
  ['<Sms>a</Sms>', 'Sms'],
  ['<constructor/>', 'constructor'],
  ['<Connect><ConversationRelay/></Connect>', 'ConversationRelay'],
  ['<Start><Transcription/></Start>', 'Transcription'],
  ['<Dial><Conference>a</Conference></Dial>', 'Conference'],
  ['<Dial><Queue>a</Queue></Dial>', 'Queue'],
  ['<Dial><Sip>sip:a@example.com</Sip></Dial>', 'Sip'],
  ['<Gather><Dial>1</Dial></Gather>', 'Dial'],
] as const)
  test(`a document with ${name} in ${document} fails by that name`, () => {
    assert.throws(() => compile(document), { code: 'verb', message: new RegExp(`cannot have ${name}:`) })
  })

test('Number and Client ask the callee by a document, send digits, and report the statuses of their call', () => {
  const callback = 'statusCallback="/status" statusCallbackMethod="GET" statusCallbackEvent="completed  ringing"'
  const { verbs, notes } = compile(
    `<Dial><Number url="/ask" method="GET" sendDigits="ww12#" ${callback}>+447700900123</Number></Dial>
     <Dial><Client url="ask" statusCallback="/status" statusCallbackEvent="amd">USR1</Client></Dial>`,
  )
  const status_url = 'https://example.com/status'
  assert.deepEqual(verbs, [
    {
      verb: 'dial',
      targets: [
        {
          ...{ number: '+447700900123', send_digits: 'ww12#', status_url, status_method: 'GET' },
          status_events: ['ringing', 'completed'],
        },
      ],
      confirm: [{ verb: 'redirect', url: 'https://example.com/ask', method: 'GET' }],
    },
    {
      verb: 'dial',
      targets: [{ user_uuid: 'USR1', status_url }],
      confirm: [{ verb: 'redirect', url: 'https://example.com/calls/ask' }],
    },
  ])
  assert.deepEqual(notes, ['Client: statusCallbackEvent="amd" is not valid and has no effect'])
  assert.throws(() => compile('<Dial><Number sendDigits="1x">+447700900123</Number></Dial>'), {
    message: /^Number sendDigits/,
  })
})

test('what would change whom the callee meets fails by its name', () => {
  const number = '<Number>+447700900123</Number>'
  assert.throws(() => compile(`<Dial>${number}${number}</Dial>`), { code: 'attribute', message: /several targets/ })
  assert.throws(() => compile('<Dial/>'), { code: 'attribute' })
})

test('attributes that are unknown or not valid are noted, with the effect of absent ones', () => {
  const { verbs, notes } = compile('<Pause length="x" __proto__="1"/><Gather numDigits="999" timeout="auto"/>')
  assert.deepEqual(verbs, [{ verb: 'pause' }, { verb: 'gather', action: base, num_digits: 64, on_empty: 'next' }])
  assert.deepEqual(notes, [
    'Pause: length="x" is not valid and has no effect',
    'Pause: the attribute __proto__ has no effect',
    'Gather: timeout="auto" is not valid and has no effect',
    'Gather: numDigits="999" is beyond 1 to 64',
  ])
})

test('a document that is not TwiML is malformed, and a long one too large', () => {
  assert.throws(() => compileCallDocument(base, 'Hello'), { code: 'malformed' })
  assert.throws(() => compile('Hello'), { code: 'malformed' })
  assert.throws(() => compile(`<Say>${'x'.repeat(70_000)}</Say>`), { code: 'too_large' })
  assert.throws(() => compile(`<Say>${'x'.repeat(5_000)}</Say>`), { code: 'attribute' })
})

test('a document without an address can have full addresses only', () => {
  assert.deepEqual(compile('<Gather/><Record/>', null).verbs, [
    { verb: 'gather', on_empty: 'next' },
    { verb: 'record' },
  ])
  assert.throws(() => compile('<Play>/a.wav</Play>', null), { code: 'attribute' })
})
