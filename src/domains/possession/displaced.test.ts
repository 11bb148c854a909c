import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startChat } from '../../../test/chat-fixture.ts'
import { until } from '../../../test/platform.ts'
import type { Tenant } from '../../../test/world.ts'
import { transition } from '../msgapp/channels/channel-status.ts'

// Two accounts want one number: docs/operating/numbers.md.

const chat = await startChat()
await chat.runConnections()
const { call, db, statusEvents, tenant } = chat

let serial = 0
const newNumber = () => `+447700${String(930_000 + ++serial)}`
/** A connection that no process runs. */
const connection = async (kind: string, settings: object): Promise<string> => {
  const body = { kind, name: `${kind} ${++serial}`, settings, enabled: false, shared: true }
  const answer = await call('operator', 'POST', '/operator/connections', body)
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.connection.uuid
}
const web = await connection('whatsapp-web', { accept_notice: true })
const xmpp = await connection('xmpp', {
  ...{ mode: 'component', host: '127.0.0.1', port: 9, domain: 'example.net' },
  ...{ component: 'numbers.example.net', secret: 'x' },
})
const networks = { web, xmpp, sandbox: `CNX${chat.connection}` }

const claim = (who: Tenant, phone_number: string, on: string) =>
  call(who, 'POST', '/open/msgapp/channel/create', { phone_number, connection: on })
const claimed = async (who: Tenant, number: string, on: string): Promise<string> => {
  const { status, body } = await claim(who, number, on)
  assert.equal(status, 201, JSON.stringify(body))
  return body.channel.uuid
}
const refused = async (who: Tenant, number: string, on: string) => {
  const { status, body } = await claim(who, number, on)
  assert.deepEqual([status, body.error_code], [403, 'phone_number_exists'], JSON.stringify(body))
  assert.match(body.error_message, /phone number already exists/)
}
const grant = (who: Tenant, phone_number: string) =>
  call('operator', 'POST', `/operator/accounts/${who.uuid}/number-grants`, { phone_number })
const statusOf = async (who: Tenant, channel: string) =>
  (await call(who, 'GET', `/open/msgapp/channel/${channel}/status`)).status
const lastReason = async (channel: string) => (await statusEvents(channel)).at(-1)?.reason
const history = async (channel: string): Promise<string | undefined> =>
  (
    await db.maybe<{ detail: string }>`
      select detail from msgapp_link_events where channel_id = ${channel.slice(3)} order by id desc limit 1`
  )?.detail
/** Writes the result of a login as the running process does once the network has accepted the channel. */
const connected = (channel: string, proof: 'pairing' | 'none') =>
  db.begin((tx) =>
    transition(tx, null, null, [{ channel: channel.slice(3), phase: 'connected', reason: 'test', proof }]),
  )

const advance = async (seconds: number) => {
  const moved = await call(await tenant(), 'POST', '/sandbox/clock', { advance_seconds: seconds })
  assert.equal(moved.status, 202, JSON.stringify(moved.body))
}

for (const held of ['web', 'sandbox'] as const)
  for (const network of ['web', 'xmpp', 'sandbox'] as const)
    test(`a claim without proof on ${held} gives way to the possessor on ${network}, with an event and a line of history`, async () => {
      const [squatter, owner] = [await tenant(), await tenant()]
      const number = newNumber()
      const channel = await claimed(squatter, number, networks[held])
      if (held === 'sandbox') await chat.waitForStatus(squatter, channel, 'C')
      // The last event of the holder is published from any state.
      else await call(squatter, 'POST', `/open/msgapp/channel/${channel}/disconnect`)
      await grant(owner, number)
      await claimed(owner, number, networks[network])
      assert.equal(await statusOf(squatter, channel), 404)
      const reason = 'another account proved possession of the number'
      assert.deepEqual([await lastReason(channel), await history(channel)], [reason, reason])
      await refused(squatter, number, networks[held])
    })

test('an account that possesses nothing takes no channel of another one', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  for (const on of [networks.web, networks.sandbox]) {
    const number = newNumber()
    const channel = await claimed(ada, number, on)
    for (const other of [networks.web, networks.sandbox]) await refused(bob, number, other)
    assert.equal(await statusOf(ada, channel), 200)
  }
})

test('a holder that possesses the number keeps its channel', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const [paired, granted] = [newNumber(), newNumber()]
  const channels = [await claimed(ada, paired, networks.web)]
  await connected(channels[0] ?? '', 'pairing')
  await grant(ada, granted)
  channels.push(await claimed(ada, granted, networks.xmpp))
  for (const number of [paired, granted]) {
    await grant(bob, number)
    for (const on of Object.values(networks)) await refused(bob, number, on)
  }
  for (const channel of channels) assert.equal(await statusOf(ada, channel), 200)
})

test('concurrent possessors of a number get one channel of it', async () => {
  const [squatter, ada, bob] = [await tenant(), await tenant(), await tenant()]
  const number = newNumber()
  await claimed(squatter, number, networks.web)
  for (const who of [ada, bob]) await grant(who, number)
  const answers = await Promise.all([ada, bob, ada, bob].map((who) => claim(who, number, networks.xmpp)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 403, 403, 403])
})

test('the messages of a displaced channel stay readable for its account alone', async () => {
  const [squatter, owner] = [await tenant(), await tenant()]
  const [number, peer] = [newNumber(), newNumber()]
  const channel = await claimed(squatter, number, networks.sandbox)
  await chat.waitForStatus(squatter, channel, 'C')
  const sent = await call(squatter, 'POST', '/open/msgapp/send-message', {
    ...{ from_number: number, to_number: peer, text: 'Hello' },
  })
  assert.equal(sent.status, 202)
  await grant(owner, number)
  await claimed(owner, number, networks.sandbox)
  const key = encodeURIComponent(`WW-${channel}-${peer.slice(1)}@c.us`)
  const url = `/open/msgapp/message/${key}/${sent.body.message_uuid}`
  const [his, hers] = [await call(squatter, 'GET', url), await call(owner, 'GET', url)]
  assert.deepEqual([his.status, hers.status], [200, 404])
  assert.match(JSON.stringify(his.body), /Hello/)
})

test('a number of WhatsApp Web that was never paired is free again after 24 hours; connected ones and other networks stay', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const numbers = [newNumber(), newNumber(), newNumber(), newNumber(), newNumber()] as const
  const [never, once, paired, simulated, granted] = numbers
  await grant(ada, granted)
  const free = await claimed(ada, never, networks.web)
  const stays = [
    await claimed(ada, once, networks.web),
    await claimed(ada, paired, networks.web),
    await claimed(ada, simulated, networks.sandbox),
    await claimed(ada, granted, networks.xmpp),
  ]
  await connected(stays[0] ?? '', 'none')
  await connected(stays[1] ?? '', 'pairing')
  await advance(23.5 * 3_600)
  await refused(bob, never, networks.web)
  await advance(3_600)
  await until(async () => (await statusOf(ada, free)) === 404)
  assert.match(String(await lastReason(free)), /not paired within 24 hours/)
  assert.match(String(await history(free)), /not paired within 24 hours/)
  for (const channel of stays) assert.equal(await statusOf(ada, channel), 200)
  await claimed(bob, never, networks.web)
})
