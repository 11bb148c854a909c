import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { contact, giveNumber, setPrices } from '../sms/sms-testing.ts'
import { capture, charge, extend, hold, release } from './ops.ts'

// A message costs USD 0.04 here.

const world = await makeWorld()
const { app, call, db } = world
await setPrices(world)

type LimitedTenant = Tenant & {
  readonly keyId: string
  readonly number: string
  readonly did: string
  readonly owner: Tenant
}

/** A key of an account with a number, which may spend this much in a day. */
const limited = async (spend_per_day: string, balance = '100'): Promise<LimitedTenant> => {
  const owner = await world.tenant({ balance })
  const { number, did } = await giveNumber(world, owner)
  return { ...(await keyOf(owner, owner, { spend_per_day })), number, did, owner }
}
const keyOf = async (owner: Tenant, maker: Tenant, limits: object) => {
  const { status, body } = await call(maker, 'POST', '/open/keys', { label: 'limited', ...limits })
  assert.equal(status, 201, JSON.stringify(body))
  return { ...owner, key: body.key as string, keyId: String(body.uuid).slice(3) }
}
const shownOf = async ({ owner, keyId }: Pick<LimitedTenant, 'owner' | 'keyId'>) => {
  const { keys } = (await call(owner, 'GET', '/open/keys')).body
  const { spend_per_day, spent_today } = keys.find(({ uuid }: { uuid: string }) => uuid === `KEY${keyId}`)
  return [spend_per_day, spent_today]
}
const balanceOf = async (who: Tenant) =>
  Number((await db.one<{ balance: string }>`select balance from balances where account_id = ${who.id}`).balance)
const messagesOf = async (who: Tenant) =>
  (await db.one<{ count: number }>`select count(*)::integer as count from sms_messages where account_id = ${who.id}`)
    .count
const pass = (seconds: number) => db.run`update clock set offset_seconds = offset_seconds + ${seconds}`

const send = (who: LimitedTenant, more: object = {}, headers: Record<string, string> = {}) =>
  app.inject({
    method: 'POST',
    url: '/open/sms/send',
    headers: { 'x-user-api-key': who.key, ...headers },
    payload: { from_number: who.number, to_number: contact, text: 'Hello', ...more },
  })
const sendMany = (who: LimitedTenant, count: number) =>
  call(who, 'POST', '/open/sms/send-many', {
    from_number: who.number,
    text: 'Hello',
    to_numbers: Array.from({ length: count }, (_, n) => `+4479${10_000_000 + n}`),
  })

test('each way to send counts for a key with a limit, which refuses what would exceed it before anything is done', async () => {
  const who = await limited('0.24')
  assert.deepEqual(await shownOf(who), ['0.24', '0.00'])
  assert.equal((await send(who)).statusCode, 202)
  assert.equal((await send(who, {}, { 'idempotency-key': 'once' })).statusCode, 202)
  assert.equal((await send(who, {}, { 'idempotency-key': 'once' })).statusCode, 202, 'a repeat costs nothing')
  assert.equal((await send(who, { send_at: '2026-12-31T00:00:00Z' })).statusCode, 202)
  assert.equal((await sendMany(who, 2)).status, 202)
  assert.deepEqual(await shownOf(who), ['0.24', '0.20'])

  const many = await sendMany(who, 2)
  const two = (await send(who, { text: 'x'.repeat(200) })).json()
  for (const body of [many.body, two]) {
    assert.equal(body.error_code, 'key_spend_limit')
    assert.match(body.error_message, /USD 0\.24 per day .* use a key with a higher spend_per_day/)
  }
  assert.equal(many.status, 402)
  assert.equal(await messagesOf(who), 5)
  assert.equal((await send(who)).statusCode, 202, 'what is left can be spent')
  assert.deepEqual([await shownOf(who), await balanceOf(who)], [['0.24', '0.24'], 99.76])
  assert.equal((await send({ ...who, key: who.owner.key })).statusCode, 202, 'another key has no limit')
  assert.deepEqual((await send(who, {}, { 'idempotency-key': 'late' })).json().error_code, 'key_spend_limit')
  await pass(86_400)
  assert.deepEqual(await shownOf(who), ['0.24', '0.00'])
  assert.equal((await send(who)).statusCode, 202)
})

