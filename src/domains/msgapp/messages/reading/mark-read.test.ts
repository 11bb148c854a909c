import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../../test/platform.ts'
import { makeWorld } from '../../../../../test/world.ts'
import type { ChatPeer } from '../../../../ports/chat-message.ts'
import { inbound, makeChatHarness } from '../testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call } = world
const them = '+447700900123'

/** A conversation with three inbound messages. */
const furnish = async () => {
  const tenant = await world.tenant()
  const chat = await makeChatHarness(world, tenant.id)
  const marked: { from: ChatPeer; ids: readonly string[] }[] = []
  const authors: (string | null)[] = []
  chat.network.markRead = async (_channel, from, ids, by) => {
    marked.push({ from, ids })
    authors.push(...by)
    return { outcome: 'done', value: null }
  }
  const come = async (id: string, text = id) => chat.intake.inbound(chat.line, inbound({ id, text }))
  const key = `WW-WPN${chat.line.channel}-${them.slice(1)}@c.us`
  const read = (body?: object, session = key) =>
    call(tenant, 'POST', `/open/msgapp/conversation/${encodeURIComponent(session)}/read`, body)
  const list = async () =>
    (await call(tenant, 'GET', `/open/msgapp/messages/${chat.line.number}/${them}`)).body.messages
  const unread = async () =>
    (await call(tenant, 'GET', `/open/msgapp/conversations/WPN${chat.line.channel}`)).body.sessions[0].unread_count
  for (const id of ['one', 'two', 'three']) await come(id)
  return { tenant, chat, marked, authors, come, read, list, unread, key }
}

test('marking a conversation read clears its unread count, marks its messages, and notifies the sender once', async () => {
  const { read, list, unread, marked } = await furnish()
  assert.equal(await unread(), 3)
  const first = await read()
  assert.deepEqual([first.status, first.body.unread_count, first.body.batched], [200, 0, true])
  assert.equal(await unread(), 0)
  for (const message of await list()) {
    assert.deepEqual([message.wa_msg_ack, message.read], [3, true])
    assert.match(message.read_at, /Z$/)
  }
  await until(async () => marked.length > 0)
  assert.deepEqual(marked, [{ from: { number: them, remote: `${them.slice(1)}@c.us` }, ids: ['one', 'two', 'three'] }])
  assert.deepEqual((await read({})).body, { success: true, unread_count: 0, batched: false })
})

test('marking up to a named message leaves later ones unread', async () => {
  const { read, list, unread, marked, come } = await furnish()
  const ids = new Map(
    (await list()).map((one: { message: { text: string }; uuid: string }) => [one.message.text, one.uuid]),
  )
  assert.equal((await read({ message_uuid: ids.get('two') })).body.unread_count, 1)
  await until(async () => marked.length > 0)
  assert.deepEqual(marked[0]?.ids, ['one', 'two'])
  await come('four')
  assert.equal(await unread(), 2)
  assert.equal((await read({ message_uuid: ids.get('one') })).body.unread_count, 2)
  assert.equal((await read()).body.unread_count, 0)
  await until(async () => marked.length > 1)
  assert.deepEqual(marked[1]?.ids, ['three', 'four'])
})

test('marking a missing conversation, another account’s, or one without the named message is 404', async () => {
  const { read, key, list } = await furnish()
  const other = await furnish()
  const [{ uuid }] = await other.list()
  for (const answer of [
    await read({}, key.replace('447700900123', '447700900124')),
    await read({}, other.key),
    await read({ message_uuid: uuid }),
    await read({}, 'WW-WPNx'),
  ])
    assert.equal(answer.status, 404, JSON.stringify(answer.body))
  assert.ok((await list()).every((one: { read: boolean }) => !one.read))
  assert.equal(await other.unread(), 3)
})

