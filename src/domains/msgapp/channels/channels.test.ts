import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startChat } from '../../../../test/chat-fixture.ts'
import { until } from '../../../../test/platform.ts'

const chat = await startChat()
await chat.runConnections()
const { call, channel, control, waitForStatus, statusOf, statusEvents } = chat

test('a number connects by itself, and each status change is published with its reason and the age of the last ping', async () => {
  const ada = await chat.tenant()
  const uuid = await channel(ada, '+447700910018')
  await waitForStatus(ada, uuid, 'C')
  const url = `/open/msgapp/channel/${uuid}`
  const stopped = await call(ada, 'POST', `${url}/disconnect`)
  assert.deepEqual([stopped.body.channel.connection_status, stopped.body.channel.enabled], ['D', false])
  await call(ada, 'POST', `${url}/connect`)
  const status = await waitForStatus(ada, uuid, 'C')
  assert.deepEqual(
    status.events.map(({ event }: { event: string }) => event),
    ['ready', 'initializing', 'disconnected', 'ready', 'initializing'],
  )
  const events = await statusEvents(uuid)
  assert.deepEqual(
    events.map(({ connection_status }) => connection_status),
    ['C', 'D', 'D', 'C'],
  )
  assert.ok(events.every(({ reason }) => reason.length > 5))
  assert.ok(events.every(({ proof }) => proof !== null && proof < 10))
})

test('numbers are listed by status', async () => {
  const ada = await chat.tenant()
  const [one, two] = [await channel(ada, '+447700910028'), await channel(ada, '+447700910038')]
  await waitForStatus(ada, one, 'C')
  await waitForStatus(ada, two, 'C')
  await call(ada, 'POST', `/open/msgapp/channel/${two}/disconnect`)
  const list = async (status: string) =>
    (await call(ada, 'GET', `/open/msgapp/get-numbers?status=${status}`)).body.numbers.map(
      ({ uuid }: { uuid: string }) => uuid,
    )
  assert.deepEqual([await list('connected'), await list('disconnected'), await list('all')], [[one], [two], [two, one]])
})

test('pairing shows a code, and the number is connected once a phone has scanned it', async () => {
  const ada = await chat.tenant()
  const number = '+447700910048'
  await call(ada, 'PUT', `/sandbox/handsets/${number}`, { pairing: true })
  const uuid = await channel(ada, number)
  const qr = await until(async () => {
    const { status, body } = await call(ada, 'GET', `/open/msgapp/channel/${uuid}/qr-code`)
    return status === 200 && body
  })
  assert.match(qr.qr_code, /^sandbox:/)
  assert.equal((await statusOf(ada, uuid)).events[0].event, 'qr-received')
  assert.equal((await call(ada, 'POST', `/sandbox/channels/${uuid}/pair`)).status, 202)
  const status = await waitForStatus(ada, uuid, 'C')
  assert.equal(status.qr_code, undefined)
})

test('a number is on the messaging app once, and free again when its channel is deleted', async () => {
  const [ada, bob] = [await chat.tenant(), await chat.tenant()]
  const number = '+447700910058'
  const uuid = await channel(ada, number)
  const twice = await call(bob, 'POST', '/open/msgapp/channel/create', { phone_number: number })
  assert.equal(twice.status, 403)
  assert.match(twice.body.error_message, /phone number already exists/)
  await call(ada, 'DELETE', `/open/msgapp/channel/${uuid}`)
  assert.equal((await call(ada, 'GET', `/open/msgapp/channel/${uuid}`)).status, 404)
  const his = await channel(bob, number)
  await waitForStatus(bob, his, 'C')
})

