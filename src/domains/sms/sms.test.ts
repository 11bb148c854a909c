import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import type { SmsReceipt } from '../../ports/sms.ts'
import { endUnsent } from './cancellation.ts'
import { makeInboundReceiver } from './inbound/inbound-receiver.ts'
import { contact, giveNumber, setPrices } from './sms-testing.ts'
import * as states from './state-transition-store.ts'
import * as pieces from './submit/parts-store.ts'

const world = await makeWorld()
const { app, call, db, parts, tenant } = world
const connection = uuid()
const inbound = makeInboundReceiver(db, parts)
const { receipts } = parts

await setPrices(world)

const send = (who: Tenant, from: string, text: string, to = contact) =>
  call(who, 'POST', '/open/sms/send', { from_number: from, to_number: to, text })

/** Creates a sent message whose parts a carrier accepted under these ids. */
const sentMessage = async (who: Tenant, from: string, text: string, carrierIds: string[]) => {
  const { body } = await send(who, from, text)
  const message = body.message_uuid.slice(3)
  const parts = carrierIds.length
  const taken = carrierIds.map((carrierId, i) => ({
    account: who.id,
    message,
    part: i + 1,
    parts,
    connection,
    carrierId,
  }))
  await pieces.recordParts(db, taken)
  await db.begin((tx) => states.markSent(tx, [{ account: who.id, id: message }], []))
  return body.message_uuid
}
const receipt = (carrierId: string, state: SmsReceipt['state'], error: string | null = null) =>
  receipts.add({ connection, carrierId, state, error })
const messageOf = async (who: Tenant, printed: string) =>
  (await call(who, 'GET', `/open/sms/message/${printed}`)).body.message

test('an accepted SMS is charged exactly by its segments', async () => {
  const who = await tenant({ balance: '1' })
  const { number } = await giveNumber(world, who)
  const { status, body } = await send(who, number, 'x'.repeat(161))
  assert.equal(status, 202)
  assert.match(body.message_uuid, /^SMO/)
  const message = await messageOf(who, body.message_uuid)
  assert.deepEqual([message.fragments, message.price, message.status], [2, 0.08, 'queued'])
  assert.equal((await call(who, 'GET', '/open/info')).body.balance.amount, '0.92')
  const { transfers } = (await call('operator', 'GET', `/operator/accounts/${who.uuid}/ledger`)).body
  assert.deepEqual([transfers[0].amount, transfers[0].reference], ['0.08', body.message_uuid])
})

test('concurrent sends are accepted exactly as far as the balance covers them', async () => {
  const who = await tenant({ balance: '1' })
  const { number } = await giveNumber(world, who)
  const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => send(who, number, `text ${i}`)))
  assert.equal(answers.filter(({ status }) => status === 202).length, 25)
  assert.equal(answers.filter(({ status }) => status === 402).length, 35)
  assert.equal((await call(who, 'GET', '/open/info')).body.balance.amount, '0.00')
  const { count } = await db.one<{
    count: number
  }>`select count(*) as count from sms_messages where account_id = ${who.id}`
  assert.equal(count, 25)
})

test('a send repeated with its Idempotency-Key is one message and one charge', async () => {
  const who = await tenant({ balance: '1' })
  const { number } = await giveNumber(world, who)
  const again = () =>
    app.inject({
      method: 'POST',
      url: '/open/sms/send',
      headers: { 'x-user-api-key': who.key, 'idempotency-key': 'k' },
      payload: { from_number: number, to_number: contact, text: 'once' },
    })
  const answers = await Promise.all([again(), again(), again()])
  assert.equal(new Set(answers.map(({ body }) => body)).size, 1)
  assert.equal((await call(who, 'GET', '/open/info')).body.balance.amount, '0.96')
})

