import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'

// Networks call any process: this one runs no connection at all.

const secret = 'secret of the app'

const world = await makeWorld()
const [ada, bob] = [await world.tenant(), await world.tenant()]
const hers = '+447700900401'
const his = '+447700900402'

const connect = async (tenant: Tenant, number: string, app_secret: string): Promise<string> => {
  const settings = { business_account_id: '1', access_token: 't', app_secret, verify_token: 'words' }
  const created = await world.call('operator', 'POST', '/operator/connections', {
    kind: 'whatsapp-cloud',
    name: number,
    settings,
    account_uuids: [tenant.uuid],
  })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  const { uuid } = created.body.connection
  const channel = { phone_number: number, connection: uuid }
  assert.equal((await world.call(tenant, 'POST', '/open/msgapp/channel/create', channel)).status, 201)
  return uuid
}

const connections = { hers: await connect(ada, hers, secret), his: await connect(bob, his, 'another secret') }

const notice = (number: string, ids: readonly string[]) => {
  const messages = ids.map((id) => ({
    from: '447400160001',
    id,
    timestamp: '1700000000',
    type: 'text',
    text: { body: id },
  }))
  const value = { metadata: { display_phone_number: number.slice(1) }, messages }
  return JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: '1', changes: [{ field: 'messages', value }] }],
  })
}

const tell = async (connection: string, body: string, key = secret): Promise<number> => {
  const signature = `sha256=${createHmac('sha256', key).update(body).digest('hex')}`
  const answer = await world.app.inject({
    method: 'POST',
    url: `/callbacks/msgapp/${connection}`,
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': signature },
    payload: body,
  })
  return answer.statusCode
}

const storedMessages = async (tenant: Tenant, number: string): Promise<string[]> => {
  const { body } = await world.call(tenant, 'GET', `/open/msgapp/messages/${number}?results_per_page=100`)
  return body.messages.map((one: { wa_msg_id: string }) => one.wa_msg_id)
}

test('a process that does not run the connection stores inbound events, and each once', async () => {
  const ids = Array.from({ length: 40 }, (_, i) => `wamid.${i}`)
  const body = notice(hers, ids)
  const statuses = await Promise.all(Array.from({ length: 8 }, () => tell(connections.hers, body)))
  assert.deepEqual(new Set(statuses), new Set([200]))
  assert.deepEqual((await storedMessages(ada, hers)).toReversed(), ids)
})

test('an inbound event is not accepted for a number of another connection, whatever its signature', async () => {
  assert.equal(await tell(connections.his, notice(hers, ['wamid.strange']), 'another secret'), 200)
  assert.equal(await tell(connections.his, notice(his, ['wamid.strange'])), 401)
  assert.equal((await storedMessages(ada, hers)).includes('wamid.strange'), false)
  assert.deepEqual(await storedMessages(bob, his), [])
})

test('an inbound event that cannot be stored now is not acknowledged, so that it is redelivered', async () => {
  const body = notice(his, ['wamid.later'])
  await world.db.run`alter table msgapp_messages rename to msgapp_messages_away`
  const status = await tell(connections.his, body, 'another secret')
  await world.db.run`alter table msgapp_messages_away rename to msgapp_messages`
  assert.ok(status >= 500, `answered ${status}`)
  assert.equal(await tell(connections.his, body, 'another secret'), 200)
  assert.deepEqual(await storedMessages(bob, his), ['wamid.later'])
})

test('an event that no database can store becomes one dead letter, and the others are stored', async () => {
  const body = notice(hers, ['wamid.first', 'wamid.\0', 'wamid.last'])
  for (const _ of [1, 2]) assert.equal(await tell(connections.hers, body), 200)
  assert.deepEqual((await storedMessages(ada, hers)).toReversed().slice(-2), ['wamid.first', 'wamid.last'])
  const deadLetters = await world.db.many<{
    reason: string
    content: string
  }>`select reason, content from msgapp_dead_letters`
  assert.deepEqual(
    deadLetters.map(({ reason, content }) => [reason.slice(0, 5), JSON.parse(content)[0].id]),
    [['22021', 'wamid.\0']],
  )
})

test('a callback is rejected if it is too long, or its connection is disabled, missing or of another kind', async () => {
  assert.equal(await tell(connections.hers, 'x'.repeat(4 * 1024 * 1024 + 1)), 413)
  const path = `/operator/connections/${connections.his}`
  assert.equal((await world.call('operator', 'PATCH', path, { enabled: false })).status, 200)
  const body = notice(his, ['wamid.off'])
  assert.equal(await tell(connections.his, body, 'another secret'), 401)
  const settings = { host: '127.0.0.1', port: 1, token: 'a token' }
  const created = await world.call('operator', 'POST', '/operator/connections', {
    kind: 'sandbox',
    name: 'x',
    settings,
  })
  for (const other of [created.body.connection.uuid, 'CNX01a1fcca-93ab-7cbc-9f10-be702f775479', 'nonsense'])
    assert.equal(await tell(other, body), 401, other)
})
