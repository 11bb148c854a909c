import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import type { ProviderRequest } from './provider.ts'
import { bandwidth } from './providers/bandwidth.ts'
import { kannel } from './providers/kannel.ts'
import { telnyx } from './providers/telnyx.ts'
import { twilio, twilioSignature } from './providers/twilio.ts'
import { vonage, vonageSignature } from './providers/vonage.ts'
import type {
  BandwidthSettings,
  KannelSettings,
  TelnyxSettings,
  TwilioSettings,
  VonageSettings,
} from './sms-http-settings.ts'
import { makeTestIntake, testCallback, testPart } from './testing.ts'

// Answers and callbacks are those of the providers' documentation and of public test data: docs/compatibility.md names
// the sources.

const formOf = ({ body }: ProviderRequest) => Object.fromEntries(new URLSearchParams(body ?? ''))
const answer = (status: number, body: unknown) => ({ status, body: JSON.stringify(body), retryAfter: null })
const part = testPart()

const twilioSettings: TwilioSettings = { provider: 'twilio', account_sid: 'AC1', auth_token: '6789' }

test('twilio: a submit has the fields of Messages.json, and a sid means that the message was taken', () => {
  const request = twilio.submit(twilioSettings, testPart({ validSeconds: 90_000 }))
  assert.equal(request.url, 'https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json')
  assert.equal(request.headers.authorization, `Basic ${btoa('AC1:6789')}`)
  assert.deepEqual(formOf(request), {
    To: part.destination,
    From: part.source,
    Body: part.text,
    StatusCallback: 'https://us.example/callbacks/sms/CNX1?m=TOKEN.1.MAC',
    ValidityPeriod: '36000',
  })
  const taken = twilio.read(twilioSettings, part, answer(201, { sid: 'SM1', status: 'queued', error_code: null }))
  assert.deepEqual(taken, { meaning: 'taken', id: 'SM1' })
  const refused = { code: 21211, message: "The 'To' number is not a valid phone number.", status: 400 }
  assert.deepEqual(twilio.read(twilioSettings, part, answer(400, refused)), {
    ...{ meaning: 'refused', code: '21211', words: refused.message },
  })
  const limited = { code: 20429, message: 'Too Many Requests', status: 429 }
  assert.deepEqual(twilio.read(twilioSettings, part, answer(429, limited)), { meaning: 'busy', code: '20429' })
  const denied = { code: 20003, message: 'Authenticate', more_info: 'https://www.twilio.com/docs/errors/20003' }
  assert.deepEqual(twilio.read(twilioSettings, part, answer(401, { ...denied, status: 401 })), {
    ...{ meaning: 'denied', words: 'Authenticate' },
  })
  assert.equal(twilio.read(twilioSettings, part, { status: 201, body: '<html>', retryAfter: null }).meaning, 'unclear')
})