test('many sends at once never exceed the limit of their key', async () => {
  const who = await limited('0.42')
  const other = await keyOf(who.owner, who.owner, { spend_per_day: '0.12' })
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) => {
      const from = n % 2 === 0 ? who : { ...who, ...other }
      return n % 3 === 0 ? sendMany(from, 2) : send(from).then((one) => ({ status: one.statusCode }))
    }),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202, 402]))
  assert.ok(Number((await shownOf(who))[1]) <= 0.42)
  assert.deepEqual(await shownOf({ ...who, ...other }), ['0.12', '0.12'])
  const spent = Number((await shownOf(who))[1]) + 0.12
  assert.equal((await messagesOf(who)) * 0.04, Number(spent.toFixed(2)))
})

test('a key made with a limited one may spend no more, has its limit by default, and spends for both', async () => {
  const who = await limited('0.12')
  const more = await call(who, 'POST', '/open/keys', { label: 'more', spend_per_day: '0.13' })
  assert.deepEqual([more.status, more.body.error_code], [403, 'exceeds_own_key'])
  const [equal, less] = [await keyOf(who.owner, who, {}), await keyOf(who.owner, who, { spend_per_day: '0.04' })]
  assert.equal((await shownOf({ ...who, ...equal }))[0], '0.12')
  assert.equal((await send({ ...who, ...less })).statusCode, 202)
  assert.equal((await send({ ...who, ...less })).json().error_code, 'key_spend_limit')
  assert.equal((await send({ ...who, ...equal })).statusCode, 202)
  assert.equal((await send({ ...who, ...equal })).statusCode, 202)
  for (const key of [who, { ...who, ...equal }]) assert.equal((await send(key)).json().error_code, 'key_spend_limit')
  const shown = await Promise.all([who, { ...who, ...equal }, { ...who, ...less }].map(shownOf))
  assert.deepEqual(
    shown.map(([, spent]) => spent),
    ['0.12', '0.08', '0.04'],
  )
})

test('keys made with a limited one share its limit after it is revoked and long gone; ten at most follow one another', async () => {
  const who = await limited('0.12')
  const [second, third] = [await keyOf(who.owner, who, {}), await keyOf(who.owner, who, {})]
  const lone = await keyOf(who.owner, who.owner, { spend_per_day: '1' })
  for (const { keyId } of [who, lone])
    assert.equal((await call(who.owner, 'DELETE', `/open/keys/KEY${keyId}`)).status, 200)
  await pass(40 * 86_400)
  await keyOf(who.owner, who.owner, {})
  const left = await db.many<{ id: string }>`
    select id from api_keys where account_id = ${who.id} and revoked_at is not null`
  assert.deepEqual(left, [{ id: who.keyId }], 'a key without others is deleted')
  assert.equal((await send({ ...who, ...second })).statusCode, 202)
  assert.equal((await send({ ...who, ...second })).statusCode, 202)
  assert.equal((await send({ ...who, ...third })).statusCode, 202)
  for (const key of [second, third]) assert.equal((await send({ ...who, ...key })).json().error_code, 'key_spend_limit')

  let maker: Tenant = { ...who, ...third }
  for (let made = 2; made < 10; made++) maker = await keyOf(who.owner, maker, {})
  const eleventh = await call(maker, 'POST', '/open/keys', { label: 'eleventh' })
  assert.deepEqual([eleventh.status, eleventh.body.error_code], [403, 'too_many_keys'])
})

test('a payment of a transaction that began before midnight counts for the day that has begun, and takes nothing back', async () => {
  const who = await limited('1')
  const what = { kind: 'number_purchase', limitedKeys: [who.keyId] } as const
  await pass(86_400)
  await db.begin((tx) => charge(tx, who.id, 700_000, 'numbers', what))
  assert.deepEqual(await shownOf(who), ['1.00', '0.70'])
  await pass(-86_400)
  await db.begin((tx) => charge(tx, who.id, 200_000, 'numbers', what))
  await assert.rejects(
    db.begin((tx) => charge(tx, who.id, 200_000, 'numbers', what)),
    { code: 'key_spend_limit' },
  )
  await pass(86_400)
  assert.deepEqual(await shownOf(who), ['1.00', '0.90'])
})

