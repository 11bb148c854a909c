import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { startChat } from '../../../../test/chat-fixture.ts'
import { startWebhookReceiver } from '../../../../test/hooks.ts'
import { until } from '../../../../test/platform.ts'

const chat = await startChat()
await chat.runConnections()
const { call, channel, control, waitForStatus } = chat

test('the platform fetches files of handsets, but not from addresses within its own network', async () => {
  const ada = await chat.tenant()
  const [number, handset] = ['+447700920018', '+447700920028']
  await waitForStatus(ada, await channel(ada, number), 'C')
  const metadata = 'http://169.254.169.254/latest/meta-data/'
  const server = createServer((_, response) => void response.writeHead(302, { location: metadata }).end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  const hooks = await startWebhookReceiver()
  after(async () => {
    server.close()
    await hooks.end()
  })

  const write = (url: string) =>
    call(ada, 'POST', `/sandbox/handsets/${handset}/msgapp`, { to: number, text: 'A file', url })
  const detour = `http://127.0.0.1:${port}/`
  for (const url of [metadata, 'http://[fe80::1]/', 'file:///etc/passwd', detour]) {
    const { status, body } = await write(url)
    assert.deepEqual([status, body.error_code], [400, 'url_refused'], url)
  }
  const missing = await write(hooks.open().url.replace('hooks', 'nothing'))
  assert.match(JSON.stringify(missing.body), /url answered 404/)
  await assert.rejects(control('POST', `/handsets/${handset}/msgapp`, { to: number, url: detour }), /400/)

  const body = Buffer.alloc(300_000, 'file')
  assert.equal((await write(hooks.file(body, 'text/plain', 'a.txt'))).status, 202)
  const { media } = await until(async () => {
    const { messages } = (await call(ada, 'GET', `/open/msgapp/messages/${number}/${handset}`)).body
    return messages[0]?.message
  })
  assert.deepEqual([media.name, media.mime_type], ['a.txt', 'text/plain'])
  const link = new URL(media.url)
  const fetched = await until(async () => {
    const answer = await chat.app.inject(link.pathname + link.search)
    return answer.statusCode === 200 && answer.rawPayload
  })
  assert.ok(fetched.equals(body))
})

test('a handset cannot act as a number that is a channel on the messaging app', async () => {
  const [ada, bob] = [await chat.tenant(), await chat.tenant()]
  const [hers, his] = ['+447700920038', '+447700920048']
  await waitForStatus(ada, await channel(ada, hers), 'C')
  await waitForStatus(bob, await channel(bob, his), 'C')
  const as = (number: string) => `/sandbox/handsets/${number}`
  for (const [what, body] of [
    ['msgapp', { to: hers, text: 'I am Bob' }],
    ['read', { from: hers }],
    ['msgapp-calls', { to: hers }],
  ] as const)
    for (const number of [his, hers]) {
      const answer = await call(ada, 'POST', `${as(number)}/${what}`, body)
      assert.deepEqual([answer.status, answer.body.error_code], [400, 'not_a_handset'], what)
    }
  const foreign = await call(ada, 'PUT', as(his), { pairing: true })
  assert.deepEqual([foreign.status, foreign.body.error_code], [400, 'not_a_handset'])
  assert.equal((await call(ada, 'PUT', as(hers), { pairing: true })).status, 200)
})

test('actions on the phone of a channel appear as messages of the agent and as calls made', async () => {
  const [ada, bob] = [await chat.tenant(), await chat.tenant()]
  const [number, handset, unregistered] = ['+447700920058', '+447700920068', '+447700920006']
  const uuid = await channel(ada, number)
  await waitForStatus(ada, uuid, 'C')
  const by = (who: typeof ada, what: string, body: object) =>
    call(who, 'POST', `/sandbox/channels/${uuid}/${what}`, body)
  assert.equal((await by(ada, 'msgapp', { to: handset, text: 'From the phone' })).status, 202)
  const listed = async () => (await call(ada, 'GET', `/open/msgapp/messages/${number}/${handset}`)).body.messages
  const [message] = await until(async () => {
    const messages = await listed()
    return messages[0]?.wa_msg_ack === 2 && messages
  })
  assert.deepEqual([message.sent_by, message.is_from_agent, message.message.text], ['agent', true, 'From the phone'])
  const [seen] = (await call(ada, 'GET', `/sandbox/handsets/${handset}`)).body.msgapp
  assert.deepEqual(
    [seen.direction, seen.peer, seen.text, seen.uuid],
    ['inbound', number, 'From the phone', message.uuid],
  )
  await call(ada, 'POST', `/sandbox/handsets/${handset}/read`, { from: number })
  await until(async () => (await listed())[0].wa_msg_ack === 3)

  const group = { name: 'Book club', participants: [handset] }
  const created = await call(ada, 'POST', '/open/msgapp/group/create', { from_number: number, group })
  const group_uuid = created.body.group.uuid
  assert.equal((await by(ada, 'msgapp', { group_uuid, text: 'To all' })).status, 202)
  const inGroup = async () => (await call(ada, 'GET', `/open/msgapp/groups/messages/${group_uuid}`)).body.messages
  const [said] = await until(async () => (await inGroup()).length === 1 && inGroup())
  assert.deepEqual([said.sent_by, said.group_uuid, said.message.text], ['agent', group_uuid, 'To all'])

  assert.equal((await by(ada, 'msgapp-calls', { to: handset })).status, 202)
  const cdr = await until(async () => {
    const [one] = (await call(ada, 'GET', '/open/voip/call-history')).body.cdrs
    return one?.status === 'COMPLETED' && one
  })
  assert.deepEqual([cdr.direction, cdr.is_msgapp_call, cdr.to_number], ['O', true, handset])
  const events = await chat.db.many<{ name: string }>`
    select distinct name from events where account_id = ${ada.id} and name in ('msgapp.call.made', 'msgapp.message.sent')`
  assert.equal(events.length, 2)

  // By an alias that was published before the message was identified.
  const alias = '01890000-0000-7000-8000-000000000017'
  await chat.db.run`
    insert into msgapp_aliases (account_id, id, message_id) values (${ada.id}, ${alias}, ${message.uuid.slice(3)})`
  const liked = { message_uuid: `MSG${alias}`, emoji: '👍' }
  assert.equal((await call(ada, 'POST', `/sandbox/handsets/${handset}/reaction`, liked)).status, 202)

  // A call to another number of the platform rings unanswered; both sides report it.
  const other = '+447700920078'
  await waitForStatus(ada, await channel(ada, other), 'C')
  assert.equal((await by(ada, 'msgapp-calls', { to: other })).status, 202)
  const both = await until(async () => {
    const { cdrs } = (await call(ada, 'GET', '/open/voip/call-history')).body
    const found = cdrs.filter((one: { from_number: string; to_number: string }) => one.to_number === other)
    return found.length === 2 && found.every((one: { status: string }) => one.status !== 'RINGING') && found
  })
  assert.ok(
    both.every((one: { status: string }) => one.status !== 'COMPLETED'),
    JSON.stringify(both),
  )

  for (const what of ['msgapp', 'msgapp-calls']) {
    assert.equal((await by(ada, what, { to: unregistered, text: 'x' })).status, 404)
    assert.equal((await by(ada, what, { to: number, text: 'x' })).status, 404)
    assert.equal((await by(bob, what, { to: handset, text: 'x' })).status, 404)
  }
})
