import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { maxSendingBytes, maxSendingMessages, maxTextLength, sendingRequests } from '../limits.ts'
import { contact, giveNumber, setPrices } from '../sms-testing.ts'

const world = await makeWorld()
const { app, call, db, parts, tenant } = world
await setPrices(world)

const url = '/open/sms/send-many'
const numbers = (count: number) => Array.from({ length: count }, (_, i) => `+4479${String(10_000_000 + i)}`)
const sendMany = (who: Tenant, body: object) => call(who, 'POST', url, body)

const balanceOf = async (who: Tenant) =>
  Number((await db.one<{ balance: string }>`select balance from balances where account_id = ${who.id}`).balance)
const rowsOf = (who: Tenant) =>
  db.many<{ id: string; contact: string; text: string; price: string; status: string }>`
    select id, contact, text, price::text, status from sms_messages where account_id = ${who.id} order by id`
const codesOf = (messages: readonly { error_code?: string }[]) => messages.map((one) => one.error_code ?? null)

const sender = async (balance = '100') => {
  const who = await tenant({ balance })
  return { who, ...(await giveNumber(world, who)) }
}

test('one text to many numbers is accepted in order, charged once, and each message names the sending', async () => {
  const { who, number } = await sender()
  const to = numbers(300)
  const { status, body } = await sendMany(who, { from_number: number, text: 'Hello', to_numbers: to })
  assert.deepEqual([status, body.accepted, body.refused, body.balance_ended_at], [202, 300, 0, undefined])
  const rows = await rowsOf(who)
  assert.deepEqual(
    body.messages.map((one: { message_uuid: string }) => one.message_uuid),
    rows.map(({ id }) => `SMO${id}`),
  )
  assert.deepEqual(
    rows.map((row) => row.contact),
    to,
  )
  assert.equal(await balanceOf(who), 88)
  const transfers = await db.many`
    select amount::text, note from transfers where account_id = ${who.id} and kind = 'sms'`
  assert.deepEqual(transfers, [{ amount: '12.000000', note: '300 sent' }])
  const list = (await call(who, 'GET', '/open/sms/messages')).body.messages
  assert.ok(list.every((one: { sending_uuid: string }) => one.sending_uuid === body.sending_uuid))
  const timeline = (await call(who, 'GET', `/open/sms/message/${body.messages[0].message_uuid}/timeline`)).body
  assert.match(JSON.stringify(timeline), new RegExp(body.sending_uuid))
  const { sending } = (await call(who, 'GET', `/open/sms/sendings/${body.sending_uuid}`)).body
  assert.partialDeepStrictEqual(sending, {
    state: 'running',
    from_number: number,
    text: 'Hello',
    accepted: 300,
    refused: 0,
    price: 12,
    counts: { queued: 300, sent: 0, canceled: 0 },
  })
  const listed = (await call(who, 'GET', '/open/sms/sendings')).body
  assert.deepEqual([listed.total, listed.sendings[0].uuid], [1, body.sending_uuid])
})

test('a text and a sender of its own are used where a message has them', async () => {
  const { who, number } = await sender()
  const { number: other } = await giveNumber(world, who)
  const [one = '', two = '', three = ''] = numbers(3)
  const { body } = await sendMany(who, {
    from_number: number,
    text: 'Common',
    messages: [
      { to_number: one },
      { to_number: two, text: 'Own “text”', from_number: other },
      { to_number: three, text: 'x'.repeat(200) },
    ],
  })
  assert.equal(body.accepted, 3)
  const rows = await db.many`
    select number, contact, text, encoding, fragments, price::text from sms_messages where account_id = ${who.id} order by id`
  assert.deepEqual(rows, [
    { number, contact: one, text: 'Common', encoding: 'gsm7', fragments: 1, price: '0.040000' },
    { number: other, contact: two, text: 'Own “text”', encoding: 'ucs2', fragments: 1, price: '0.040000' },
    { number, contact: three, text: 'x'.repeat(200), encoding: 'gsm7', fragments: 2, price: '0.080000' },
  ])
})

test('a repeated recipient gets a message each time', async () => {
  const { who, number } = await sender()
  const { body } = await sendMany(who, { from_number: number, text: 'Twice', to_numbers: [contact, contact] })
  assert.deepEqual([body.accepted, (await rowsOf(who)).length], [2, 2])
})

test('invalid messages are refused alone, each with the error and the field of a single send', async () => {
  const { who, number } = await sender()
  const { who: stranger, number: foreign } = await sender()
  const [good = '', other = ''] = numbers(2)
  const text = 'Hello'
  const messages = [
    { to_number: good, text },
    { to_number: '12', text },
    { to_number: good, text: 'x'.repeat(maxTextLength + 1) },
    { to_number: good },
    { to_number: '+12025550123', text },
    { to_number: good, text, from_number: foreign },
    { to_number: good, text, from_number: 'Acme' },
    { to_number: good, text, from_number: '+447700999999' },
    { to_number: other, text },
  ]
  const { status, body } = await sendMany(who, { from_number: number, messages })
  assert.deepEqual([status, body.accepted, body.refused], [202, 2, 7])
  for (const [i, one] of messages.entries()) {
    const outcome = body.messages[i]
    if (i === 0 || i === 8) {
      assert.ok(outcome.message_uuid)
      continue
    }
    const single = await call(who, 'POST', '/open/sms/send', { from_number: number, ...one })
    assert.deepEqual([outcome.status, outcome.error_code], [single.status, single.body.error_code], JSON.stringify(one))
    assert.equal(outcome.field, `/messages/${i}${single.body.field}`)
  }
  assert.deepEqual(await rowsOf(stranger), [])
  assert.equal(await balanceOf(who), 99.92)
})

