import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../test/platform.ts'
import type { Tenant } from '../../../test/world.ts'
import { callerIdOf } from '../callers/ops.ts'
import { transition } from '../msgapp/channels/channel-status.ts'
import { giveNumber, makeSmsWorld, startSmsc } from '../sms/sms-testing.ts'

const world = await makeSmsWorld()
const smsc = await startSmsc()
const { call, tenant, connect, db } = world
after(async () => {
  await world.stop()
  smsc.close()
})
await connect('only', smsc)

const client = { mode: 'client', host: '127.0.0.1', port: 9, domain: 'example.net', password: 'x' }
const component = { ...client, mode: 'component', component: 'numbers.example.net', secret: 'x' }
const cloud = { business_account_id: '1', access_token: 't', app_secret: 's', verify_token: 'v' }
const web = { accept_notice: true }

let serial = 0
/** A connection that no process runs. */
const connection = async (kind: string, settings: object, access: object): Promise<string> => {
  const body = { kind, name: `${kind} ${++serial}`, settings, enabled: false, ...access }
  const answer = await call('operator', 'POST', '/operator/connections', body)
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.connection.uuid
}
const newNumber = () => `+447911${String(300_000 + ++serial)}`
const claim = (who: Tenant, phone_number: string, on: string) =>
  call(who, 'POST', '/open/msgapp/channel/create', { phone_number, connection: on })
const claimed = async (who: Tenant, phone_number: string, on: string): Promise<string> => {
  const answer = await claim(who, phone_number, on)
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.channel.uuid
}
const refused = async (who: Tenant, phone_number: string, on: string) => {
  const { status, body } = await claim(who, phone_number, on)
  assert.deepEqual([status, body.error_code], [403, 'number_unproved'], JSON.stringify(body))
  return String(body.error_message)
}
const grants = (who: Tenant, number = '') =>
  `/operator/accounts/${who.uuid}/number-grants${number === '' ? '' : `/${encodeURIComponent(number)}`}`
const grant = async (who: Tenant, phone_number: string) => {
  const answer = await call('operator', 'POST', grants(who), { phone_number, note: 'contract' })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
}
const callerIds = async (
  who: Tenant,
): Promise<{ type: string; phone_number: string; verified: boolean; uuid: string }[]> =>
  (await call(who, 'GET', '/open/voip/caller-ids')).body.caller_ids
const isVerified = async (who: Tenant, number: string, type: string): Promise<boolean | undefined> =>
  (await callerIds(who)).find((one) => one.phone_number === number && one.type === type)?.verified
const isPresented = async (who: Tenant, number: string): Promise<boolean> =>
  (await callerIdOf(db, who.id, number, 'GB')) !== null

/** Proves a number by the code that it receives. @returns the caller ID */
const prove = async (who: Tenant, phone_number: string): Promise<string> => {
  const before = smsc.submits.length
  const { status, body } = await call(who, 'POST', '/open/voip/caller-ids', { phone_number })
  assert.equal(status, 201, JSON.stringify(body))
  const sent = await until(async () =>
    smsc.submits.slice(before).find(({ destination }) => destination === phone_number),
  )
  const url = `/open/voip/caller-ids/${body.caller_id.uuid}/verify`
  assert.equal((await call(who, 'POST', url, { code: sent.text.slice(0, 6) })).status, 200)
  return body.caller_id.uuid
}

/** Writes the result of a login as the running process does once the network has accepted the channel. */
const connected = (channel: string, proof: 'pairing' | 'listing' | 'none' | 'simulated') =>
  db.begin((tx) =>
    transition(tx, null, null, [{ channel: channel.slice(3), phase: 'connected', reason: 'test', proof }]),
  )