test('a hundred concurrent keyed sends from an unknown number are refused quickly and delay no other request', async () => {
  const who = await tenant()
  const send = (i: number) =>
    app.inject({
      method: 'POST',
      url: '/open/sms/send',
      headers: { 'x-user-api-key': who.key, 'idempotency-key': `unknown ${i}` },
      payload: { from_number: '+447700912345', to_number: contact, text: 'x' },
    })
  const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => send(i)))
  assert.deepEqual([...new Set(answers.map(({ statusCode }) => statusCode))], [404])
})

test('an inbound message with characters that PostgreSQL cannot store is stored with replacement characters', async () => {
  const who = await tenant()
  const { number, channel } = await giveNumber(world, who)
  await inbound.add({ connection, source: contact, destination: number, text: 'a\u0000b\ud83d', concat: null })
  const { messages } = (await call(who, 'GET', `/open/sms/messages/${channel}/${contact}`)).body
  assert.equal(messages[0].text, 'a\ufffdb\ufffd')
})

test('US numbers are refused until the operator allows them; other +1 numbers are not', async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  const us = await send(who, number, 'x', '+12133734253')
  assert.deepEqual([us.status, us.body.error_code, 'success' in us.body], [422, 'a2p_us_unsupported', false])
  assert.equal((await send(who, number, 'x', '+14165550123')).status, 202)
  await call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { a2p_us: true })
  assert.equal((await send(who, number, 'x', '+12133734253')).status, 202)
})

test('a text has 1 to 1,600 UTF-16 units, and every character is preserved', async () => {
  const who = await tenant()
  const { number, channel } = await giveNumber(world, who)
  assert.equal((await send(who, number, '')).status, 400)
  assert.equal((await send(who, number, 'x'.repeat(1601))).status, 400)
  assert.equal((await send(who, number, '👋'.repeat(801))).status, 400)
  assert.equal((await send(who, number, 'half \ud83d')).status, 400)
  assert.equal((await send(who, number, 'zero \u0000')).status, 400)
  const odd = '  \u200d\ufeffÅ€[]\n\r\t"\\\u2028👩‍👩‍👧‍👦 '
  assert.equal((await send(who, number, odd)).status, 202)
  const thread = await call(who, 'GET', `/open/sms/messages/${channel}/${contact}`)
  assert.equal(thread.body.messages.at(-1).text, odd)
})

test('a number that is suspended, released, foreign or without SMS cannot send', async () => {
  const [who, other] = [await tenant(), await tenant()]
  const { number, did } = await giveNumber(world, who)
  assert.equal((await send(other, number, 'x')).status, 404)
  assert.equal((await send(who, '+447700999999', 'x')).status, 404)
  await db.begin(async (tx) => {
    await tx.run`update virtual_numbers set status_text = 'SUSPENDED' where id = ${did}`
    await parts.changes.invalidate(tx, 'numbers')
  })
  const suspended = await send(who, number, 'x')
  assert.deepEqual([suspended.status, suspended.body.error_code], [403, 'number_suspended'])
  await db.begin(async (tx) => {
    await tx.run`update sms_channels set enabled = false where virtual_number_id = ${did}`
    await parts.changes.invalidate(tx, 'numbers')
  })
  assert.equal((await send(who, number, 'x')).status, 404)
})

test('a thread is paged from oldest to newest, and no message is lost if many share a second', async () => {
  const who = await tenant()
  const { number, channel } = await giveNumber(world, who)
  for (let i = 0; i < 25; i++) await send(who, number, `t${i}`)
  const path = `/open/sms/messages/${channel}/${contact.slice(1)}?results_per_page=10`
  const texts: string[] = []
  let cursor: string | undefined
  do {
    const { body } = await call(who, 'GET', cursor ? `${path}&cursor=${cursor}` : path)
    assert.equal(body.count, body.messages.length)
    texts.unshift(...body.messages.map(({ text }: { text: string }) => text))
    cursor = body.next_cursor
  } while (cursor)
  assert.deepEqual(
    texts,
    Array.from({ length: 25 }, (_, i) => `t${i}`),
  )
  const none = await call(who, 'GET', `${path}&before_ts=${Math.floor(Date.now() / 1000) - 60}`)
  assert.deepEqual([none.body.count, none.body.messages], [0, []])
  assert.equal((await call(who, 'GET', `${path}&cursor=nonsense`)).status, 400)
  assert.equal((await call(who, 'GET', `${path.replace('=10', '=201')}`)).status, 400)
})

