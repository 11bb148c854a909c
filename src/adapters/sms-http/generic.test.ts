import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { generic } from './providers/generic.ts'
import type { GenericSettings } from './sms-http-settings.ts'
import { makeTestIntake, testCallback, testPart } from './testing.ts'

const settingsOf = (more: Partial<GenericSettings> = {}): GenericSettings => ({
  ...{ provider: 'generic', url: 'https://api.example.net/send', ...more },
})

test('generic: each value is escaped for its place, and other braces stay', () => {
  const text = 'a&b="{to}"\n'
  const part = testPart({ text })
  const inUrl = generic.submit(settingsOf({ url: 'https://x.example/s?t={text}&n={to}' }), part)
  assert.equal(inUrl.method, 'GET')
  assert.equal(inUrl.body, null)
  assert.equal(new URL(inUrl.url).searchParams.get('t'), text)
  const body = '{"to":["{to}"],"text":"{text}","meta":{"ref":"{reference}","to_be":"{kept}"}}'
  const inJson = generic.submit(settingsOf({ body, headers: { Authorization: 'Bearer {token}' }, token: 'k' }), part)
  assert.deepEqual(JSON.parse(inJson.body ?? ''), {
    ...{ to: [part.destination], text, meta: { ref: 'TOKEN.1.MAC', to_be: '{kept}' } },
  })
  assert.deepEqual(inJson.headers, { 'content-type': 'application/json', authorization: 'Bearer k' })
  const form = settingsOf({ body: 'to={to}&text={text}&dlr={callback}', body_type: 'form', number_form: 'digits' })
  assert.deepEqual(Object.fromEntries(new URLSearchParams(generic.submit(form, part).body ?? '')), {
    ...{ to: part.destination.slice(1), text, dlr: 'https://us.example/callbacks/sms/CNX1?m=TOKEN.1.MAC' },
  })
  const header = settingsOf({ headers: { 'x-text': '{text}', authorization: 'Basic {basic}' }, username: 'u' })
  const { headers } = generic.submit(header, testPart({ text: 'one\r\nx-other: two' }))
  assert.deepEqual(headers, { 'x-text': 'onex-other: two', authorization: `Basic ${btoa('u:')}` })
})

test('generic: a provider takes files if its template has a place for them', () => {
  const media = ['https://us.example/media/1?a=b', 'https://us.example/media/2']
  const json = settingsOf({ body: '{"text":"{text}","media":{media},"again":"{media}"}' })
  assert.deepEqual([generic.takesMedia?.(json), generic.takesMedia?.(settingsOf({ body: '{text}' }))], [true, false])
  const bodyOf = (settings: GenericSettings, more = {}) => generic.submit(settings, testPart(more)).body ?? ''
  assert.deepEqual(JSON.parse(bodyOf(json, { text: '', media })), { text: '', media, again: media })
  assert.deepEqual(JSON.parse(bodyOf(json, { text: 'x' })), { text: 'x', media: [], again: [] })
  const form = settingsOf({ body: 'media={media}&text={text}', body_type: 'form' })
  assert.equal(new URLSearchParams(bodyOf(form, { media })).get('media'), media.join())
})

test('generic: status, pattern, id and code decide what an answer means', () => {
  const read = (more: Partial<GenericSettings>, status: number, body: string) =>
    generic.read(settingsOf(more), testPart(), { status, body, retryAfter: null })
  assert.deepEqual(read({}, 200, ''), { meaning: 'taken', id: 'TOKEN.1.MAC' })
  assert.deepEqual(read({ id_path: '/message/ids/0' }, 200, '{"message":{"ids":[17]}}'), { meaning: 'taken', id: '17' })
  const wide = { meaning: 'taken', id: '12345678901234567890' }
  assert.deepEqual(read({ id_path: '/id' }, 200, '{"id":12345678901234567890,"cost":1.5}'), wide)
  assert.deepEqual(read({ id_pattern: '^OK ([0-9]+)' }, 200, 'OK 4711'), { meaning: 'taken', id: '4711' })
  assert.equal(read({ id_pattern: '^OK ([0-9]+)' }, 200, 'Welcome').meaning, 'unclear')
  const words = { success_pattern: '^OK', error_pattern: '^ERR ([0-9]+)', retry_codes: ['5'] }
  assert.deepEqual(read(words, 200, 'ERR 7 bad number'), { meaning: 'refused', code: '7', words: 'ERR 7 bad number' })
  const denied = { meaning: 'denied', words: 'ERR 1 login' }
  assert.deepEqual(read({ ...words, denied_codes: ['1'] }, 200, 'ERR 1 login'), denied)
  assert.deepEqual(read(words, 200, 'ERR 5 slow'), { meaning: 'busy', code: '5' })
  assert.equal(read({ success_status: [202] }, 200, 'page of a proxy').meaning, 'refused')
})

