import assert from 'node:assert/strict'
import { test } from 'node:test'
import { putPrices } from '../../../../test/prices.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { makeCallControl } from '../../calls/control/call-control.ts'
import { eventsOf, inbound, makeChatHarness } from '../../msgapp/messages/testing.ts'
import { makeInboundReceiver } from '../../sms/inbound/inbound-receiver.ts'
import { giveNumber } from '../../sms/sms-testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call, db, parts, tenant } = world
const sms = makeInboundReceiver(db, parts)
const callControl = makeCallControl({
  ...parts,
  linkOf: () => '',
  urlOfRecording: () => '',
  epoch: 1,
  hangUp: () => {},
  trunks: () => [],
})

const [pest, friend] = ['+447700900123', '+447700900456']

const contact = async (who: Tenant, value: string, first_name = 'Ada'): Promise<string> => {
  const body = { first_name, contact_details: [{ type: 'PH', value }] }
  const answer = await call(who, 'POST', '/open/contacts', body)
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.contact.uuid
}

const namesOf = async ({ id }: Tenant) => (await eventsOf(world, id, '%')).map(({ name }) => name)

test('a blocked contact says so, once and since when, until it is unblocked', async () => {
  const who = await tenant()
  const id = await contact(who, pest)
  const path = `/open/contacts/${id}`
  const blocked = await call(who, 'PUT', `${path}/block`)
  assert.deepEqual([blocked.status, blocked.body.contact.blocked], [200, true])
  assert.match(blocked.body.contact.blocked_at, /^\d{4}-/)
  assert.deepEqual((await call(who, 'PUT', `${path}/block`)).body, blocked.body, 'no change, and no event')
  assert.deepEqual((await call(who, 'PUT', path, { last_name: 'King' })).body.contact.blocked, true)
  const open = (await call(who, 'DELETE', `${path}/block`)).body.contact
  assert.deepEqual([open.blocked, 'blocked_at' in open], [false, false])
  assert.deepEqual(await namesOf(who), ['contact.created', ...Array(3).fill('contact.updated')])
  const rows = await db.many<{ action: string; changes: unknown }>`
    select action, changes from audit where account_id = ${who.id} and action like '%lockContact' order by id`
  assert.deepEqual(rows[0], { action: 'blockContact', changes: [{ field: 'blocked', before: false, after: true }] })
})

test('a text of a blocked contact is stored as blocked, without an event; after unblocking the next one has one', async () => {
  const [who, other] = [await tenant(), await tenant()]
  const id = await contact(who, pest)
  await contact(other, pest)
  const [{ number, channel }, elsewhere] = [await giveNumber(world, who), await giveNumber(world, other)]
  await call(who, 'PUT', `/open/contacts/${id}/block`)
  const write = (to: string, text: string, from = pest) =>
    sms.add({ connection: uuid(), source: from, destination: to, text, concat: null })
  await Promise.all([write(number, 'spam'), write(number, 'hello', friend), write(elsewhere.number, 'hi')])
  const received = async (by: Tenant) => (await namesOf(by)).filter((name) => name === 'sms.message.received').length
  assert.deepEqual([await received(who), await received(other)], [1, 1], 'blocked in one account only')
  const thread = async () =>
    (await call(who, 'GET', `/open/sms/messages/${channel}/${pest}`)).body.messages.map(
      ({ text, sub_status }: { text: string; sub_status?: string }) => `${text} ${sub_status}`,
    )
  assert.deepEqual(await thread(), ['spam blocked'])
  const [{ uuid: message }] = (await call(who, 'GET', `/open/sms/messages/${channel}/${pest}`)).body.messages
  const { body } = await call(who, 'GET', `/open/sms/message/${message}/timeline`)
  assert.match(JSON.stringify(body), /blocked contact.*"kind":"unblock"/)

  await call(who, 'DELETE', `/open/contacts/${id}/block`)
  await write(number, 'sorry')
  assert.equal(await received(who), 2)
  assert.ok((await thread()).includes('sorry undefined'))
  const begun = await call(who, 'POST', '/open/conversations', { number: pest })
  const { items } = (await call(who, 'GET', `/open/conversations/${begun.body.conversation.uuid}/items`)).body
  assert.deepEqual(
    items.flatMap(({ sms }: { sms?: { text: string } }) => sms?.text ?? []),
    ['sorry'],
    'a conversation takes in no blocked text',
  )
})

