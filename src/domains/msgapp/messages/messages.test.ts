import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeWorld } from '../../../../test/world.ts'
import { Discard } from '../../../platform/jobs/job-kind.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { eventsOf, inbound, makeChatHarness } from './testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call, db } = world
const them = '+447700900123'

const furnish = async () => {
  const tenant = await world.tenant()
  const chat = await makeChatHarness(world, tenant.id)
  const { line } = chat
  const key = `WW-WPN${line.channel}-${them.slice(1)}@c.us`
  const send = async (body: object = { text: 'Hello' }) => {
    const answer = await call(tenant, 'POST', '/open/msgapp/send-message', {
      from_number: line.number,
      to_number: them,
      ...body,
    })
    assert.equal(answer.status, 202, JSON.stringify(answer.body))
    return String(answer.body.message_uuid)
  }
  const read = async (id: string, session = key) =>
    (await call(tenant, 'GET', `/open/msgapp/message/${encodeURIComponent(session)}/${id}`)).body.message
  const acked = (id: string, ack: number) => until(async () => (await read(id)).wa_msg_ack >= ack && read(id))
  const eventNames = async () => (await eventsOf(world, tenant.id)).map(({ name }) => name.replace('msgapp.', ''))
  return { tenant, chat, line, key, send, read, acked, eventNames }
}

test('a message is accepted at once, goes out under its id, and its acknowledgement rises with receipts and never falls', async () => {
  const { chat, line, send, read, acked, eventNames, key } = await furnish()
  const id = await send({ text: 'Hello' })
  const sent = await acked(id, 1)
  assert.deepEqual(
    chat.sent.map((message) => message.id),
    [id.slice(3)],
  )
  assert.deepEqual(chat.sent[0]?.to, { number: them, remote: null })
  assert.deepEqual(
    [sent.sent, sent.received, sent.read, sent.is_from_api, sent.is_from_chatter, sent.sent_by, sent.session_key],
    [true, false, false, true, false, 'api', key],
  )
  const network = `net-${id.slice(3)}`
  const at = Date.now()
  await chat.intake.receipt(line, { id: network, level: 3, at, by: null })
  await chat.intake.receipt(line, { id: network, level: 2, at: at + 5, by: null })
  await chat.intake.receipt(line, { id: network, level: 3, at: at + 9_000, by: null })
  await chat.intake.failure(line, { id: network, code: '131026', reason: 'late', at })
  const last = await read(id)
  assert.deepEqual([last.wa_msg_ack, last.read, last.failure], [3, true, undefined])
  assert.equal(last.read_at, `${new Date(at).toISOString().slice(0, 19)}Z`)
  assert.deepEqual(await eventNames(), [
    'conversation.new',
    'message.new',
    'message.sent',
    'message.receipt.sent',
    'message.receipt.received',
    'message.receipt.read',
  ])
})

test('receipts that arrive before the answer to the send are stored, and each step is published once and in order', async () => {
  const { tenant, chat, line, send, acked } = await furnish()
  chat.answer = async ({ id }) => {
    await chat.intake.receipt(line, { id: `early-${id}`, level: 2, at: Date.now(), by: null })
    return { outcome: 'done', value: { id: `early-${id}`, at: Date.now() } }
  }
  await acked(await send(), 2)
  const acks = (await eventsOf(world, tenant.id, 'msgapp.message.%')).map(({ payload }) => payload.wa_msg_ack)
  assert.deepEqual(acks, [1, 1, 1, 2])
  assert.equal((await db.one<{ n: number }>`select count(*) as n from msgapp_early_receipts`).n, 0)
})

test('before the answer to the send, only the recipient’s receipt and failure count', async () => {
  const { chat, line, send, acked } = await furnish()
  const from = (number: string) => ({ number, remote: `${number.slice(1)}@localhost`, pushname: null })
  const [recipient, stranger] = [from(them), from('+447700900199')]
  chat.answer = async ({ id }) => {
    const [network, at] = [`early-${id}`, Date.now()]
    await chat.intake.receipt(line, { id: network, level: 3, at, by: null, from: stranger })
    await chat.intake.failure(line, { id: network, code: 'gone', reason: 'forged', at, from: stranger })
    await chat.intake.receipt(line, { id: network, level: 2, at, by: null, from: recipient })
    return { outcome: 'done', value: { id: network, at } }
  }
  const message = await acked(await send(), 2)
  assert.deepEqual([message.wa_msg_ack, message.read, message.failure], [2, false, undefined])
  assert.equal((await db.one<{ n: number }>`select count(*) as n from msgapp_early_receipts`).n, 0)
})

