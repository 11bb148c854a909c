import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { until } from '../../../../test/platform.ts'
import { makeDeliveryHarness } from '../testing.ts'

const stage = await makeDeliveryHarness()
const { receiver, createContacts, call, db, tenant, deliveries } = stage
const ada = await tenant()

const mask = '•••'
const credentials = { username: 'trunkline', password: 'pa:ss wörd' }
const basic = `Basic ${Buffer.from('trunkline:pa:ss wörd').toString('base64')}`

const seen = (path: string, count: number) => until(async () => receiver.of(path).length >= count && receiver.of(path))
const subscribe = async (path: string, fields: object, event = 'contact.created') =>
  call(ada, 'POST', `/open/webhooks/subscribe/${event}`, { hook_url: receiver.url(path), ...fields })
const change = (uuid: string, body: object) => call(ada, 'PUT', `/open/webhooks/${uuid}`, body)
const sentTo = async (path: string, count: number) => (await seen(path, count)).at(-1)?.headers ?? {}

test('calls, tests and repeated deliveries carry the headers of the webhook, and no answer shows a value', async () => {
  const path = '/behind'
  const made = await subscribe(path, { headers: { 'X-Api-Key': 'a-secret-value' }, basic_auth: credentials })
  assert.equal(made.status, 201)
  const { uuid } = made.body.data
  await createContacts(ada, ['Grace'])
  const sent = await sentTo(path, 1)
  assert.deepEqual([sent['x-api-key'], sent.authorization], ['a-secret-value', basic])
  const { delivery_id: id } = (await call(ada, 'POST', `/open/webhooks/${uuid}/test`, {})).body
  assert.equal((await sentTo(path, 2)).authorization, basic)
  await until(async () => (await deliveries(ada, uuid))[0].state === 'delivered')
  assert.equal((await call(ada, 'POST', `/open/webhooks/deliveries/${id}/redeliver`)).status, 202)
  assert.equal((await sentTo(path, 3)).authorization, basic)

  const shown = { 'X-Api-Key': mask, Authorization: mask }
  assert.deepEqual(made.body.data.headers, shown)
  const answers = await Promise.all([
    ...['/open/webhooks', `/open/webhooks/${uuid}`, '/open/webhooks/endpoints', '/open/audit', '/open/requests'].map(
      (url) => call(ada, 'GET', url),
    ),
    call(ada, 'GET', `/open/webhooks/deliveries/${id}`),
    call('operator', 'GET', '/operator/audit'),
  ])
  for (const { status, body } of [made, ...answers]) {
    assert.ok(status < 300)
    assert.doesNotMatch(JSON.stringify(body), /a-secret-value|wörd|dHJ1bmtsaW5l/)
  }
  const rows = await db.many<{ row: string }>`
    select w::text as row from webhooks w union all select a::text from audit a union all select i::text from idempotency i`
  for (const { row } of rows) assert.doesNotMatch(row, /a-secret-value|wörd|dHJ1bmtsaW5l/)
})

test('a change replaces headers, keeps those that are masked, and null removes them', async () => {
  const path = '/changed'
  const { uuid } = (await subscribe(path, { headers: { 'X-One': 'one-value', 'X-Two': 'two-value' } })).body.data
  /** Sends events until one arrives with these headers: a process learns of a change a moment after the answer. */
  const isSent = (expected: object) =>
    until(async () => {
      const before = receiver.of(path).length
      await createContacts(ada, ['someone'])
      const { 'x-one': one, 'x-two': two, 'x-three': three, authorization } = await sentTo(path, before + 1)
      return isDeepStrictEqual({ one, two, three, authorization }, { ...none, ...expected })
    })
  const none = { one: undefined, two: undefined, three: undefined, authorization: undefined }
  assert.equal((await change(uuid, { headers: { 'x-two': mask, 'X-Three': 'three' } })).status, 200)
  await isSent({ two: 'two-value', three: 'three' })
  await change(uuid, { basic_auth: credentials })
  await isSent({ two: 'two-value', three: 'three', authorization: basic })
  await change(uuid, { enabled: true })
  await isSent({ two: 'two-value', three: 'three', authorization: basic })
  await change(uuid, { basic_auth: null })
  await isSent({ two: 'two-value', three: 'three' })
  const { body } = await change(uuid, { headers: null })
  assert.equal(body.webhook.headers, undefined)
  await isSent({})
})