test('the messages of a blocked contact still opt out, and the account may write to it', async () => {
  const who = await tenant()
  const id = await contact(who, pest)
  const { number } = await giveNumber(world, who)
  await call(who, 'PUT', `/open/contacts/${id}/block`)
  await putPrices(world, [{ kind: 'sms_out', prefix: '', price: '0.05' }])
  const send = () => call(who, 'POST', '/open/sms/send', { from_number: number, to_number: pest, text: 'hello' })
  assert.equal((await send()).status, 202)
  await sms.add({ connection: uuid(), source: pest, destination: number, text: 'STOP', concat: null })
  assert.equal((await send()).body.error_code, 'opted_out')
})

test('a call of a blocked contact is declined, and recorded without an event', async () => {
  const who = await tenant()
  const id = await contact(who, pest)
  const { number } = await giveNumber(world, who)
  const rings = async (from: string) => {
    const more = { verstat: null, npdi: false, rn: null, name: null, isFull: false, asserted: null, divertedFrom: null }
    const decision = await callControl.receiveCall({ trunk: 'x', callId: uuid(), from, to: number, ...more })
    return 'refused' in decision ? decision.refused.status : 'rings'
  }
  await call(who, 'PUT', `/open/contacts/${id}/block`)
  assert.deepEqual([await rings(pest), await rings(pest.slice(1)), await rings(friend)], [603, 603, 'rings'])
  const { cdrs } = (await call(who, 'GET', `/open/voip/call-history?from_number=${encodeURIComponent(pest)}`)).body
  assert.deepEqual([cdrs[0].status, cdrs[0].end_reason, cdrs[0].active], ['FAILED', 'caller_blocked', false])
  assert.equal(JSON.stringify(await eventsOf(world, who.id, 'call.%')).includes(pest), false)
  await call(who, 'DELETE', `/open/contacts/${id}/block`)
  assert.equal(await rings(pest), 'rings')
})

test('on the messaging app a blocked contact reaches no conversation, but groups as before', async () => {
  const who = await tenant()
  const { line, intake } = await makeChatHarness(world, who.id)
  const id = await contact(who, pest)
  await call(who, 'PUT', `/open/contacts/${id}/block`)
  const media = {
    ref: { url: 'http://127.0.0.1:9/a.png' },
    type: 'image',
    mimeType: 'image/png',
    name: 'a.png',
    size: 3,
  } as const
  const first = inbound({ text: 'spam', media })
  await intake.inbound(line, first)
  await intake.edited(line, { id: first.id, text: 'more spam', at: Date.now() })
  await intake.call(line, { id: uuid(), from: first.from, group: null, video: false, at: Date.now(), state: 'offered' })
  assert.deepEqual(
    (await namesOf(who)).filter((name) => !name.startsWith('contact.')),
    [],
  )
  const chats = () => db.many`select 1 from msgapp_chats where account_id = ${who.id} and group_id is null`
  assert.equal((await chats()).length, 0)
  assert.deepEqual(await db.many`select text, blocked, media_id from msgapp_messages where account_id = ${who.id}`, [
    { text: 'more spam', blocked: true, media_id: null },
  ])
  const [cdr] = (await call(who, 'GET', '/open/voip/call-history')).body.cdrs
  assert.deepEqual([cdr.is_msgapp_call, cdr.end_reason], [true, 'caller_blocked'])

  await intake.inbound(line, inbound({ group: { id: '1@g.us', name: 'Chess' } }))
  assert.ok((await namesOf(who)).includes('msgapp.group.message.received'))
  await call(who, 'DELETE', `/open/contacts/${id}/block`)
  await intake.inbound(line, inbound({ text: 'sorry' }))
  assert.ok((await namesOf(who)).includes('msgapp.message.received'))
  assert.equal((await chats()).length, 1)
})