test('a number of another account is answered exactly as one that does not exist', async () => {
  const [{ who }, { number: foreign }] = [await sender(), await sender()]
  const errorOf = async (from: string) => {
    const { body } = await sendMany(who, { from_number: from, text: 'Hello', to_numbers: [contact] })
    assert.deepEqual([body.sending_uuid, body.accepted], [undefined, 0])
    return JSON.stringify(body).replaceAll(from, '')
  }
  assert.equal(await errorOf(foreign), await errorOf('+447700999999'))
})

test('contacts that opted out are refused in the middle, and the others are sent', async () => {
  const { who, number } = await sender()
  const to = numbers(5)
  for (const one of to.slice(1, 3)) await call(who, 'POST', '/open/sms/opt-outs', { contact_number: one })
  const { body } = await sendMany(who, { from_number: number, text: 'Hello', to_numbers: to })
  assert.deepEqual(codesOf(body.messages), [null, 'opted_out', 'opted_out', null, null])
  assert.deepEqual([body.messages[1].status, body.messages[1].field], [403, '/to_numbers/1'])
  assert.deepEqual(
    (await rowsOf(who)).map((row) => row.contact),
    [to[0], to[3], to[4]],
  )
  assert.equal(await balanceOf(who), 99.88)
})

test('where the balance ends, messages are refused as single ones would be: a cheaper one after it may be covered', async () => {
  const bodyOf = (number: string) => ({
    from_number: number,
    messages: [
      { to_number: contact, text: 'one' },
      { to_number: contact, text: 'two' },
      { to_number: contact, text: 'x'.repeat(200) },
      { to_number: contact, text: 'three' },
      { to_number: contact, text: 'four' },
    ],
  })
  const { who, number } = await sender('0.14')
  const { body } = await sendMany(who, bodyOf(number))
  assert.deepEqual(codesOf(body.messages), [null, null, 'insufficient_balance', null, 'insufficient_balance'])
  assert.deepEqual([body.balance_ended_at, body.accepted, body.messages[2].status], [2, 3, 402])
  assert.equal(await balanceOf(who), 0.02)

  const { who: one, number: from } = await sender('0.14')
  const singles: (string | null)[] = []
  for (const message of bodyOf(from).messages)
    singles.push((await call(one, 'POST', '/open/sms/send', { from_number: from, ...message })).body.error_code ?? null)
  assert.deepEqual(singles, codesOf(body.messages))
  assert.equal(await balanceOf(one), 0.02)
})

test('a request without any accepted message stores nothing, and has no sending', async () => {
  const { who, number } = await sender('0')
  const { status, body } = await sendMany(who, { from_number: number, text: 'Hello', to_numbers: numbers(3) })
  assert.deepEqual([status, body.sending_uuid, body.accepted, body.balance_ended_at], [202, undefined, 0, 0])
  const { count } = await db.one<{ count: number }>`
    select (select count(*) from sms_sendings where account_id = ${who.id}) + (select count(*) from jobs where account_id = ${who.id})
      + (select count(*) from sms_messages where account_id = ${who.id}) as count`
  assert.equal(Number(count), 0)
})

const keyed = (who: Tenant, key: string, payload: object) =>
  app.inject({ method: 'POST', url, headers: { 'x-user-api-key': who.key, 'idempotency-key': key }, payload })

test('a repeated Idempotency-Key gets the same answer and charges once, also for requests at the same time', async () => {
  const { who, number } = await sender()
  const payload = { from_number: number, text: 'Hello', to_numbers: numbers(50) }
  const [first, ...others] = await Promise.all(Array.from({ length: 8 }, () => keyed(who, 'one', payload)))
  const again = await keyed(who, 'one', payload)
  assert.equal(first?.statusCode, 202)
  for (const other of [...others, again]) assert.equal(other.body, first?.body)
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.deepEqual([(await rowsOf(who)).length, await balanceOf(who)], [50, 98])
  const changed = await keyed(who, 'one', { ...payload, text: 'Other' })
  assert.deepEqual([changed.statusCode, changed.json().error_code], [409, 'idempotency_key_reused'])
})