test('twilio: the signature is the one of the documentation, and only a signed callback counts', async () => {
  const documented = new URLSearchParams({
    Digits: '1234',
    To: '+18005551212',
    From: '+14158675309',
    Caller: '+14158675309',
    CallSid: 'CA1234567890ABCDE',
  })
  assert.equal(
    twilioSignature('12345', 'https://mycompany.com/myapp.php?foo=1&bar=2', documented),
    'RSOYDt4T1cUTdK1PDd93/VVr8B8=',
  )
  const repeated = new URLSearchParams('Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234&Digits=1234')
  assert.equal(
    twilioSignature('12345', 'https://mycompany.com/myapp.php?foo=1&bar=2', repeated),
    'IK+Dwps556ElfBT0I3Rgjkr1wJU=',
  )
  const { intake, receipts, messages } = makeTestIntake()
  const called = (query: string, body: string, token = '6789') => {
    const { url } = testCallback({ query })
    const signature = twilioSignature(token, url, new URLSearchParams(body))
    const request = testCallback({ query, body, headers: { 'x-twilio-signature': signature } })
    return twilio.callback(twilioSettings, request, intake)
  }
  const report = 'ErrorCode=30003&MessageSid=SM1&MessageStatus=undelivered&To=%2B12028831111&From=%2B14133881111'
  assert.equal((await called('m=TOKEN.1.MAC', report, 'another')).status, 401)
  assert.equal((await called('m=TOKEN.1.MAC', report)).status, 204)
  assert.deepEqual(receipts, [
    {
      ...{ carrierId: 'SM1', state: 'undelivered', error: '30003', token: 'TOKEN.1.MAC' },
      ...{ handset: '+12028831111', number: '+14133881111' },
    },
  ])
  const written =
    'ToCountry=US&SmsMessageSid=SMe2&NumMedia=0&SmsSid=SMe2&SmsStatus=received&Body=Msg&To=%2B12028831111&NumSegments=1&MessageSid=SMe2&AccountSid=AC1&From=%2B14133881111&ApiVersion=2010-04-01'
  const reply = await called('', written)
  assert.deepEqual(reply, { status: 204, body: '' })
  assert.deepEqual(messages, [
    { source: '+14133881111', destination: '+12028831111', text: 'Msg', concat: null, id: 'SMe2' },
  ])
})

const pair = generateKeyPairSync('ed25519')
const rawKey = Buffer.from(String(pair.publicKey.export({ format: 'jwk' }).x), 'base64url').toString('base64')
const telnyxSettings: TelnyxSettings = { provider: 'telnyx', api_key: 'KEY1', public_key: rawKey }

test('telnyx: a submit names its webhook, and the answer its id or its error', () => {
  const request = telnyx.submit(telnyxSettings, part)
  assert.equal(request.url, 'https://api.telnyx.com/v2/messages')
  assert.deepEqual(JSON.parse(request.body ?? ''), {
    ...{ from: part.source, to: part.destination, text: part.text, type: 'SMS' },
    ...{ webhook_url: 'https://us.example/callbacks/sms/CNX1?m=TOKEN.1.MAC', use_profile_webhooks: false },
  })
  const id = '40385f64-5717-4562-b3fc-2c963f66afa6'
  assert.deepEqual(telnyx.read(telnyxSettings, part, answer(200, { data: { id, record_type: 'message' } })), {
    ...{ meaning: 'taken', id },
  })
  const detail = "The 'to' address should be a single valid number."
  const refused = { errors: [{ code: '40310', title: "Invalid 'to' address", detail }] }
  assert.deepEqual(telnyx.read(telnyxSettings, part, answer(400, refused)), {
    ...{ meaning: 'refused', code: '40310', words: detail },
  })
})

test('telnyx: a callback counts with a fresh Ed25519 signature of time and body', async () => {
  const { intake, receipts, messages } = makeTestIntake()
  const called = (content: unknown, age = 0, altered = '') => {
    const body = JSON.stringify(content)
    const time = String(Math.floor(Date.now() / 1_000) - age)
    const signature = sign(null, Buffer.from(`${time}|${body}`), pair.privateKey).toString('base64')
    const headers = { 'telnyx-timestamp': time, 'telnyx-signature-ed25519': signature }
    return telnyx.callback(
      telnyxSettings,
      testCallback({ query: 'm=TOKEN.1.MAC', headers, body: body + altered }),
      intake,
    )
  }
  const numbers = {
    from: { phone_number: '+13125550001' },
    to: [{ phone_number: '+17735550002', status: 'delivered' }],
  }
  const finalized = { data: { event_type: 'message.finalized', payload: { id: 'T1', ...numbers, errors: [] } } }
  assert.equal((await called(finalized, 600)).status, 401)
  assert.equal((await called(finalized, 0, ' ')).status, 401)
  assert.equal((await called(finalized)).status, 200)
  assert.deepEqual(
    receipts.map(({ carrierId, state, error, token }) => [carrierId, state, error, token]),
    [['T1', 'delivered', null, 'TOKEN.1.MAC']],
  )
  const received = { data: { event_type: 'message.received', payload: { id: 'T2', ...numbers, text: 'Hello' } } }
  assert.equal((await called(received)).status, 200)
  assert.deepEqual(messages, [
    { source: '+13125550001', destination: '+17735550002', text: 'Hello', concat: null, id: 'T2' },
  ])
})