test('stored headers are never sent to another address', async () => {
  const { uuid } = (await subscribe('/mine', { headers: { 'X-Key': 'of the owner' } })).body.data
  const hook_url = receiver.url('/thief')
  for (const fields of [{}, { headers: { 'X-Key': mask } }, { basic_auth: credentials }]) {
    const { status, body } = await change(uuid, { hook_url, ...fields })
    assert.equal(status, 400)
    assert.match(body.error_message, /give headers with their values again, or null to remove them/)
  }
  assert.equal((await change(uuid, { hook_url, headers: null })).status, 200)
  await createContacts(ada, ['Edsger'])
  assert.equal((await sentTo('/thief', 1))['x-key'], undefined)
  assert.equal((await change(uuid, { hook_url: receiver.url('/mine') })).status, 200)
})

test('further webhooks of an address get its headers, and one change reaches all', async () => {
  const hook_url = receiver.url('/endpoint')
  const first = { hook_url, event_names: ['contact.created'], basic_auth: credentials }
  const { webhooks } = (await call(ada, 'POST', '/open/webhooks', first)).body
  const more = { hook_url, event_names: ['contact.created', 'number.purchased'] }
  const added = (await call(ada, 'POST', '/open/webhooks', more)).body.webhooks
  assert.deepEqual(
    added.map(({ headers }: { headers: object }) => headers),
    [{ Authorization: mask }, { Authorization: mask }],
  )
  await change(webhooks[0].uuid, { headers: { Authorization: 'Bearer token-of-all' }, endpoint: true })
  await until(async () => {
    const before = receiver.of('/endpoint').length
    assert.equal((await call(ada, 'POST', `/open/webhooks/${added[1].uuid}/test`, {})).status, 202)
    return (await sentTo('/endpoint', before + 1)).authorization === 'Bearer token-of-all'
  })
})

test('what a receiver repeats of its credentials is hidden in deliveries', async () => {
  const fields = { headers: { 'X-Api-Key': 'a-secret-value' }, basic_auth: credentials }
  const { uuid } = (await subscribe('/echo', fields)).body.data
  await createContacts(ada, ['Alan'])
  const [delivery] = await until(async () => {
    const all = await deliveries(ada, uuid)
    return all[0]?.attempts.length > 0 && all
  })
  const [attempt] = delivery.attempts
  assert.match(attempt.response_excerpt, /"x-api-key":"•••"/)
  assert.equal(attempt.response_headers['x-seen'], mask)
  assert.doesNotMatch(JSON.stringify(delivery), /a-secret-value|dHJ1bmtsaW5l/)
})

test('new headers count as a new receiver: a call that waits for its retry follows at once', async () => {
  const { uuid } = (await subscribe('/status/401', {})).body.data
  for (let i = 0; i < 12; i++) await createContacts(ada, [`waits ${i}`])
  await until(async () => (await call(ada, 'GET', `/open/webhooks/${uuid}`)).body.webhook.failures >= 1)
  // A call that is under way may fail a moment later, and count again.
  await until(async () => {
    await change(uuid, { headers: { 'X-Key': 'right' } })
    return (await call(ada, 'GET', `/open/webhooks/${uuid}`)).body.webhook.state === 'active'
  })
  await createContacts(ada, ['next'])
  await until(async () => receiver.of('/status/401').some(({ headers }) => headers['x-key'] === 'right'))
})