test('each message counts as a request of the account, and a request with more than its minute is refused', async () => {
  const who = await tenant({ requestsPerMinute: 20 })
  const { number } = await giveNumber(world, who)
  const body = (count: number) => ({ from_number: number, text: 'Hello', to_numbers: numbers(count) })
  const over = await sendMany(who, body(21))
  assert.deepEqual([over.status, over.body.error_code, over.body.field], [400, 'messages_over_rate', '/to_numbers'])
  assert.equal((await sendMany(who, body(15))).status, 202)
  const late = await sendMany(who, body(15))
  assert.deepEqual([late.status, late.body.error_code], [429, 'too_many_requests'])
  assert.ok(Number(late.headers['retry-after']) > 0)
  assert.equal((await rowsOf(who)).length, 15)
  const { calls } = await db.one<{ calls: number }>`
    select api_requests as calls from rate_limit_usage where account_id = ${who.id}`
  assert.equal(calls, 1 + 15 + 1)
})

test('an exhausted quota of API calls refuses the whole request', async () => {
  const { who, number } = await sender()
  await db.run`update accounts set max_api_requests = 10 where id = ${who.id}`
  await db.begin((tx) => parts.changes.invalidate(tx, 'accounts'))
  const { status, body } = await sendMany(who, { from_number: number, text: 'Hello', to_numbers: numbers(11) })
  assert.deepEqual([status, body.error_code], [402, 'quota_exceeded'])
  assert.deepEqual(await rowsOf(who), [])
})

test('more than a thousand messages, neither or both lists, and too large a body are refused as a whole', async () => {
  const { who, number } = await sender()
  const common = { from_number: number, text: 'Hello' }
  const many = await sendMany(who, { ...common, to_numbers: numbers(maxSendingMessages + 1) })
  assert.deepEqual([many.status, many.body.field], [400, '/to_numbers'])
  const messages = numbers(maxSendingMessages + 1).map((to_number) => ({ to_number }))
  const others = await sendMany(who, { ...common, messages })
  assert.deepEqual([others.status, others.body.field], [400, '/messages'])
  for (const body of [common, { ...common, to_numbers: [contact], messages: [{ to_number: contact }] }]) {
    const answer = await sendMany(who, body)
    assert.deepEqual([answer.status, answer.body.error_code], [400, 'messages_required'])
    assert.match(answer.body.field, /^\/(messages|to_numbers)$/)
  }
  const large = await sendMany(who, { ...common, text: 'x'.repeat(maxSendingBytes), to_numbers: [contact] })
  assert.deepEqual([large.status, large.body.error_code], [413, 'body_too_large'])
  assert.deepEqual(await rowsOf(who), [])
})

test('a thousand messages with the longest texts fit', async () => {
  const { who, number } = await sender('1000')
  const messages = numbers(maxSendingMessages).map((to_number) => ({ to_number, text: 'я'.repeat(maxTextLength) }))
  const { status, body } = await sendMany(who, { from_number: number, messages })
  assert.equal(status, 202)
  assert.equal(body.accepted + body.refused, maxSendingMessages)
})

test('requests beyond those that an account may make at a time are refused until one has ended', async () => {
  const { who, number } = await sender()
  const most = sendingRequests.perKey + sendingRequests.queue.perKey
  const body = { from_number: number, text: 'Hello', to_numbers: numbers(20) }
  const answers: ReturnType<typeof sendMany>[] = []
  await db.begin(async (tx) => {
    // No request can be accepted meanwhile.
    await tx.run`select from balances where account_id = ${who.id} for update`
    for (let i = 0; i < most + 4; i++) answers.push(sendMany(who, body))
    let refused = 0
    await new Promise<void>((resolve) => {
      for (const answer of answers) void answer.then(({ status }) => status === 503 && ++refused === 4 && resolve())
    })
  })
  const ended = await Promise.all(answers)
  assert.equal(ended.filter(({ status }) => status === 202).length, most)
  const refused = ended.filter(({ status }) => status === 503).map((answer) => answer.body.error_message)
  assert.deepEqual(new Set(refused), new Set(['Too many messages are waiting to be accepted. Try again in a second']))
  assert.equal((await sendMany(who, body)).status, 202)
  assert.equal((await rowsOf(who)).length, (most + 1) * 20)
})

test('a sending of another account is answered as one that does not exist, for every act', async () => {
  const { who, number } = await sender()
  const { who: other } = await sender()
  const { body } = await sendMany(who, { from_number: number, text: 'Hello', to_numbers: numbers(3) })
  const missing = body.sending_uuid.replace(/.{12}$/, '000000000000')
  for (const [method, act] of [
    ['GET', ''],
    ['POST', '/pause'],
    ['POST', '/resume'],
    ['POST', '/cancel'],
  ] as const) {
    const answerOf = async (sending: string) => {
      const answer = await call(other, method, `/open/sms/sendings/${sending}${act}`)
      const { request_id: _, ...error } = answer.body
      return [answer.status, JSON.stringify(error).replaceAll(sending, '')]
    }
    assert.deepEqual(await answerOf(body.sending_uuid), await answerOf(missing))
    assert.equal((await answerOf(missing))[0], 404)
  }
  assert.equal((await call(other, 'GET', '/open/sms/sendings')).body.total, 0)
  assert.equal((await call(who, 'GET', `/open/sms/sendings/${body.sending_uuid}`)).body.sending.state, 'running')
})
