import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../test/platform.ts'
import type { Tenant } from '../../../test/world.ts'
import { giveNumber, makeSmsWorld, startSmsc } from '../sms/sms-testing.ts'
import { deleteCallerIdCodes } from './jobs.ts'

const world = await makeSmsWorld()
const smsc = await startSmsc()
const { call, tenant, advance, connect, messageOf, db } = world
after(async () => {
  await world.stop()
  smsc.close()
})
await connect('only', smsc)

const path = '/open/voip/caller-ids'
const mine = '+447911000001'

const make = async () => {
  const who = await tenant()
  return { who, ...(await giveNumber(world, who)) }
}
const create = (who: Tenant, body: object = {}) => call(who, 'POST', path, { phone_number: mine, ...body })
const verify = (who: Tenant, uuid: string, code: string) => call(who, 'POST', `${path}/${uuid}/verify`, { code })
const list = async (who: Tenant) => (await call(who, 'GET', path)).body.caller_ids

/** Returns the last code that the carrier received. */
const nextCode = async (count: number): Promise<string> => {
  const { text } = await until(async () => (smsc.submits.length > count ? smsc.submits.at(-1) : null))
  return /^\d{6}/.exec(text)?.[0] ?? ''
}
const ask = async (who: Tenant, body: object = {}) => {
  const before = smsc.submits.length
  const created = await create(who, body)
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return { ...created.body, code: await nextCode(before) }
}
const wrong = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

test('the code sent to the handset proves a number, and the account cannot read the code', async () => {
  const { who, number, channel } = await make()
  const { caller_id, message_uuid, code } = await ask(who, { friendly_name: 'Desk' })
  assert.partialDeepStrictEqual(caller_id, {
    account_uuid: who.uuid,
    phone_number: mine,
    friendly_name: 'Desk',
    iso_country_code: 'GB',
    type: 'CI',
    verified: false,
  })
  assert.ok(!('channel_uuid' in caller_id))
  assert.equal(smsc.submits.at(-1)?.source, number)
  await world.waitForStatus(who, message_uuid, 'sent')
  assert.match((await messageOf(who, message_uuid)).text, /^\*{6} is the code/)
  const thread = await call(who, 'GET', `/open/sms/messages/${channel}/${mine}`)
  const { events } = await db.one<{
    events: string
  }>`select coalesce(string_agg(payload::text, ' '), '') as events from events`
  const { rows } = await db.one<{ rows: string }>`
    select coalesce(string_agg(k::text, ' '), '') as rows from caller_id_codes k`
  for (const text of [JSON.stringify(thread.body), events, rows]) assert.ok(!text.includes(code), text)

  const proved = await verify(who, caller_id.uuid, code)
  assert.deepEqual([proved.status, proved.body.caller_id.verified], [200, true])
  assert.deepEqual((await list(who)).at(-1), proved.body.caller_id)
  assert.equal((await verify(who, caller_id.uuid, '000000')).status, 200, 'a proved number remains proved')
  const again = await create(who)
  assert.deepEqual([again.status, again.body.error_code], [409, 'caller_id_exists'])
})

test('after five wrong codes, also concurrent ones, the right code is refused', async () => {
  const { who } = await make()
  const { caller_id, code } = await ask(who)
  const tries = await Promise.all(Array.from({ length: 8 }, () => verify(who, caller_id.uuid, wrong(code))))
  const codes = tries.map(({ status, body }) => `${status} ${body.error_code}`).sort()
  assert.deepEqual(codes, [...Array(3).fill('409 code_expired'), ...Array(5).fill('422 code_wrong')])
  assert.equal((await verify(who, caller_id.uuid, code)).body.error_code, 'code_expired')
  await advance(61)
  const fresh = await ask(who)
  assert.equal(fresh.caller_id.uuid, caller_id.uuid, 'the caller ID is the same')
  assert.equal((await verify(who, caller_id.uuid, fresh.code)).status, 200)
})

test('a code is valid for ten minutes, or until a new code', async () => {
  const { who } = await make()
  const first = await ask(who)
  await advance(61)
  const second = await ask(who)
  if (first.code !== second.code)
    assert.equal((await verify(who, first.caller_id.uuid, first.code)).body.error_code, 'code_wrong')
  await advance(601)
  assert.equal((await verify(who, first.caller_id.uuid, second.code)).body.error_code, 'code_expired')
})

test('codes are sent at most once a minute and ten times a day; a refusal sends and charges nothing', async () => {
  const { who } = await make()
  const balance = async () => (await call(who, 'GET', '/open/info')).body.balance.amount
  for (let sent = 0; sent < 10; sent++) {
    await ask(who)
    const early = await create(who)
    assert.deepEqual([early.status, early.body.error_code, early.headers['retry-after']], [429, 'code_too_soon', '60'])
    await advance(61)
  }
  const before = await balance()
  assert.equal((await create(who)).status, 429)
  assert.equal(await balance(), before)
  await advance(86_400)
  await ask(who)
})