test('what a limited key cannot count it cannot arrange: voice tokens, and programs for what others begin', async () => {
  const who = await limited('5')
  const { body } = await call('operator', 'POST', `/operator/accounts/${who.uuid}/users`, {
    ...{ first_name: 'Ada', last_name: 'L', email: 'ada@example.com' },
  })
  const token = await call(who, 'POST', '/open/sdk/access-token', { user_uuid: body.user.uuid })
  assert.deepEqual([token.status, token.body.error_code], [403, 'key_limited'])
  const voice = { kind: 'url', url: 'https://example.com/call' }
  const program = await call(who, 'PUT', `/open/voip/virtual-numbers/DID${who.did}`, { voice })
  assert.deepEqual([program.status, program.body.error_code], [403, 'program_not_allowed'])
})

test('a number that a limited key buys counts for it, and is refused before it is sold', async () => {
  const who = await limited('3')
  await db.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
      allow_number_selection, is_eligible_for_free_number, supplier)
    values ('limits', 'GB', 'local', '1632', 'Nowhere', 'nowhere', 1, 1.5, 0.005, true, false, 'test')`
  await db.run`
    insert into numbers (number, group_id, shuffle) select n, 'limits', 1
    from unnest(${['+441632100101', '+441632100102']}::text[]) n`
  await db.run`insert into number_stock (group_id, free) values ('limits', 2)`
  const buy = () => call(who, 'POST', '/open/numbers/purchase', { group_id: 'limits' })
  assert.equal((await buy()).status, 201)
  assert.deepEqual(await shownOf(who), ['3.00', '2.50'])
  const refused = await buy()
  assert.deepEqual([refused.status, refused.body.error_code], [402, 'key_spend_limit'])
  const [{ free } = { free: 0 }] = await db.many<{ free: number }>`
    select free from number_stock where group_id = 'limits'`
  assert.deepEqual([free, await balanceOf(who)], [1, 97.5])
})

test('a hold counts while it is open, its capture on the day of its end, and a caught refusal changes nothing', async () => {
  const who = await limited('1')
  const limitedKeys = [who.keyId]
  const sale = { kind: 'call', reference: 'CDR1', limitedKeys } as const
  const refused = { code: 'key_spend_limit' }
  const first = await db.begin((tx) => hold(tx, who.id, 600_000, 'calls', sale))
  assert.deepEqual(await shownOf(who), ['1.00', '0.60'])
  await db.begin(async (tx) => {
    await assert.rejects(hold(tx, who.id, 400_001, 'calls', sale), refused)
    await assert.rejects(extend(tx, who.id, first, 400_001), refused)
    await assert.rejects(charge(tx, who.id, 400_001, 'numbers', { kind: 'number_purchase', limitedKeys }), refused)
  })
  assert.deepEqual([await shownOf(who), await balanceOf(who)], [['1.00', '0.60'], 99.4])
  const second = await db.begin((tx) => hold(tx, who.id, 300_000, 'calls', sale))
  assert.equal(await db.begin((tx) => extend(tx, who.id, second, 100_000)), true)
  await db.begin((tx) => release(tx, who.id, second))
  assert.deepEqual(await shownOf(who), ['1.00', '0.60'])
  await pass(86_400)
  assert.deepEqual(await shownOf(who), ['1.00', '0.60'], 'still held')
  await db.begin((tx) => capture(tx, who.id, first, 200_000))
  assert.deepEqual(await shownOf(who), ['1.00', '0.20'])
  // A key that is deleted while it holds money: the capture is made all the same.
  const third = await db.begin((tx) => hold(tx, who.id, 300_000, 'calls', sale))
  await db.run`delete from api_keys where account_id = ${who.id} and id = ${who.keyId}`
  assert.equal(await db.begin((tx) => capture(tx, who.id, third, 300_000)), true)
})