const receiving: Partial<GenericSettings> = {
  ...{ receipt_state: '/status', receipt_id: '/id', receipt_error: '/error' },
  ...{ inbound_from: '/from', inbound_to: '/to', inbound_text: '/text' },
}

test('generic: a receipt counts with a genuine token, with words of the settings before the known ones', async () => {
  const { intake, receipts, unparsed } = makeTestIntake()
  const settings = settingsOf({ ...receiving, receipt_states: { delivered: 'enroute', ARRIVED: 'delivered' } })
  const called = (token: string, content: object) =>
    generic.callback(settings, testCallback({ query: `m=${token}`, body: JSON.stringify(content) }), intake)
  assert.equal((await called('TOKEN.1.FORGED', { status: 'ARRIVED' })).status, 401)
  for (const status of ['delivered', 'ARRIVED', 'Expired', 'odd'])
    assert.equal((await called('TOKEN.1.MAC', { status, id: 'p1', error: status === 'odd' ? 12 : '' })).status, 200)
  assert.deepEqual(
    receipts.map(({ carrierId, state, error, token }) => [carrierId, state, error, token]),
    [
      ['p1', 'enroute', null, 'TOKEN.1.MAC'],
      ['p1', 'delivered', null, 'TOKEN.1.MAC'],
      ['p1', 'expired', null, 'TOKEN.1.MAC'],
      ['p1', 'unknown', '12', 'TOKEN.1.MAC'],
    ],
  )
  assert.equal(unparsed.length, 1)
  assert.equal((await called('TOKEN.1.MAC', { from: '1', to: '2', text: 'no message' })).status, 400)
})

test('generic: a message counts with the proof that the settings ask for, and never without one', async () => {
  const { intake, messages } = makeTestIntake()
  const body = JSON.stringify({ from: '447700900001', to: '447700900002', text: 'Hello' })
  const called = async (more: Partial<GenericSettings>, request: Parameters<typeof testCallback>[0]) =>
    (await generic.callback(settingsOf({ ...receiving, ...more }), testCallback({ body, ...request }), intake)).status
  assert.equal(await called({}, {}), 401)
  assert.equal(await called({ callback_secret: 's' }, { query: 'secret=s' }), 200)
  assert.equal(await called({ callback_secret: 's' }, { query: 'secret=t' }), 401)
  const signed = { callback_secret: 's', callback_header: 'X-Signature', callback_encoding: 'base64' } as const
  const mac = createHmac('sha256', 's').update(body).digest('base64')
  assert.equal(await called(signed, { headers: { 'x-signature': mac } }), 200)
  assert.equal(await called(signed, { query: 'secret=s' }), 401)
  // The query is not signed: a body that was signed once must not carry other fields.
  const named = { ...signed, inbound_from: 'from', inbound_to: 'to', inbound_text: 'text' }
  const forged = 'from=%2B447700900009&to=%2B447700900002&text=Forged'
  assert.equal(await called(named, { headers: { 'x-signature': mac }, query: forged }), 400)
  const none = createHmac('sha256', 's').update('').digest('base64')
  assert.equal(await called(named, { method: 'GET', body: '', headers: { 'x-signature': none }, query: forged }), 400)
  const listed = { callback_addresses: ['203.0.113.0/28'] }
  assert.equal(await called(listed, {}), 200)
  assert.equal(await called(listed, { address: '198.51.100.1' }), 401)
  assert.deepEqual(
    messages.map(({ source, destination, text }) => [source, destination, text]),
    messages.map(() => ['+447700900001', '+447700900002', 'Hello']),
  )
  assert.equal(messages.length, 3)
})

test('generic: parts of a long message keep their reference', async () => {
  const { intake, messages } = makeTestIntake()
  const settings = settingsOf({
    ...{ callback_secret: 's', inbound_from: 'from', inbound_to: 'to', inbound_text: 'text' },
    ...{ inbound_reference: 'ref', inbound_part: 'n', inbound_parts: 'of' },
  })
  const query = 'secret=s&from=%2B447700900001&to=%2B447700900002&text=one&ref=9&n=1&of=2'
  assert.equal((await generic.callback(settings, testCallback({ method: 'GET', query }), intake)).status, 200)
  assert.deepEqual(messages[0]?.concat, { reference: 9, part: 1, parts: 2 })
})