test('a network without read receipts gets no request', async () => {
  const { read, chat, marked, unread } = await furnish()
  await world.db.run`update connections set kind = 'carrier-pigeon' where id = ${chat.line.connection}`
  assert.deepEqual((await read()).body, { success: true, unread_count: 0, batched: false })
  assert.equal(await unread(), 0)
  assert.equal(marked.length, 0)
})

test('marking a group read names the author of each message to its network', async () => {
  const { tenant, chat, marked, authors } = await furnish()
  const group = { id: 'book-club', name: 'Book club' }
  await chat.intake.inbound(chat.line, inbound({ group, number: null }))
  await chat.intake.inbound(chat.line, inbound({ group }))
  const { sessions } = (await call(tenant, 'GET', `/open/msgapp/conversations/WPN${chat.line.channel}`)).body
  const key = sessions.find(({ name }: { name: string }) => name === 'Book club').session_key
  const read = async () =>
    (await call(tenant, 'POST', `/open/msgapp/conversation/${encodeURIComponent(key)}/read`)).body.batched
  assert.equal(await read(), true)
  await until(async () => marked.length > 0)
  assert.deepEqual(marked[0]?.from, { group: 'book-club' })
  assert.deepEqual(authors, ['77@lid', them])
  await chat.intake.inbound(chat.line, inbound({ group }))
  await world.db.run`update connections set kind = 'carrier-pigeon' where id = ${chat.line.connection}`
  assert.equal(await read(), false)
})

test('messages sent before a conversation was read are not scanned again', async () => {
  const { tenant, chat, read } = await furnish()
  const body = { from_number: chat.line.number, to_number: them, text: 'An answer' }
  assert.equal((await call(tenant, 'POST', '/open/msgapp/send-message', body)).status, 202)
  await read()
  const { is_all } = await world.db.one<{ is_all: boolean }>`
    select read_to = (select max(created_at) from msgapp_messages where channel_id = ${chat.line.channel}) as is_all
    from msgapp_chats where channel_id = ${chat.line.channel}`
  assert.ok(is_all)
})

test('a deleted unread message no longer counts, and messages answered or read before it were not counted', async () => {
  const { tenant, list, unread, read, come, key, chat } = await furnish()
  const remove = async (text: string) => {
    const one = (await list()).find((found: { message: { text: string } }) => found.message.text === text)
    const path = `/open/msgapp/message/${encodeURIComponent(key)}/${one.uuid}`
    assert.equal((await call(tenant, 'DELETE', path)).status, 200)
  }
  await remove('three')
  assert.equal(await unread(), 2)
  const body = { from_number: chat.line.number, to_number: them, text: 'An answer' }
  assert.equal((await call(tenant, 'POST', '/open/msgapp/send-message', body)).status, 202)
  await come('four')
  await come('five')
  await remove('two')
  assert.equal(await unread(), 2)
  await remove('four')
  assert.equal(await unread(), 1)
  await read()
  await come('six')
  await remove('five')
  assert.equal(await unread(), 1)
})

test('deleting the last message of a conversation leaves the one before it as its last, and its contact', async () => {
  const { tenant, chat, list, key } = await furnish()
  const details = [{ type: 'PH', value: them }]
  const ada = { first_name: 'Ada', last_name: '', contact_details: details }
  assert.equal((await call(tenant, 'POST', '/open/contacts', ada)).status, 201)
  const session = async () =>
    (await call(tenant, 'GET', `/open/msgapp/conversations/WPN${chat.line.channel}`)).body.sessions[0]
  const texts = ['three', 'two', 'one']
  for (const [n, { uuid }] of (await list()).entries()) {
    assert.equal((await session()).last_message?.message.text, texts[n])
    assert.equal((await call(tenant, 'DELETE', `/open/msgapp/message/${encodeURIComponent(key)}/${uuid}`)).status, 200)
  }
  assert.deepEqual([(await session()).last_message, (await session()).contact.first_name], [undefined, 'Ada'])
})
