import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { putPrices } from '../../../../test/prices.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { contact, giveNumber, setPrices } from '../sms-testing.ts'
import { makeInboundReceiver, receiveIncomplete } from './inbound-receiver.ts'

const world = await makeWorld()
const { call, db, parts, tenant } = world
await setPrices(world)
const inbound = makeInboundReceiver(db, parts)
const connection = uuid()

const make = async () => {
  const who = await tenant({ balance: '1' })
  return { who, ...(await giveNumber(world, who)) }
}
const threadOf = async (who: Tenant, channel: string) =>
  (await call(who, 'GET', `/open/sms/messages/${channel}/${contact}`)).body.messages
const textsOf = async (who: Tenant, channel: string): Promise<string[]> =>
  (await threadOf(who, channel)).map(({ text }: { text: string }) => text)
const comes = (destination: string, text: string, link: string) =>
  inbound.add({ connection, source: contact, destination, text, concat: null, link })
const partComes = (destination: string, n: number, text: string, link = 'a', parts = 3) =>
  inbound.add({ connection, source: contact, destination, text, concat: { reference: 9, part: n, parts }, link })
const advance = async (seconds: number) => {
  const wanted = parts.clock.offset() + seconds
  await db.begin(async (tx) => {
    await tx.run`update clock set offset_seconds = offset_seconds + ${seconds}`
    await parts.changes.invalidate(tx, 'clock')
  })
  await until(async () => parts.clock.offset() >= wanted)
}

test('a message that the carrier repeats after a cut link or a kill is stored once', async () => {
  const { who, number, channel } = await make()
  await comes(number, 'hello', 'before the kill')
  await comes(number, 'hello', 'after the kill')
  await comes(number, 'hello', 'after another one')
  assert.deepEqual(await textsOf(who, channel), ['hello'])
})

test('the same text twice over one link, later, or after the link lived on, is two messages', async () => {
  const { who, number, channel } = await make()
  await comes(number, 'ok', 'a')
  await comes(number, 'ok', 'a')
  await advance(15)
  await comes(number, 'the link goes on', 'a')
  await comes(number, 'ok', 'a')
  await advance(30)
  await comes(number, 'and on', 'a')
  await comes(number, 'ok', 'b')
  await advance(660)
  await comes(number, 'ok', 'c')
  assert.equal((await textsOf(who, channel)).filter((text) => text === 'ok').length, 5)
})

test('equal messages in one batch are two, and equal parts in one batch are one', async () => {
  const { who, number, channel } = await make()
  await Promise.all([comes(number, 'same', 'a'), comes(number, 'same', 'a')])
  await Promise.all([1, 2, 2, 3, 1, 3].map((n) => partComes(number, n, `${n} `)))
  assert.deepEqual((await textsOf(who, channel)).sort(), ['1 2 3 ', 'same', 'same'])
})

test('parts repeated after their message was complete make no second message', async () => {
  const { who, number, channel } = await make()
  for (const n of [2, 3, 1]) await partComes(number, n, `${n} `)
  for (const n of [1, 2, 3]) await partComes(number, n, `${n} `, 'b')
  assert.deepEqual(await textsOf(who, channel), ['1 2 3 '])
})

test('an incomplete message is delivered after a day and marked, and so are its late parts', async () => {
  const { who, number, channel } = await make()
  await partComes(number, 1, 'one ')
  await partComes(number, 3, 'three')
  await db.begin((tx) => receiveIncomplete(tx, parts))
  assert.deepEqual(await textsOf(who, channel), [])
  await advance(86_401)
  await db.begin((tx) => receiveIncomplete(tx, parts))
  const [first] = await threadOf(who, channel)
  assert.deepEqual([first.text, first.sub_status], ['one three', 'incomplete'])
  await partComes(number, 2, 'two')
  await advance(86_401)
  await db.begin((tx) => receiveIncomplete(tx, parts))
  assert.deepEqual(await textsOf(who, channel), ['one three', 'two'])
})

test('two messages with one reference from two handsets do not mix', async () => {
  const { who, number, channel } = await make()
  const other = '+447911999999'
  for (const [source, text] of [
    [contact, 'a'],
    [other, 'b'],
  ] as const)
    await inbound.add({ connection, source, destination: number, text, concat: { reference: 1, part: 1, parts: 2 } })
  for (const source of [other, contact])
    await inbound.add({
      connection,
      source,
      destination: number,
      text: '2',
      concat: { reference: 1, part: 2, parts: 2 },
    })
  assert.deepEqual(await textsOf(who, channel), ['a2'])
})

test('the event of an inbound message is committed with the message and matches the API', async () => {
  const { who, number, channel, did } = await make()
  await comes(number, 'told', 'a')
  const [message] = await threadOf(who, channel)
  const event = await db.one<{
    name: string
    channel_id: string
    conversation: string
    payload: Record<string, unknown>
  }>`
    select name, channel_id, conversation, payload from events where account_id = ${who.id}`
  assert.deepEqual([event.name, `SMS${event.channel_id}`], ['sms.message.received', channel])
  assert.ok(event.conversation.includes(contact))
  assert.match(String(event.payload.created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/)
  const { created_at, ...rest } = message
  assert.deepEqual(event.payload, {
    ...rest,
    created_at: created_at.slice(0, -1),
    channel_uuid: channel,
    event: 'sms.message.received',
  })
  assert.equal(rest.voip_number_setup_id > 0 && did.length > 0, true)
})

test('an inbound message costs the price of its number, and is delivered free when the balance is empty', async () => {
  const { who, number, channel } = await make()
  const setPrice = (price: string) => putPrices(world, [{ kind: 'sms_in', prefix: number.slice(1), price }])
  await setPrice('0.75')
  for (const text of ['first', 'second']) await comes(number, text, 'a')
  assert.deepEqual(
    (await threadOf(who, channel)).map(({ price }: { price: number }) => price),
    [0.75, 0],
  )
  assert.equal((await call(who, 'GET', '/open/info')).body.balance.amount, '0.25')
})