for (const [fields, expected] of [
  ...[
    'Host',
    'webhook-id',
    'Webhook-Signature',
    'Content-Type',
    'content-length',
    'Transfer-Encoding',
    'Connection',
  ].map((name) => [{ headers: { [name]: 'x' } }, /is set by the platform or by HTTP itself: leave it out/] as const),
  ...['Keep-Alive', 'TE', 'Upgrade', 'Expect', 'Proxy-Authorization', 'User-Agent'].map(
    (name) => [{ headers: { [name]: 'x' } }, /^headers\.[\w-]+ is set by the platform/] as const,
  ),
  [{ headers: { 'X-Key': 'a\r\nHost: b' } }, /^headers\.X-Key contains a line break or another control character/],
  [{ headers: { 'X-Key': 'a\n' } }, /^headers\.X-Key contains a line break/],
  [{ headers: { 'X-Key': '  ' } }, /^headers\.X-Key is empty/],
  [{ headers: { 'X-Key': '' } }, /^headers\.X-Key is empty: give a value/],
  [{ headers: { 'X-Key': '', 'X-Other': '' } }, /^headers\.X-Key is empty/],
  [{ basic_auth: { username: '', password: '' } }, /^basic_auth is empty: give a username and a password/],
  [{ basic_auth: { username: 'a', password: mask } }, /^basic_auth\.password is masked: give the value/],
  [{ basic_auth: { username: mask, password: 'a' } }, /^basic_auth\.username is masked/],
  [{ headers: { 'X-Key': 'Größe' } }, /^headers\.X-Key contains characters outside ASCII/],
  [{ headers: { 'X Key': 'a' } }, /"X Key" is no name of a header/],
  [{ headers: { 'X\r\nY': 'a' } }, /is no name of a header/],
  [{ headers: { 'X-Key': mask } }, /^headers\.X-Key is masked, and no value of it is stored: give the value/],
  [{ headers: { 'X-Key': 'a', 'x-key': 'b' } }, /is given twice/],
  [{ headers: { Authorization: 'Bearer x' }, basic_auth: credentials }, /^Authorization is given twice/],
  [
    { headers: Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`X-${i}`, 'a'])) },
    /has 11 headers: at most 10/,
  ],
  [
    { headers: { 'X-A': 'a'.repeat(4_000), 'X-B': 'a'.repeat(4_000) } },
    /^headers have 8006 characters together: at most 7168/,
  ],
  [{ headers: { 'X-Key': 'a'.repeat(5_000) } }, /headers.*X-Key/],
  [{ basic_auth: { username: 'a:b', password: 'c' } }, /^basic_auth\.username contains a colon/],
  [{ basic_auth: { username: 'a', password: 'c\nd' } }, /^basic_auth\.password contains a line break/],
] as const)
  test(`refused with the field and the fix: ${JSON.stringify(fields).slice(0, 70)}`, async () => {
    const path = `/refused/${randomBytes(4).toString('hex')}`
    const { status, body } = await subscribe(path, fields)
    assert.equal(status, 400, JSON.stringify(body))
    assert.match(body.error_message, expected)
    const event_names = ['contact.created']
    const many = await call(ada, 'POST', '/open/webhooks', { hook_url: receiver.url(path), event_names, ...fields })
    assert.equal(many.status, 400)
  })

test('a change with empty or masked credentials is refused, and keeps the stored ones', async () => {
  const path = '/kept'
  const { uuid } = (await subscribe(path, { headers: { 'X-Api-Key': 'kept-value' }, basic_auth: credentials })).body
    .data
  for (const fields of [
    { headers: { 'X-Api-Key': '' } },
    { basic_auth: { username: '', password: '' } },
    { basic_auth: { ...credentials, password: mask } },
  ]) {
    const { status, body } = await change(uuid, fields)
    assert.deepEqual([status, body.field], [400, `/${Object.keys(fields)[0]}`])
  }
  await createContacts(ada, ['Kept'])
  const sent = await sentTo(path, 1)
  assert.deepEqual([sent['x-api-key'], sent.authorization], ['kept-value', basic])
})

test('credentials in the address are refused, with the field for them', async () => {
  const hook_url = receiver.url('/x').replace('//', '//user:password@')
  const { status, body } = await call(ada, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url })
  assert.equal(status, 400)
  assert.match(body.error_message, /hook_url contains a user or a password: remove them, and give them in basic_auth/)
})