test('a receipt that arrives while the answer to the send is being stored is not missed', async () => {
  const { tenant, chat, line, send } = await furnish()
  const eventNames: Promise<void>[] = []
  chat.answer = async ({ id }) => {
    const receipt = () => chat.intake.receipt(line, { id: `race-${id}`, level: 2, at: Date.now(), by: null })
    setTimeout(() => eventNames.push(receipt()), Math.random() * 15)
    return { outcome: 'done', value: { id: `race-${id}`, at: Date.now() } }
  }
  await Promise.all(
    Array.from({ length: 120 }, (_, i) => send({ text: `race ${i}`, to_number: `+4477009${10_000 + i}` })),
  )
  const acks = async () =>
    (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}?per_page=200`)).body.messages.map(
      (one: { wa_msg_ack: number }) => one.wa_msg_ack,
    )
  await until(async () => eventNames.length === 120 && (await acks()).every((ack: number) => ack === 2))
  await Promise.all(eventNames)
})

test('a rejection is published as a failure; a message of unknown fate is sent again under the same id', async () => {
  const { chat, send, read, acked, eventNames } = await furnish()
  chat.answer = async () => ({ outcome: 'refused', reason: 'not there' })
  const refused = await send()
  const failed = await until(async () => (await read(refused)).failure && read(refused))
  assert.deepEqual(
    [failed.wa_msg_ack, failed.sent, failed.failure],
    [0, false, { code: 'refused', reason: 'not there' }],
  )
  assert.deepEqual(await eventNames(), ['message.failed'])

  let tries = 0
  chat.answer = async ({ id }) =>
    ++tries === 1
      ? { outcome: 'unknown', reason: 'cut' }
      : { outcome: 'done', value: { id: `n-${id}`, at: Date.now() } }
  const again = await send()
  await acked(again, 1)
  assert.deepEqual(
    chat.sent.slice(1).map((message) => message.id),
    [again.slice(3), again.slice(3)],
  )
})

test('a number cannot write to itself', async () => {
  const { tenant, line, chat } = await furnish()
  const request = { from_number: line.number, to_number: line.number, text: 'Hello' }
  const answer = await call(tenant, 'POST', '/open/msgapp/send-message', request)
  assert.deepEqual([answer.status, answer.body.error_code], [422, 'own_number'])
  assert.equal(chat.sent.length, 0)
})

test('a failure lowers no acknowledgement, and a later receipt clears it', async () => {
  const { chat, line, send, read, acked, eventNames } = await furnish()
  const id = await send()
  await acked(id, 1)
  const network = `net-${id.slice(3)}`
  await chat.intake.failure(line, { id: network, code: '131026', reason: 'no room', at: Date.now() })
  const failed = await read(id)
  assert.deepEqual([failed.wa_msg_ack, failed.sent, failed.failure.code], [1, true, '131026'])
  await chat.intake.failure(line, { id: network, code: '1', reason: 'again', at: Date.now() })
  await chat.intake.receipt(line, { id: network, level: 2, at: Date.now(), by: null })
  const arrived = await read(id)
  assert.deepEqual([arrived.wa_msg_ack, arrived.failure], [2, undefined])
  assert.deepEqual((await eventNames()).slice(-2), ['message.failed', 'message.receipt.received'])
})

test('an inbound message is stored once, with its flags, and starts a conversation only once', async () => {
  const { tenant, chat, line, eventNames } = await furnish()
  const message = inbound()
  await Promise.all([chat.intake.inbound(line, message), chat.intake.inbound(line, message)])
  await chat.intake.inbound(line, message)
  await chat.intake.inbound(line, inbound({ text: 'And more' }))
  const { body } = await call(tenant, 'GET', `/open/msgapp/messages/${line.number}/${them}`)
  assert.deepEqual(
    body.messages.map((one: { message: { text: string } }) => one.message.text),
    ['And more', 'Hello back'],
  )
  const [, first] = body.messages
  assert.deepEqual(
    [first.sent_by, first.is_from_chatter, first.is_from_api, first.remote_phone_number, first.wa_msg_ack],
    ['user', true, false, them, 2],
  )
  assert.deepEqual(await eventNames(), [
    'conversation.new',
    'message.new',
    'message.received',
    'message.new',
    'message.received',
  ])
  const [event] = await eventsOf(world, tenant.id, 'msgapp.message.received')
  assert.match(String(event?.payload.created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/)
  assert.equal(event?.payload.channel_phone_number, line.number)
  const { sessions, total } = (await call(tenant, 'GET', `/open/msgapp/conversations/WPN${line.channel}`)).body
  assert.deepEqual([total, sessions[0].unread_count, sessions[0].pushname], [1, 2, 'Ada'])
})

test('a webhook may be limited to one number, by id or number, and to one group', async () => {
  const { tenant, chat, line } = await furnish()
  const other = await makeChatHarness(world, tenant.id)
  const group = { id: '120363025246125487@g.us', name: 'Alone' }
  await chat.intake.inbound(line, inbound({ group }))
  const [{ group_uuid }] = (await call(tenant, 'GET', `/open/msgapp/conversations/WPN${line.channel}`)).body.sessions
  const subscribe = async (event: string, more: object) => {
    const body = { hook_url: 'http://127.0.0.1:1024/never', ...more }
    const answer = await call(tenant, 'POST', `/open/webhooks/subscribe/${event}`, body)
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    assert.equal(answer.body.data.channel_uuid, `WPN${line.channel}`)
    assert.deepEqual(answer.body.data.hook_params, { waweb_uuid: `WPN${line.channel}` })
    return answer.body.data.uuid
  }
  const ids = [
    await subscribe('msgapp.message.received', { on_number: line.number }),
    await subscribe('msgapp.message.new', { channel_uuid: `WPN${line.channel}` }),
    await subscribe('msgapp.group.message.received', { channel_uuid: `WPN${line.channel}`, to_group_uuid: group_uuid }),
  ]
  const listed = (await call(tenant, 'GET', `/open/webhooks/channel/WPN${line.channel}`)).body.webhooks
  assert.equal(listed.length, 3)
  await other.intake.inbound(other.line, inbound())
  await chat.intake.inbound(line, inbound())
  await chat.intake.inbound(line, inbound({ group }))
  await chat.intake.inbound(line, inbound({ group: { id: '120363025246125488@g.us', name: 'Another' } }))
  const heard = await Promise.all(
    ids.map(async (id) => (await call(tenant, 'GET', `/open/webhooks/${id}/deliveries`)).body.deliveries.length),
  )
  assert.deepEqual(heard, [1, 3, 1])
  const foreign = await call(await world.tenant(), 'GET', `/open/webhooks/channel/WPN${line.channel}`)
  assert.equal(foreign.status, 404)
})

test('a message of a known number carries its contact', async () => {
  const { tenant, chat, line, send, acked } = await furnish()
  const contact = { first_name: 'Ada', last_name: 'Lovelace', contact_details: [{ type: 'PH', value: them }] }
  const { uuid } = (await call(tenant, 'POST', '/open/contacts', contact)).body.contact
  await chat.intake.inbound(line, inbound())
  const sent = await acked(await send(), 1)
  const known = { uuid, first_name: 'Ada', last_name: 'Lovelace', profile_pic_url: null }
  assert.deepEqual(sent.contact, known)
  const [event] = await eventsOf(world, tenant.id, 'msgapp.message.received')
  assert.deepEqual(event?.payload.contact, known)
})

test('a conversation after a silence is new again, and carries the end of the last one', async () => {
  const { tenant, chat, line } = await furnish()
  await chat.intake.inbound(line, inbound())
  await db.run`update msgapp_chats set last_at = last_at - interval '2 hours' where channel_id = ${line.channel}`
  await chat.intake.inbound(line, inbound())
  const events = await eventsOf(world, tenant.id, 'msgapp.conversation.new')
  assert.deepEqual(
    events.map(({ payload }) => typeof payload.previous_message_at),
    ['undefined', 'string'],
  )
})

test('messages of other devices are the agent’s, and the echo of our own adds nothing', async () => {
  const { tenant, chat, line, send, read, acked, eventNames } = await furnish()
  const phoned = inbound({ own: true, text: 'From the phone' })
  const seen = { id: phoned.id, level: 2, at: Date.now(), by: null } as const
  await chat.intake.receipt(line, seen)
  await chat.intake.inbound(line, phoned)
  const [one] = (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}`)).body.messages
  assert.deepEqual([one.sent_by, one.is_from_agent, one.is_from_api, one.wa_msg_ack], ['agent', true, false, 2])
  chat.answer = async ({ id }) => {
    await chat.intake.inbound(line, inbound({ own: true, id }))
    await chat.intake.inbound(line, inbound({ own: true, id: `echo-${id}` }))
    await chat.intake.receipt(line, { id: `echo-${id}`, level: 2, at: Date.now(), by: null })
    return { outcome: 'done', value: { id: `echo-${id}`, at: Date.now() } }
  }
  const id = await send()
  await acked(id, 2)
  const { sessions } = (await call(tenant, 'GET', `/open/msgapp/conversations/WPN${line.channel}`)).body
  assert.equal(sessions[0].last_message?.uuid, id, 'the conversation ends with the stored message')
  const { messages } = (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}`)).body
  assert.deepEqual(
    messages.map((message: { sent_by: string }) => message.sent_by),
    ['api', 'agent'],
  )
  assert.ok((await eventNames()).includes('message.sent'))
  // The id published for the echo, before it was identified, stays an alias of the message.
  const ids = new Set((await eventsOf(world, tenant.id, 'msgapp.message.%')).map(({ payload }) => String(payload.uuid)))
  const shown = await Promise.all([...ids].map(async (one) => (await read(one))?.uuid))
  assert.deepEqual([ids.size, shown], [3, [one.uuid, id, id]])
})

test('edits, reactions and calls are published once each', async () => {
  const { tenant, chat, line } = await furnish()
  const message = inbound()
  await chat.intake.inbound(line, message)
  const by = message.from
  for (const _ of [1, 2]) {
    await chat.intake.edited(line, { id: message.id, text: 'Better', at: 1_000 })
    await chat.intake.reaction(line, { id: message.id, by, emoji: '👍', at: 2_000 })
    await chat.intake.call(line, { id: 'call-1', from: by, group: null, video: false, at: 3_000, state: 'offered' })
    await chat.intake.call(line, { id: 'call-1', from: by, group: null, video: false, at: 4_000, state: 'ended' })
  }
  const events = await eventsOf(world, tenant.id)
  assert.deepEqual(
    events.slice(3).map(({ name }) => name),
    ['msgapp.message.edited', 'msgapp.message.reaction', 'msgapp.call.received'],
  )
  assert.partialDeepStrictEqual(events[3]?.payload, {
    ...{ edited: true, edited_at: '1970-01-01T00:00:01Z', previous_text: message.text },
    message: { text: 'Better' },
  })
  const [one] = (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}`)).body.messages
  assert.deepEqual([one.message.text, one.reactions[0].reaction], ['Better', '👍'])
  await chat.intake.reaction(line, { id: message.id, by, emoji: null, at: 5_000 })
  const [after] = (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}`)).body.messages
  assert.equal(after.reactions, undefined)
})

test('a person without a number gets none invented, and continues in one conversation once it is known', async () => {
  const { tenant, chat, line } = await furnish()
  await chat.intake.inbound(line, inbound({ number: null, text: 'Who am I' }))
  const [unknown] = (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}`)).body.messages
  assert.deepEqual([unknown.remote_phone_number, unknown.remote_id], [undefined, '77@lid'])
  assert.equal((await call(tenant, 'GET', `/open/msgapp/messages/${line.number}/77@lid`)).body.count, 1)
  await chat.intake.inbound(
    line,
    inbound({ text: 'By number', from: { number: them, remote: 'x@c.us', pushname: null } }),
  )
  await chat.intake.mapped(line, '77@lid', them)
  await chat.intake.inbound(line, inbound({ number: null, text: 'Again' }))
  const { body } = await call(tenant, 'GET', `/open/msgapp/messages/${line.number}/${them}`)
  assert.deepEqual(
    body.messages.map((one: { message: { text: string } }) => one.message.text),
    ['Again', 'By number', 'Who am I'],
  )
  assert.equal((await call(tenant, 'GET', `/open/msgapp/conversations/WPN${line.channel}`)).body.total, 1)
  const old = await call(tenant, 'GET', `/open/msgapp/message/${unknown.session_key}/${unknown.uuid}`)
  assert.equal(old.status, 200, 'the old session key still finds the conversation')
})