const vonageSettings: VonageSettings = {
  ...{ provider: 'vonage', api_key: 'key', api_secret: 'secret', signature_secret: 'signing' },
}

test('vonage: the token goes as client-ref, as the address of a callback has at most 100 characters', () => {
  const form = formOf(vonage.submit(vonageSettings, testPart({ encoding: 'ucs2', text: 'Unicode ☺' })))
  assert.deepEqual(form, {
    ...{ api_key: 'key', api_secret: 'secret', from: '14155550100', to: '14155550123', text: 'Unicode ☺' },
    ...{ type: 'unicode', 'status-report-req': '1', callback: 'https://us.example/callbacks/sms/CNX1' },
    'client-ref': 'TOKEN.1.MAC',
  })
})

test('vonage: the status of the first message decides, whatever the status of the answer', () => {
  const read = (message: object) => vonage.read(vonageSettings, part, answer(200, { messages: [message] }))
  assert.deepEqual(read({ status: '0', 'message-id': '1002' }), { meaning: 'taken', id: '1002' })
  assert.deepEqual(read({ status: '1', 'error-text': 'Throughput Rate Exceeded - please wait' }), {
    ...{ meaning: 'busy', code: '1' },
  })
  assert.deepEqual(read({ status: '10', 'error-text': 'Too Many Existing Binds' }), {
    ...{ meaning: 'refused', code: '10', words: 'Too Many Existing Binds' },
  })
  assert.deepEqual(read({ status: '4', 'error-text': 'Bad Credentials' }), {
    meaning: 'denied',
    words: 'Bad Credentials',
  })
  assert.equal(read({}).meaning, 'unclear')
})

test('vonage: signatures are those of its own library, by every method', () => {
  const fields = {
    ...{ 'message-timestamp': '2013-11-21 15:27:30', messageId: '020000001B0FE827', msisdn: '14843472194' },
    ...{ text: 'Test again', timestamp: '1385047698', to: '13239877404', type: 'text' },
  }
  const expected = {
    md5hash: 'd2e7b1dc968737c5998ad624e02f90b7',
    md5: 'DDEBD46008C2D4E93CCE578A332A52D5',
    sha1: '27D0D05C2876C7CB1720DBCDBA4D492E1E55C09A',
    sha256: 'DDB8397C2B90AAC7F3882D306475C9A5058C92322EEF43C92B298B6E0FC0D330',
    sha512:
      'E0D3C650F8C9D1A5C174D10DDDBFB003E561F59B265616208B0487C5D819481CD3C311D59CF6165ECD1139622D5BA3A256C0D763AC4A9AD9144B5A426B94FE82',
  } as const
  for (const method of ['md5hash', 'md5', 'sha1', 'sha256', 'sha512'] as const)
    assert.equal(
      vonageSignature('my_secret_key_for_testing', method, fields).toUpperCase(),
      expected[method].toUpperCase(),
    )
})