test('when a number is bought or released, its previous holder loses the channel and is notified', async () => {
  const [ada, bob] = [await chat.tenant(), await chat.tenant()]
  const number = '+447700910098'
  await chat.db.run`insert into number_countries values ('GB', 'United Kingdom', '44') on conflict do nothing`
  await chat.db.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
      allow_number_selection, is_eligible_for_free_number, supplier)
    values ('hands', 'GB', 'mobile', '7700', 'Mobile', 'mobile', 1, 1, 0, true, false, 'test')`
  await chat.db.run`insert into numbers (number, group_id, shuffle) values (${number}, 'hands', 1)`
  await chat.db.run`insert into number_stock (group_id, free) values ('hands', 1)`
  const hers = await channel(ada, number)
  await waitForStatus(ada, hers, 'C')
  const bought = await call(bob, 'POST', '/open/numbers/purchase', { number, group_id: 'hands' })
  assert.equal(bought.status, 201, JSON.stringify(bought.body))
  assert.equal((await call(ada, 'GET', `/open/msgapp/channel/${hers}`)).status, 404)
  assert.deepEqual((await statusEvents(hers)).map((one) => [one.connection_status, one.reason]).at(-1), [
    'D',
    'another account bought the number',
  ])
  const his = await channel(bob, number)
  await waitForStatus(bob, his, 'C')
  const [{ uuid }] = bought.body.data.numbers
  assert.equal((await call(bob, 'DELETE', `/open/voip/virtual-numbers/${uuid}`)).status, 200)
  assert.equal((await call(bob, 'GET', `/open/msgapp/channel/${his}`)).status, 404)
  assert.equal((await statusEvents(his)).at(-1)?.reason, 'the number was released')
})

test('a lost connection is restored automatically, and both changes are published', async () => {
  const ada = await chat.tenant()
  const uuid = await channel(ada, '+447700910068')
  await waitForStatus(ada, uuid, 'C')
  const before = await statusEvents(uuid)
  await control('POST', '/chat/faults', { kind: 'refuse' })
  await control('POST', '/chat/faults', { kind: 'disconnect' })
  const down = await waitForStatus(ada, uuid, 'D')
  assert.match(down.reason, /closed|refused|login/)
  await until(async () => {
    const { body } = await call('operator', 'GET', `/operator/connections/CNX${chat.connection}`)
    const { state, last_error } = body.connection.state
    return state === 'down' && /login/.test(last_error)
  })
  await control('DELETE', '/chat/faults')
  await waitForStatus(ada, uuid, 'C')
  const after = (await statusEvents(uuid)).slice(before.length)
  assert.deepEqual(
    after.map(({ connection_status }) => connection_status),
    ['D', 'C'],
  )
})

test('a network that stops responding with its socket open is detected within 15 s, and so is its recovery', async () => {
  const ada = await chat.tenant()
  const uuid = await channel(ada, '+447700910078')
  await waitForStatus(ada, uuid, 'C')
  process.kill(chat.carrier.pid, 'SIGSTOP')
  const frozen = performance.now()
  try {
    const down = await waitForStatus(ada, uuid, 'D', 20)
    assert.ok(performance.now() - frozen < 15_000, `it took ${performance.now() - frozen} ms`)
    assert.ok(down.proof_age_seconds >= 5, `proof_age_seconds is ${down.proof_age_seconds} s`)
    await until(async () => (await statusEvents(uuid)).at(-1)?.connection_status === 'D')
    assert.match((await statusOf(ada, uuid)).reason, /network does not answer/)
  } finally {
    process.kill(chat.carrier.pid, 'SIGCONT')
  }
  await waitForStatus(ada, uuid, 'C')
  assert.equal((await statusEvents(uuid)).at(-1)?.connection_status, 'C')
})

test('a new channel has the main time zone of its country where its digits leave several', async () => {
  await chat.db.run`
    insert into number_countries (iso_country_code, name, prefix, timezone)
    values ('GB', 'United Kingdom', '44', 'Europe/London')
    on conflict (iso_country_code) do update set timezone = excluded.timezone`
  const ada = await chat.tenant()
  const uuid = await channel(ada, '+447700910998')
  const { timezone } = await chat.db.one<{ timezone: string }>`
    select timezone from msgapp_channels where account_id = ${ada.id} and id = ${uuid.slice(3)}`
  assert.equal(timezone, 'Europe/London')
})
