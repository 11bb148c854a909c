import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { makeInboundReceiver } from '../inbound/inbound-receiver.ts'
import { contact, giveNumber, setPrices } from '../sms-testing.ts'
import { keywordOf } from './keywords.ts'

const world = await makeWorld()
const { call, db, parts, tenant } = world
await setPrices(world)
// Two more processes share the database.
const elsewhere = await makeWorld({}, {}, { db })
const careless = await makeWorld({ TRUNKLINE_OPT_OUT: 'false' }, {}, { db })
const inbound = makeInboundReceiver(db, parts)
const connection = uuid()
const other = '+447911999999'

const hears = (number: string, text: string, from = contact) =>
  inbound.add({ connection, source: from, destination: number, text, concat: null, link: 'a' })
const send = (who: Tenant, from: string, to = contact) =>
  call(who, 'POST', '/open/sms/send', { from_number: from, to_number: to, text: 'hello' })

test('opt-out keywords are recognised as whole texts only, in any letter case', () => {
  for (const text of [
    'STOP',
    ' stop ',
    'Stop.',
    '"STOP"',
    'stop all',
    'STOPALL',
    'Unsubscribe',
    'CANCEL',
    'end',
    'quit!',
  ])
    assert.equal(keywordOf(text)?.type, 'stop', text)
  for (const text of ['START', 'unstop']) assert.equal(keywordOf(text)?.type, 'start', text)
  for (const text of ['HELP', 'info']) assert.equal(keywordOf(text)?.type, 'help', text)
  for (const text of ['stop it', 'do not stop', 'yes', '', '.', 'the end', 'STOP '.repeat(40)])
    assert.equal(keywordOf(text), null, text)
})

test('a contact who sent STOP gets no more messages from that number until START; other numbers are unaffected', async () => {
  const who = await tenant()
  const [{ number }, second] = [await giveNumber(world, who), await giveNumber(world, who)]
  await hears(number, 'Stop')
  const refused = await send(who, number)
  assert.deepEqual([refused.status, refused.body.error_code, 'success' in refused.body], [403, 'opted_out', false])
  assert.equal((await send(who, second.number)).status, 202)
  assert.equal((await send(who, number, other)).status, 202)
  await hears(number, 'HELP')
  assert.equal((await send(who, number)).status, 403)
  await hears(number, 'start')
  assert.equal((await send(who, number)).status, 202)
})

test('an opt-out holds in every process from its commit on, also for keyed requests and without a balance', async () => {
  const who = await tenant({ balance: '0.04' })
  const { number } = await giveNumber(world, who)
  const body = { from_number: number, to_number: contact, text: 'hello' }
  assert.equal((await elsewhere.call(who, 'POST', '/open/sms/send', body)).status, 202)
  await hears(number, 'STOP')
  for (const { app } of [world, elsewhere]) {
    const headers = { 'x-user-api-key': who.key, 'idempotency-key': uuid() }
    const keyed = await app.inject({ method: 'POST', url: '/open/sms/send', headers, payload: body })
    const plain = await app.inject({
      method: 'POST',
      url: '/open/sms/send',
      headers: { 'x-user-api-key': who.key },
      payload: body,
    })
    assert.deepEqual([keyed.statusCode, plain.statusCode], [403, 403])
  }
})

test('the last of several keywords in one batch counts', async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  await Promise.all(['START', 'STOP', 'START'].map((text) => hears(number, text)))
  assert.equal((await send(who, number)).status, 202)
  await Promise.all(['STOP', 'START', 'STOP'].map((text) => hears(number, text)))
  assert.equal((await send(who, number)).status, 403)
})

test('an opt-out belongs to one account: the next owner of the number starts without it', async () => {
  const [who, next] = [await tenant(), await tenant()]
  const { number, did } = await giveNumber(world, who)
  await hears(number, 'STOP')
  await db.begin(async (tx) => {
    await tx.run`update sms_channels set enabled = false where virtual_number_id = ${did}`
    await tx.run`
      update virtual_numbers set status_text = 'RELEASED', released_at = now() where id = ${did}`
    await parts.changes.invalidate(tx, 'numbers')
  })
  const again = await giveNumber(world, next)
  await db.run`update virtual_numbers set number = ${number} where id = ${again.did}`
  await db.run`update sms_channels set phone_number = ${number} where virtual_number_id = ${again.did}`
  assert.equal((await send(next, number)).status, 202)
})

test('a setting turns opt-out words off, and not the opt-outs that the account added', async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  await hears(number, 'STOP')
  const body = { from_number: number, to_number: contact, text: 'hello' }
  assert.equal((await careless.call(who, 'POST', '/open/sms/send', body)).status, 202)
  // Opt-outs that the account added hold all the same: the carrier knows nothing of them.
  await call(who, 'POST', '/open/sms/opt-outs', { contact_number: contact })
  assert.equal((await careless.call(who, 'POST', '/open/sms/send', body)).status, 403)
})