test('groups are conversations of their own', async () => {
  const { tenant, chat, line, eventNames } = await furnish()
  const group = { id: '120363025246125486@g.us', name: 'Book club' }
  await chat.intake.inbound(line, inbound({ group, text: 'In the group' }))
  await chat.intake.inbound(line, inbound({ group, text: 'Again', number: '+447700900124' }))
  const { sessions } = (await call(tenant, 'GET', `/open/msgapp/conversations/WPN${line.channel}`)).body
  assert.deepEqual([sessions.length, sessions[0].name], [1, 'Book club'])
  const [{ group_uuid }] = sessions
  const { messages } = (await call(tenant, 'GET', `/open/msgapp/groups/messages/${group_uuid}`)).body
  assert.deepEqual(
    messages.map((one: { remote_phone_number: string }) => one.remote_phone_number),
    ['+447700900124', them],
  )
  assert.equal(messages[0].session_key, `WW-WPN${line.channel}-${group.id}`)
  assert.ok((await eventNames()).includes('group.message.received'))
  const answer = await call(tenant, 'POST', '/open/msgapp/send-message', {
    from_number: line.number,
    to_group_uuid: group_uuid,
    text: 'Hello all',
  })
  assert.equal(answer.status, 202)
  await until(async () => chat.sent.length === 1)
  assert.deepEqual(chat.sent[0]?.to, { group: group.id })
})

