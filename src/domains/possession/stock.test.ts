import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { callerIdOf } from '../callers/ops.ts'
import { giveNumber, makeSmsWorld, startSmsc } from '../sms/sms-testing.ts'

// The sandbox sells numbers of the real numbering plan that the platform does not own.

const key = randomBytes(32)
const world = await makeSmsWorld({ key })
const smsc = await startSmsc()
const { call, tenant, connect, db } = world
after(async () => {
  await world.stop()
  smsc.close()
})
await connect('real', smsc)

await db.run`insert into number_countries values ('GB', 'United Kingdom', '44') on conflict do nothing`
for (const supplier of ['sandbox', 'own'])
  await db.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
      allow_number_selection, is_eligible_for_free_number, supplier)
    values (${supplier}, 'GB', 'mobile', '7911', 'Mobile', 'mobile', 1, 1, 0, true, false, ${supplier})`

let serial = 0
/** A number on sale in a group. */
const stock = async (group: 'sandbox' | 'own'): Promise<string> => {
  const number = `+447911${String(500_000 + ++serial)}`
  await db.run`insert into numbers (number, group_id, shuffle) values (${number}, ${group}, ${serial})`
  await db.run`
    insert into number_stock (group_id, free) values (${group}, 1)
    on conflict (group_id) do update set free = number_stock.free + 1`
  return number
}
const buy = (who: Tenant, body: object) => call(who, 'POST', '/open/numbers/purchase', body)
const bought = async (who: Tenant, group: 'sandbox' | 'own' = 'sandbox'): Promise<string> => {
  const number = await stock(group)
  const { status, body } = await buy(who, { number })
  assert.equal(status, 201, JSON.stringify(body))
  return number
}
const mark = async (who: Tenant, sandbox: boolean) => {
  assert.equal((await call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { sandbox })).status, 200)
}
const realTenant = async (): Promise<Tenant> => {
  const who = await tenant()
  await mark(who, false)
  return who
}
const component = { mode: 'component', host: '127.0.0.1', port: 9, domain: 'example.net', component: 'n.example.net' }
const claim = async (who: Tenant, phone_number: string) => {
  const network = { kind: 'xmpp', name: `xmpp ${++serial}`, settings: { ...component, secret: 'x' } }
  const answer = await call('operator', 'POST', '/operator/connections', { ...network, enabled: false, shared: true })
  const connection = answer.body.connection.uuid
  return await call(who, 'POST', '/open/msgapp/channel/create', { phone_number, connection })
}
const shows = (who: Tenant, number: string, isSandbox: boolean) =>
  callerIdOf(db, who.id, number, 'GB', { simulated: false, isSandbox })
const verified = async (who: Tenant, number: string): Promise<boolean | undefined> => {
  const { caller_ids } = (await call(who, 'GET', '/open/voip/caller-ids')).body
  return caller_ids.find((one: { phone_number: string }) => one.phone_number === number)?.verified
}

test('an account without the sandbox mark sees no sandbox numbers, and buys none', async () => {
  const [ada, real] = [await tenant(), await realTenant()]
  const number = await stock('sandbox')
  const seen = async (who: Tenant) => {
    const [groups, available, requirements] = await Promise.all([
      call(who, 'GET', '/open/numbers/groups?country=GB'),
      call(who, 'GET', '/open/numbers/available?group_id=sandbox'),
      call(who, 'POST', '/open/numbers/requirements/check', { group_id: 'sandbox' }),
    ])
    return [
      groups.body.data.groups.some(({ id }: { id: string }) => id === 'sandbox'),
      available.status,
      requirements.status,
    ]
  }
  assert.deepEqual(await seen(ada), [true, 200, 200])
  assert.deepEqual(await seen(real), [false, 404, 404])
  const reserve = (body: object) => call(real, 'POST', '/open/numbers/reservations', body)
  assert.equal((await reserve({ group_id: 'sandbox', number })).status, 404)
  assert.equal((await reserve({ group_id: 'sandbox' })).status, 404)
  assert.equal((await buy(real, { group_id: 'sandbox' })).status, 404)
  const refused = await buy(real, { number })
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'number_unavailable'])
  await bought(real, 'own')
  assert.equal((await buy(ada, { number })).status, 201)
})

test('a number reserved in the sandbox is not sold after the account loses its mark', async () => {
  const who = await tenant()
  const number = await stock('sandbox')
  const held = await call(who, 'POST', '/open/numbers/reservations', { group_id: 'sandbox', number })
  assert.equal(held.status, 201, JSON.stringify(held.body))
  await mark(who, false)
  for (const body of [{ number }, {}]) {
    const { status, body: said } = await buy(who, body)
    assert.deepEqual([status, said.error_code], [409, 'number_unavailable'])
  }
  await mark(who, true)
  // Processes learn of a mark within half a second.
  await until(async () => (await buy(who, {})).status === 201)
})

test('only sandbox accounts possess a number that the sandbox sold', async () => {
  const who = await tenant()
  const number = await bought(who)
  const sent = () => call(who, 'POST', '/open/sms/send', { from_number: number, to_number: '+447911123456', text: 'x' })
  assert.deepEqual([await verified(who, number), (await sent()).status], [true, 202])
  assert.equal((await shows(who, number, true))?.number, number)

  await mark(who, false)
  assert.equal(await verified(who, number), false)
  const refused = await sent()
  assert.deepEqual([refused.status, refused.body.error_code], [403, 'sandbox_number'])
  const claimed = await claim(who, number)
  assert.deepEqual([claimed.status, claimed.body.error_code], [403, 'number_unproved'])
  assert.equal(await shows(who, number, false), null)
  const path = '/open/voip/caller-ids'
  const code = await call(who, 'POST', path, { phone_number: '+447911400009' })
  assert.deepEqual([code.status, code.body.error_code], [409, 'no_sms_number'], 'no code is sent from it')

  const grant = { phone_number: number }
  assert.equal((await call('operator', 'POST', `/operator/accounts/${who.uuid}/number-grants`, grant)).status, 201)
  assert.equal((await shows(who, number, false))?.number, number, 'another proof counts in addition')
  assert.equal((await claim(who, number)).status, 201)
})

test('a number of the operator’s own inventory needs no mark', async () => {
  const who = await realTenant()
  const number = await bought(who, 'own')
  assert.deepEqual([await verified(who, number), (await shows(who, number, false))?.number], [true, number])
  assert.equal((await claim(who, number)).status, 201)
})

test('the sandbox does not sell a number in use, and the operator may grant a number that it sold', async () => {
  const [ada, real] = [await tenant(), await realTenant()]
  const number = await stock('sandbox')
  const grant = (who: Tenant) =>
    call('operator', 'POST', `/operator/accounts/${who.uuid}/number-grants`, { phone_number: number })
  assert.equal((await grant(real)).status, 201)
  const refused = await buy(ada, { number })
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'number_unavailable'])
  assert.equal(await verified(real, number), undefined)
  assert.equal((await claim(real, number)).status, 201, 'the grant is unchanged')

  const sold = await bought(ada)
  const late = await call('operator', 'POST', `/operator/accounts/${real.uuid}/number-grants`, { phone_number: sold })
  assert.equal(late.status, 201, 'the operator’s grant overrides the sandbox’s sale')
})

test('buying or releasing a sandbox number ends neither proofs nor channels of others', async () => {
  const [ada, real] = [await tenant(), await realTenant()]
  const sold = await bought(ada)
  const grant = { phone_number: sold }
  assert.equal((await call('operator', 'POST', `/operator/accounts/${real.uuid}/number-grants`, grant)).status, 201)
  const claimed = await claim(real, sold)
  assert.equal(claimed.status, 201, JSON.stringify(claimed.body))
  const { numbers } = (await call(ada, 'GET', '/open/voip/virtual-numbers')).body
  assert.equal((await call(ada, 'DELETE', `/open/voip/virtual-numbers/${numbers[0].uuid}`)).status, 200)
  const { grants } = (await call('operator', 'GET', `/operator/accounts/${real.uuid}/number-grants`)).body
  assert.deepEqual(
    grants.map(({ phone_number }: { phone_number: string }) => phone_number),
    [sold],
  )
  const channel = await call(real, 'GET', `/open/msgapp/channel/${claimed.body.channel.uuid}`)
  assert.equal(channel.status, 200)

  await giveNumber(world, real)
  const free = await stock('sandbox')
  const code = await call(real, 'POST', '/open/voip/caller-ids', { phone_number: free })
  assert.equal(code.status, 201, JSON.stringify(code.body))
  const sent = await until(async () => smsc.submits.find(({ destination }) => destination === free))
  assert.equal((await buy(ada, { number: free })).status, 201)
  const url = `/open/voip/caller-ids/${code.body.caller_id.uuid}/verify`
  assert.equal((await call(real, 'POST', url, { code: sent.text.slice(0, 6) })).status, 200)
})

test('a code to another account’s sandbox number proves it for the code’s recipient', async () => {
  const real = await realTenant()
  await giveNumber(world, real)
  const sold = await bought(await tenant())
  const before = smsc.submits.length
  const { status, body } = await call(real, 'POST', '/open/voip/caller-ids', { phone_number: sold })
  assert.equal(status, 201, JSON.stringify(body))
  const sent = await until(async () => smsc.submits[before])
  const url = `/open/voip/caller-ids/${body.caller_id.uuid}/verify`
  const proved = await call(real, 'POST', url, { code: sent.text.slice(0, 6) })
  assert.equal(proved.body.caller_id.verified, true)
})

test('with the sandbox off its numbers are not sold, and sold ones prove nothing', async () => {
  const who = await tenant()
  const number = await bought(who)
  const off = await makeWorld({ TRUNKLINE_SANDBOX: 'false' }, {}, { db, key })
  const groups = await off.call(who, 'GET', '/open/numbers/groups?country=GB')
  const ids = groups.body.data.groups.map(({ id }: { id: string }) => id)
  assert.deepEqual([ids.includes('sandbox'), ids.includes('own')], [false, true])
  const { caller_ids } = (await off.call(who, 'GET', '/open/voip/caller-ids')).body
  assert.equal(caller_ids[0].verified, false)
  assert.equal((await off.call(who, 'POST', '/open/numbers/purchase', { group_id: 'sandbox' })).status, 404)
  const body = { from_number: number, to_number: '+447911123456', text: 'x' }
  assert.equal((await off.call(who, 'POST', '/open/sms/send', body)).body.error_code, 'sandbox_number')
})