test('without an SMS-capable number or sufficient balance, nothing is stored', async () => {
  const none = await tenant()
  assert.equal((await create(none)).body.error_code, 'no_sms_number')
  const poor = await tenant({ balance: '0' })
  await giveNumber(world, poor)
  assert.equal((await create(poor)).status, 402)
  assert.deepEqual(await list(poor), [])
})

test('a removed caller ID is not listed, and can be proved again within the limits of its number', async () => {
  const { who } = await make()
  const { caller_id } = await ask(who)
  assert.equal((await call(who, 'DELETE', `${path}/${caller_id.uuid}`)).status, 200)
  assert.equal((await call(who, 'DELETE', `${path}/${caller_id.uuid}`)).status, 404)
  assert.deepEqual(await list(who), [])
  assert.equal((await create(who)).body.error_code, 'code_too_soon', 'the minute outlives the caller ID')
  await advance(61)
  assert.notEqual((await ask(who)).caller_id.uuid, caller_id.uuid)
})

test('two accounts prove the same number separately, and not by each other’s codes', async () => {
  const [ada, bob] = [await make(), await make()]
  const [hers, his] = [await ask(ada.who), await ask(bob.who)]
  assert.equal((await verify(ada.who, his.caller_id.uuid, his.code)).status, 404)
  if (hers.code !== his.code) assert.equal((await verify(ada.who, hers.caller_id.uuid, his.code)).status, 422)
  assert.equal((await verify(ada.who, hers.caller_id.uuid, hers.code)).status, 200)
})

test('attempts outlive a caller ID that is deleted and added again', async () => {
  const { who } = await make()
  const phone_number = '+447911000004'
  for (let round = 0; round < 10; round++) {
    const { caller_id, code } = await ask(who, { phone_number })
    for (let tries = 0; tries < 5; tries++)
      assert.equal((await verify(who, caller_id.uuid, wrong(code))).body.error_code, 'code_wrong')
    assert.equal((await verify(who, caller_id.uuid, wrong(code))).body.error_code, 'code_expired')
    await call(who, 'DELETE', `${path}/${caller_id.uuid}`)
    await advance(61)
  }
  assert.equal((await create(who, { phone_number })).body.error_code, 'code_too_soon', 'ten codes a day')
  const other = await ask(who, { phone_number: '+447911000002' })
  const tried = await verify(who, other.caller_id.uuid, other.code)
  assert.deepEqual([tried.status, tried.body.error_code], [429, 'attempt_limit'], 'the account has tried 50 times')
  const seconds = Number(tried.headers['retry-after'])
  assert.ok(seconds > 80_000 && seconds < 86_400, String(seconds))
})

test('attempts for one number are counted over all accounts', async () => {
  const phone_number = '+447911000003'
  const many = await Promise.all(Array.from({ length: 11 }, make))
  const last = many.pop()
  assert.ok(last)
  for (const { who } of many) {
    const { caller_id, code } = await ask(who, { phone_number })
    for (let tries = 0; tries < 5; tries++) assert.equal((await verify(who, caller_id.uuid, wrong(code))).status, 422)
  }
  const { caller_id, code } = await ask(last.who, { phone_number })
  assert.equal((await verify(last.who, caller_id.uuid, code)).body.error_code, 'attempt_limit')
  await advance(86_400)
  const again = await ask(last.who, { phone_number })
  assert.equal((await verify(last.who, again.caller_id.uuid, again.code)).status, 200)
})

test('an account gets at most 50 codes a day, and a number at most 20 over all accounts; a refusal sends nothing', async () => {
  const { who } = await make()
  const one = (phone_number: string, by = who) => create(by, { phone_number })
  for (let sent = 0; sent < 50; sent++) assert.equal((await one(`+4479111${10_000 + sent}`)).status, 201)
  const refused = await one('+447911120000')
  assert.deepEqual([refused.status, refused.body.error_code], [429, 'code_limit'])
  assert.ok(!(await list(who)).some(({ phone_number }: { phone_number: string }) => phone_number === '+447911120000'))

  const shared = '+447911130000'
  const many = await Promise.all(Array.from({ length: 21 }, make))
  const answers = []
  for (const other of many) answers.push((await one(shared, other.who)).body.error_code)
  assert.deepEqual(answers, [...Array(20).fill(undefined), 'code_limit'])
})

test('codes and counters are deleted once they have no effect', async () => {
  const count = async () =>
    (
      await db.one<{ n: number }>`
      select (select count(*) from caller_id_codes) + (select count(*) from caller_id_code_counters) as n`
    ).n
  const { who } = await make()
  await ask(who)
  await db.begin((tx) => deleteCallerIdCodes.run(tx, new Date()))
  assert.ok(Number(await count()) >= 3)
  await advance(86_401)
  await db.begin((tx) => deleteCallerIdCodes.run(tx, new Date()))
  assert.equal(Number(await count()), 0)
})