test('a message deleted before it went out reaches no one; later the network deletes it, and the result says for whom', async () => {
  const { tenant, chat, line, key, send, read, acked } = await furnish()
  const held = Promise.withResolvers<void>()
  chat.answer = async ({ id }) => {
    await held.promise
    return { outcome: 'done', value: { id: `d-${id}`, at: Date.now() } }
  }
  const [first, second] = [await send({ text: 'one' }), await send({ text: 'two' })]
  await until(async () => chat.sent.length === 1)
  const remove = (id: string) => call(tenant, 'DELETE', `/open/msgapp/message/${key}/${id}`)
  assert.deepEqual((await remove(second)).body, { success: true, message_uuid: second, deleted_for: 'everyone' })
  held.resolve()
  await acked(first, 1)
  chat.network.remove = async () => ({ outcome: 'done', value: 'everyone' })
  assert.deepEqual((await remove(first)).body, { success: true, message_uuid: first, deleted_for: 'everyone' })
  assert.equal(await read(first), undefined)
  assert.equal((await remove(first)).status, 404)
  const message = inbound()
  await chat.intake.inbound(line, message)
  const [came] = (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}`)).body.messages
  assert.deepEqual((await remove(came.uuid)).body, { success: true, message_uuid: came.uuid, deleted_for: 'us' })
  await chat.intake.inbound(line, message)
  assert.equal(
    (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}`)).body.count,
    0,
    'it does not come back',
  )
  assert.equal(chat.sent.length, 1)
})