/** Puts a number on sale, and lets a tenant buy it. @returns its uuid */
const buy = async (who: Tenant, number: string): Promise<string> => {
  await db.run`insert into number_countries values ('GB', 'United Kingdom', '44') on conflict do nothing`
  await db.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
      allow_number_selection, is_eligible_for_free_number, supplier)
    values ('proofs', 'GB', 'mobile', '7911', 'Mobile', 'mobile', 1, 1, 0, true, false, 'test') on conflict do nothing`
  await db.run`insert into numbers (number, group_id, shuffle) values (${number}, 'proofs', 1)`
  await db.run`
    insert into number_stock (group_id, free) values ('proofs', 1) on conflict (group_id) do update set free = number_stock.free + 1`
  const { status, body } = await call(who, 'POST', '/open/numbers/purchase', { number, group_id: 'proofs' })
  assert.equal(status, 201, JSON.stringify(body))
  return body.data.numbers[0].uuid
}

for (const [mode, settings] of Object.entries({ client, component }))
  test(`a number becomes a channel over XMPP in ${mode} mode only after its possession was proved`, async () => {
    const who = await tenant()
    const { number: own } = await giveNumber(world, who)
    const on = await connection('xmpp', settings, { account_uuids: [who.uuid] })
    const [byCode, byGrant] = [newNumber(), newNumber()]
    const why = await refused(who, byCode, on)
    for (const way of ['buy', '/open/voip/caller-ids', 'operator']) assert.ok(why.includes(way), why)
    await refused(who, byGrant, on)
    await prove(who, byCode)
    await grant(who, byGrant)
    for (const number of [own, byCode, byGrant]) await claimed(who, number, on)
    const stranger = newNumber()
    await refused(who, stranger, on)
    assert.equal(await isVerified(who, stranger, 'WW'), undefined, 'a refused claim leaves no caller ID')
  })

test('a login to a network that proves nothing verifies no caller ID', async () => {
  const who = await tenant()
  const on = await connection('whatsapp-web', web, { account_uuids: [who.uuid] })
  for (const proof of ['none', 'simulated'] as const) {
    const number = newNumber()
    await connected(await claimed(who, number, on), proof)
    assert.deepEqual([await isVerified(who, number, 'WW'), await isPresented(who, number)], [false, false])
  }
  assert.equal(await callerIdOf(db, who.id, null, 'GB'), null, 'no unverified caller ID is chosen for a call')
})

test('a paired number is a verified caller ID until its channel is deleted', async () => {
  const who = await tenant()
  const on = await connection('whatsapp-web', web, { account_uuids: [who.uuid] })
  const number = newNumber()
  const channel = await claimed(who, number, on)
  assert.deepEqual([await isVerified(who, number, 'WW'), await isPresented(who, number)], [false, false])
  await connected(channel, 'pairing')
  assert.deepEqual([await isVerified(who, number, 'WW'), await isPresented(who, number)], [true, true])
  await call(who, 'DELETE', `/open/msgapp/channel/${channel}`)
  assert.equal(await isPresented(who, number), false)
  await claimed(who, number, on)
  assert.equal(await isVerified(who, number, 'WW'), false, 'the next channel must be paired itself')
})

test('a business account’s number list proves its numbers only for the assigned account', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const hers = await connection('whatsapp-cloud', cloud, { account_uuids: [ada.uuid] })
  const number = newNumber()
  assert.equal((await claim(bob, number, hers)).status, 404)
  const channel = await claimed(ada, number, hers)
  assert.equal(await isVerified(ada, number, 'WW'), false)
  await connected(channel, 'listing')
  assert.deepEqual([await isVerified(ada, number, 'WW'), await isPresented(ada, number)], [true, true])
})

for (const access of ['shared', 'account_uuids'])
  test(`a number of a business account that several accounts use by ${access} needs a grant`, async () => {
    const [ada, bob] = [await tenant(), await tenant()]
    const both = access === 'shared' ? { shared: true } : { account_uuids: [ada.uuid, bob.uuid] }
    const on = await connection('whatsapp-cloud', cloud, both)
    const number = newNumber()
    await refused(bob, number, on)
    await grant(ada, number)
    await refused(bob, number, on)
    await connected(await claimed(ada, number, on), 'listing')
    assert.equal(await isVerified(ada, number, 'WW'), true)
    await call('operator', 'DELETE', grants(ada, number))
    assert.equal(await isPresented(ada, number), false, 'the list proved nothing besides the grant')
  })

test('a connection of another account is answered as a missing one', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const hers = await connection('whatsapp-web', web, { account_uuids: [ada.uuid] })
  const { name } = (await call('operator', 'GET', `/operator/connections/${hers}`)).body.connection
  const missing = `CNX${crypto.randomUUID()}`
  const answerTo = async (on: string) => {
    const { status, body } = await claim(bob, newNumber(), on)
    const { request_id: _, ...rest } = body
    return JSON.stringify([status, rest]).replace(on, 'X')
  }
  const nothing = await answerTo(missing)
  assert.match(nothing, /404/)
  assert.deepEqual([await answerTo(hers), await answerTo(name)], [nothing, nothing])
  const { status } = await call(bob, 'POST', '/open/msgapp/channel/create', { phone_number: newNumber() })
  assert.equal(status, 404, 'a foreign connection is not the default')
  await claimed(ada, newNumber(), name)
  const patched = await call('operator', 'PATCH', `/operator/connections/${hers}`, {
    account_uuids: [ada.uuid, bob.uuid],
  })
  assert.deepEqual(patched.body.connection.account_uuids.sort(), [ada.uuid, bob.uuid].sort())
  await claimed(bob, newNumber(), hers)
})

test('access to a connection is not withdrawn while the account has channels there', async () => {
  const ada = await tenant()
  const on = await connection('whatsapp-web', web, { shared: true })
  const channel = await claimed(ada, newNumber(), on)
  const change = async (body: object) => {
    const answer = await call('operator', 'PATCH', `/operator/connections/${on}`, body)
    return answer.body.error_code ?? [answer.body.connection.shared, answer.body.connection.account_uuids]
  }
  assert.equal(await change({ shared: false }), 'channels_open')
  assert.deepEqual(await change({ shared: false, account_uuids: [ada.uuid] }), [false, [ada.uuid]])
  assert.equal(await change({ account_uuids: [] }), 'channels_open')
  await call(ada, 'DELETE', `/open/msgapp/channel/${channel}`)
  assert.deepEqual(await change({ account_uuids: [] }), [false, []])
  assert.equal((await claim(ada, newNumber(), on)).status, 404)
})

test('access lists are only for messaging networks: a carrier cannot be assigned', async () => {
  const settings = { host: '127.0.0.1', port: 9, system_id: 'x', password: 'x' }
  for (const access of [{ shared: true }, { account_uuids: [] }]) {
    const body = { kind: 'smpp', name: `carrier ${++serial}`, settings, enabled: false, ...access }
    const { status, body: answer } = await call('operator', 'POST', '/operator/connections', body)
    assert.equal(status, 400, JSON.stringify(answer))
  }
})

test('a withdrawn grant ends the channel and the caller ID that it proved', async () => {
  const who = await tenant()
  const on = await connection('xmpp', component, { shared: true })
  const number = newNumber()
  await grant(who, number)
  const channel = await claimed(who, number, on)
  assert.deepEqual([await isVerified(who, number, 'WW'), await isPresented(who, number)], [true, true])
  assert.partialDeepStrictEqual((await call('operator', 'GET', grants(who))).body.grants, [
    { account_uuid: who.uuid, phone_number: number, note: 'contract' },
  ])
  assert.equal((await call('operator', 'DELETE', grants(who, number))).status, 200)
  assert.equal((await call('operator', 'DELETE', grants(who, number))).status, 404)
  assert.equal((await call(who, 'GET', `/open/msgapp/channel/${channel}`)).status, 404)
  assert.deepEqual([await isVerified(who, number, 'WW'), await isPresented(who, number)], [undefined, false])
})

test('a caller ID that is a channel’s only proof is deleted after the channel', async () => {
  const who = await tenant()
  await giveNumber(world, who)
  const on = await connection('xmpp', component, { shared: true })
  const number = newNumber()
  const callerId = await prove(who, number)
  const channel = await claimed(who, number, on)
  const remove = async () => (await call(who, 'DELETE', `/open/voip/caller-ids/${callerId}`)).body.error_code
  assert.equal(await remove(), 'channel_needs_proof')
  await call(who, 'DELETE', `/open/msgapp/channel/${channel}`)
  assert.equal(await remove(), undefined)
  await refused(who, number, on)
})

test('a number that another account buys ends the codes, proofs and grants of others, and a release ends all of them', async () => {
  const [ada, bob, cleo] = [await tenant(), await tenant(), await tenant()]
  await giveNumber(world, ada)
  await giveNumber(world, cleo)
  const number = newNumber()
  await prove(ada, number)
  await grant(ada, number)
  const before = smsc.submits.length
  const { caller_id } = (await call(cleo, 'POST', '/open/voip/caller-ids', { phone_number: number })).body
  const { text } = await until(async () => smsc.submits[before])
  const uuid = await buy(bob, number)
  assert.deepEqual([await isVerified(ada, number, 'CI'), await isPresented(ada, number)], [false, false])
  assert.deepEqual((await call('operator', 'GET', grants(ada))).body.grants, [])
  const late = await call(cleo, 'POST', `/open/voip/caller-ids/${caller_id.uuid}/verify`, { code: text.slice(0, 6) })
  assert.equal(late.body.error_code, 'code_expired')
  const taken = await call('operator', 'POST', grants(ada), { phone_number: number })
  assert.deepEqual([taken.status, taken.body.error_code], [409, 'number_owned'])
  assert.equal(await isPresented(bob, number), true)
  await grant(bob, number)
  await call(bob, 'DELETE', `/open/voip/virtual-numbers/${uuid}`)
  assert.equal(await isPresented(bob, number), false)
  assert.deepEqual((await call('operator', 'GET', grants(bob))).body.grants, [])
})

test('a suspended number is not presented through another caller ID of the same number', async () => {
  const who = await tenant()
  const on = await connection('xmpp', component, { shared: true })
  const number = newNumber()
  const uuid = await buy(who, number)
  await claimed(who, number, on)
  assert.equal(await isPresented(who, number), true)
  await call('operator', 'POST', `/operator/numbers/${uuid}/suspend`, { reason: 'fraud' })
  assert.equal(await isPresented(who, number), false)
})