test('vonage: receipts and parts of messages are read from forms, queries and JSON', async () => {
  const { intake, receipts, messages } = makeTestIntake()
  const signed = (fields: Record<string, string>, secret = 'signing') => {
    const all = { ...fields, timestamp: String(Math.floor(Date.now() / 1_000)), nonce: 'n' }
    return { ...all, sig: vonageSignature(secret, 'sha256', all) }
  }
  const receipt = { msisdn: '447700900001', to: 'Acme', messageId: '1002', status: 'failed', 'err-code': '6' }
  const fields = signed({ ...receipt, 'client-ref': 'TOKEN.1.MAC' })
  const requests = [
    testCallback({ method: 'GET', query: new URLSearchParams(fields).toString() }),
    testCallback({ body: new URLSearchParams(fields).toString() }),
    testCallback({ body: JSON.stringify(fields) }),
  ]
  for (const request of requests) assert.equal((await vonage.callback(vonageSettings, request, intake)).status, 200)
  const expected = { carrierId: '1002', state: 'undelivered', error: '6', token: 'TOKEN.1.MAC' }
  assert.deepEqual(
    receipts,
    requests.map(() => ({ ...expected, handset: '+447700900001' })),
  )
  const forged = testCallback({ body: JSON.stringify(signed(receipt, 'another')) })
  assert.equal((await vonage.callback(vonageSettings, forged, intake)).status, 401)
  const written = {
    ...{ msisdn: '447700900001', to: '447700900002', messageId: 'M1', text: 'one', type: 'text' },
    ...{ concat: 'true', 'concat-ref': '0', 'concat-total': '2', 'concat-part': '1' },
  }
  await vonage.callback(vonageSettings, testCallback({ body: JSON.stringify(signed(written)) }), intake)
  assert.deepEqual(messages, [
    {
      ...{ source: '+447700900001', destination: '+447700900002', text: 'one' },
      ...{ concat: { reference: 0, part: 1, parts: 2 }, id: 'M1' },
    },
  ])
})

const bandwidthSettings: BandwidthSettings = {
  ...{ provider: 'bandwidth', account_id: '55', application_id: 'app', username: 'user', password: 'word' },
  ...{ callback_username: 'theirs', callback_secret: 'known' },
}

test('bandwidth: a submit has the token as its tag, and the answer its id or its error', () => {
  const request = bandwidth.submit(bandwidthSettings, part)
  assert.equal(request.url, 'https://messaging.bandwidth.com/api/v2/users/55/messages')
  assert.deepEqual(JSON.parse(request.body ?? ''), {
    ...{ applicationId: 'app', from: part.source, to: [part.destination], text: part.text, tag: 'TOKEN.1.MAC' },
  })
  assert.deepEqual(bandwidth.read(bandwidthSettings, part, answer(202, { id: '55555' })), {
    ...{ meaning: 'taken', id: '55555' },
  })
  const refused = { type: 'request-validation', description: 'Your request could not be accepted' }
  assert.deepEqual(bandwidth.read(bandwidthSettings, part, answer(400, refused)), {
    ...{ meaning: 'refused', code: refused.type, words: refused.description },
  })
})

test('bandwidth: each event of a callback counts, with the credentials of the application', async () => {
  const { intake, receipts, messages } = makeTestIntake()
  const message = (more: object) => ({ id: '12345', owner: '+15552221111', from: '+15552221111', ...more })
  const body = JSON.stringify([
    {
      ...{ type: 'message-sending', time: '2020-06-25T18:42:36.979Z', to: '+15554443333' },
      ...{ description: 'Message is sending to carrier', message: message({ tag: 'TOKEN.1.MAC' }) },
    },
    { type: 'message-failed', to: '+15554443333', errorCode: 4432, message: message({ tag: 'TOKEN.1.MAC' }) },
    { type: 'message-failed', to: '+15554443333', errorCode: 9902, message: message({}) },
    {
      ...{ type: 'message-received', to: '+12345678902', description: 'Incoming message received' },
      message: message({ id: 'in', owner: '+12345678902', from: '+12065551234', text: 'hello world' }),
    },
  ])
  const called = (authorization?: string) =>
    bandwidth.callback(
      bandwidthSettings,
      testCallback({ body, headers: authorization === undefined ? {} : { authorization } }),
      intake,
    )
  assert.equal((await called()).status, 401)
  assert.equal((await called(`Basic ${btoa('theirs:wrong')}`)).status, 401)
  assert.equal((await called(`Basic ${btoa('theirs:known')}`)).status, 200)
  assert.deepEqual(
    receipts.map(({ state, error, token }) => [state, error, token]),
    [
      ['enroute', null, 'TOKEN.1.MAC'],
      ['undelivered', '4432', 'TOKEN.1.MAC'],
      ['unknown', '9902', undefined],
    ],
  )
  assert.deepEqual(messages, [
    { source: '+12065551234', destination: '+12345678902', text: 'hello world', concat: null, id: 'in' },
  ])
})