test('a message is delivered when all its parts are, in any order of receipts', async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  const printed = await sentMessage(who, number, 'x'.repeat(400), ['a1', 'a2', 'a3'])
  await Promise.all([receipt('a3', 'delivered'), receipt('a1', 'delivered'), receipt('a1', 'delivered')])
  assert.equal((await messageOf(who, printed)).status, 'sent')
  await Promise.all([receipt('a2', 'delivered'), receipt('a2', 'enroute')])
  assert.equal((await messageOf(who, printed)).status, 'delivered')
})

test('one failed part fails the message, and only a later delivery corrects that', async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  const printed = await sentMessage(who, number, 'x', ['b1'])
  await receipt('b1', 'enroute')
  assert.deepEqual(
    [(await messageOf(who, printed)).status, (await messageOf(who, printed)).sub_status],
    ['sent', 'enroute'],
  )
  await receipt('b1', 'undelivered', '042')
  assert.deepEqual(
    [(await messageOf(who, printed)).status, (await messageOf(who, printed)).error_code],
    ['undelivered', '042'],
  )
  await receipt('b1', 'expired')
  assert.equal((await messageOf(who, printed)).status, 'undelivered')
  await receipt('b1', 'delivered')
  assert.equal((await messageOf(who, printed)).status, 'delivered')
  await receipt('b1', 'rejected')
  assert.equal((await messageOf(who, printed)).status, 'delivered')
})

test('a receipt that arrives before its submit is stored waits in the queue', async () => {
  assert.equal(await receipt('never seen', 'delivered'), false)
  const job = await db.maybe<{ payload: { carrierId: string } }>`select payload from jobs where kind = 'sms.receipt'`
  assert.equal(job?.payload.carrierId, 'never seen')
})

test('inbound parts make one message in any order, and duplicates are dropped', async () => {
  const who = await tenant()
  const { number, channel } = await giveNumber(world, who)
  const part = (n: number, text: string) =>
    inbound.add({ connection, source: contact, destination: number, text, concat: { reference: 7, part: n, parts: 3 } })
  await part(3, 'three')
  await part(1, 'one ')
  await part(1, 'one ')
  assert.equal((await call(who, 'GET', `/open/sms/messages/${channel}/${contact}`)).body.count, 0)
  await part(2, 'two ')
  const { messages } = (await call(who, 'GET', `/open/sms/messages/${channel}/${contact}`)).body
  assert.equal(messages.length, 1)
  assert.deepEqual([messages[0].text, messages[0].direction, messages[0].price], ['one two three', 'inbound', 0])
  assert.equal('fragments' in messages[0], false)
})

test('an inbound message to an unassigned number is acknowledged and dropped', async () => {
  assert.equal(
    await inbound.add({ connection, source: contact, destination: '+447700900000', text: 'x', concat: null }),
    true,
  )
})

test('a message that no carrier accepted is refunded once', async () => {
  const who = await tenant({ balance: '1' })
  const { number } = await giveNumber(world, who)
  const { body } = await send(who, number, 'x')
  const id = body.message_uuid.slice(3)
  for (let twice = 0; twice < 2; twice++)
    await db.begin((tx) => endUnsent(tx, [{ account: who.id, id, status: 'failed', code: 'no_route' }]))
  const message = await messageOf(who, body.message_uuid)
  assert.deepEqual([message.status, message.error_code, message.price], ['failed', 'no_route', 0.04])
  assert.equal((await call(who, 'GET', '/open/info')).body.balance.amount, '1.00')
})