test('a message whose deletion lost its answer is deleted, as far as the network said', async () => {
  const { tenant, chat, key, send, acked } = await furnish()
  const { uuid } = await acked(await send(), 1)
  chat.network.remove = async () => {
    await db.run`update msgapp_messages set removed = 'everyone' where id = ${uuid.slice(3)}`
    throw new Discard('the answer is lost')
  }
  const { status, body } = await call(tenant, 'DELETE', `/open/msgapp/message/${key}/${uuid}`)
  assert.deepEqual([status, body.deleted_for], [200, 'everyone'])
})

test('an invalid message is rejected, and the error names the missing field', async () => {
  const { tenant, line } = await furnish()
  const send = async (body: object) => {
    const answer = await call(tenant, 'POST', '/open/msgapp/send-message', { from_number: line.number, ...body })
    return [answer.status, answer.body.error_code]
  }
  assert.deepEqual(await send({ text: 'x' }), [400, 'invalid_request'])
  assert.deepEqual(await send({ text: 'x', to_number: them, to_group_uuid: `WAG${uuid()}` }), [400, 'invalid_request'])
  assert.deepEqual(await send({ text: '', to_number: them }), [400, 'invalid_request'])
  assert.deepEqual(await send({ text: 'x', to_group_uuid: `WAG${uuid()}` }), [404, 'not_found'])
  assert.deepEqual(await send({ url: 'ftp://example.com/x', to_number: them }), [400, 'url_refused'])
  assert.deepEqual(await send({ text: 'x', to_number: 'nobody' }), [422, 'invalid_phone_number'])
  assert.equal((await send({ text: '', pin: { latitude: 51.5, longitude: -0.1 }, to_number: them }))[0], 202)
})