const kannelSettings: KannelSettings = {
  ...{ provider: 'kannel', base_url: 'http://127.0.0.1:13013/cgi-bin/sendsms', username: 'user', password: 'word' },
  callback_secret: 'known',
}

test('kannel: a submit asks for all reports, and Kannel’s own words give the code of a refusal', () => {
  const url = new URL(kannel.submit(kannelSettings, testPart({ validSeconds: 61 })).url)
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    ...{ username: 'user', password: 'word', from: part.source, to: part.destination, text: part.text },
    ...{ charset: 'UTF-8', coding: '0', validity: '2', 'dlr-mask': '31' },
    'dlr-url': 'https://us.example/callbacks/sms/CNX1?m=TOKEN.1.MAC&state=%d&answer=%A',
  })
  const read = (status: number, body: string) => kannel.read(kannelSettings, part, { status, body, retryAfter: null })
  for (const body of ['0: Accepted for delivery', '3: Queued for later delivery', 'Sent.'])
    assert.deepEqual(read(202, body), { meaning: 'taken', id: 'TOKEN.1.MAC' })
  const words = 'Authorization failed for sendsms'
  assert.deepEqual(read(403, words), { meaning: 'denied', words })
  const unroutable = 'Not routable. Do not try again.'
  assert.deepEqual(read(403, unroutable), { meaning: 'refused', code: 'not_routable', words: unroutable })
})

test('kannel: a report counts with a genuine token, and a message with the secret', async () => {
  const { intake, receipts, messages, unparsed } = makeTestIntake()
  const called = (query: string) => kannel.callback(kannelSettings, testCallback({ method: 'GET', query }), intake)
  const reports = [
    ['8', 'ACK/'],
    ['1', 'id:1 sub:001 dlvrd:001 submit date:2611290100 done date:2611290100 stat:DELIVRD err:000 text:'],
    ['2', 'id:1 sub:001 dlvrd:000 submit date:2611290100 done date:2611290100 stat:UNDELIV err:027 text:'],
    ['16', 'NACK/0x0000000b/Invalid Destination Address'],
    ['5', ''],
  ]
  for (const [state = '', text = ''] of reports)
    assert.equal((await called(`m=TOKEN.1.MAC&state=${state}&answer=${encodeURIComponent(text)}`)).status, 200)
  assert.deepEqual(
    receipts.map(({ carrierId, state, error }) => [carrierId, state, error]),
    [
      ['TOKEN.1.MAC', 'enroute', null],
      ['TOKEN.1.MAC', 'delivered', null],
      ['TOKEN.1.MAC', 'undelivered', '027'],
      ['TOKEN.1.MAC', 'rejected', '0x0000000b'],
      ['TOKEN.1.MAC', 'unknown', null],
    ],
  )
  assert.equal(unparsed.length, 1)
  assert.equal((await called('m=TOKEN.1.FORGED&state=1')).status, 401)
  const text = 'secret=known&from=%2B447700900001&to=447700900002&coding=0&text=Gr%C3%BC%C3%9Fe%2C+%E2%82%AC5'
  assert.equal((await called(text)).status, 200)
  assert.equal((await called(text.replace('known', 'wrong'))).status, 401)
  assert.equal((await called('secret=known&from=%2B447700900001&to=447700900002&coding=2&text=%044%04%20')).status, 200)
  assert.deepEqual(
    messages.map(({ source, destination, text: read }) => [source, destination, read]),
    [
      ['+447700900001', '+447700900002', 'Grüße, €5'],
      ['+447700900001', '+447700900002', 'дР'],
    ],
  )
})

const media = ['https://us.example/media/1', 'https://us.example/media/2']
const withMedia = (text: string) => testPart({ text, media })

test('an MMS has the fields of its provider, and needs no text', () => {
  const form = new URLSearchParams(twilio.submit(twilioSettings, withMedia('')).body ?? '')
  assert.deepEqual([form.getAll('MediaUrl'), form.has('Body')], [media, false])
  assert.equal(formOf(twilio.submit(twilioSettings, withMedia('Look'))).Body, 'Look')
  const contentOf = ({ body }: ProviderRequest) => JSON.parse(body ?? '')
  const ofTelnyx = contentOf(telnyx.submit(telnyxSettings, withMedia('')))
  assert.deepEqual([ofTelnyx.type, ofTelnyx.media_urls, 'text' in ofTelnyx], ['MMS', media, false])
  const ofBandwidth = contentOf(bandwidth.submit(bandwidthSettings, withMedia('')))
  assert.deepEqual([ofBandwidth.media, ofBandwidth.text], [media, ''])
})

test('files of inbound messages are passed on with their types, but not the layout of an MMS', async () => {
  const { intake, messages } = makeTestIntake()
  const url = 'https://messaging.bandwidth.com/api/v2/users/55/media/14762070468292kw2fuqty55yp2b2/0/bw.png'
  const incoming = { id: 'in', owner: '+12345678902', from: '+12065551234', text: '' }
  const body = JSON.stringify([
    {
      ...{ type: 'message-received', to: '+12345678902' },
      message: { ...incoming, media: [url, url.replace('bw.png', '0.smil'), 'no address'] },
    },
  ])
  const authorization = `Basic ${btoa('theirs:known')}`
  await bandwidth.callback(bandwidthSettings, testCallback({ body, headers: { authorization } }), intake)
  const payload = {
    ...{ id: 'T2', from: { phone_number: '+13125550001' }, to: [{ phone_number: '+17735550002' }], text: '' },
    media: [
      { url: 'https://media.example/1.jpg', content_type: 'image/jpeg', sha256: 'ab', size: 1 },
      { url: 'https://media.example/2', content_type: 'application/smil' },
    ],
  }
  const event = JSON.stringify({ data: { event_type: 'message.received', payload } })
  const time = String(Math.floor(Date.now() / 1_000))
  const signature = sign(null, Buffer.from(`${time}|${event}`), pair.privateKey).toString('base64')
  const headers = { 'telnyx-timestamp': time, 'telnyx-signature-ed25519': signature }
  await telnyx.callback(telnyxSettings, testCallback({ headers, body: event }), intake)
  assert.deepEqual(
    messages.map((message) => message.media),
    [[{ url }], [{ url: 'https://media.example/1.jpg', mimeType: 'image/jpeg' }]],
  )
})

test('credentials for a file go to the origin of the provider alone', () => {
  const credentials = { authorization: `Basic ${btoa('user:word')}` }
  const headersOf = (url: string, base_url?: string) =>
    bandwidth.mediaHeaders?.({ ...bandwidthSettings, ...(base_url === undefined ? {} : { base_url }) }, url)
  assert.deepEqual(headersOf('https://messaging.bandwidth.com/api/v2/users/55/media/1'), credentials)
  for (const url of [
    'http://messaging.bandwidth.com/api/v2/users/55/media/1',
    'https://messaging.bandwidth.com.example/api/v2/users/55/media/1',
    'https://messaging.bandwidth.com:8443/1',
    'https://example.com/?https://messaging.bandwidth.com/',
  ])
    assert.deepEqual(headersOf(url), {}, url)
  assert.deepEqual(headersOf('https://messaging.bandwidth.com/1', 'https://other.example/api'), {})
  assert.deepEqual(twilio.mediaHeaders?.(twilioSettings, 'https://api.twilio.com/2010-04-01/x'), {
    authorization: `Basic ${btoa('AC1:6789')}`,
  })
  assert.equal(telnyx.mediaHeaders, undefined)
})
