import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { parseSid } from '../../../platform/lib/sid.ts'
import { makeTwilioWorld, stockNumbers } from '../testing.ts'

const world = await makeTwilioWorld()
const { call, db, tenant, credentials, ask } = world
const british = await stockNumbers(world, { iso: 'GB', name: 'United Kingdom', code: '44', area: '1632' }, 60)
const american = await stockNumbers(world, { iso: 'US', name: 'United States', code: '1', area: '415' }, 3)

const search = '/AvailablePhoneNumbers/GB/Local.json'

const open = async (balance = '100') => {
  const who = await tenant({ balance })
  return { who, own: await credentials(who) }
}

test('countries and free numbers are found, with the digits, the place and the features asked for', async () => {
  const { own } = await open()
  const { countries } = (await ask(own, 'GET', '/AvailablePhoneNumbers.json')).body
  assert.deepEqual(
    countries.map(({ country_code }: { country_code: string }) => country_code),
    ['GB', 'US'],
  )
  const one = (await ask(own, 'GET', '/AvailablePhoneNumbers/GB.json')).body
  assert.match(one.subresource_uris.local, /AvailablePhoneNumbers\/GB\/Local\.json$/)
  const find = async (query: Record<string, string>): Promise<string[]> =>
    (await ask(own, 'GET', search, query)).body.available_phone_numbers.map(
      (found: { phone_number: string }) => found.phone_number,
    )
  assert.equal((await find({})).length, 50, 'a page has 50 rows unless its size is given')
  assert.deepEqual((await find({ PageSize: '1000' })).sort(), [...british].sort())
  const [some = ''] = british
  assert.deepEqual(await find({ Contains: some.slice(-6), PageSize: '5' }), [some])
  assert.equal((await find({ InLocality: 'scene', PageSize: '2' })).length, 2)
  assert.deepEqual(await find({ InLocality: 'elsewhere' }), [])
  assert.deepEqual(await find({ MmsEnabled: 'true' }), [])
  assert.equal((await ask(own, 'GET', '/AvailablePhoneNumbers/XX/Local.json')).body.code, 20404)
})

test('a number is bought once, charged, listed, changed and released', async () => {
  const { who, own } = await open('10')
  const [number = ''] = british.slice(-1)
  const fields = { PhoneNumber: number, FriendlyName: 'Desk', SmsUrl: 'http://127.0.0.1:8099/in#rc=0' }
  const bought = await ask(own, 'POST', '/IncomingPhoneNumbers.json', fields)
  assert.equal(bought.status, 201, JSON.stringify(bought.body))
  assert.match(bought.body.sid, /^PN[0-9a-f]{32}$/)
  assert.deepEqual(
    [bought.body.phone_number, bought.body.friendly_name, bought.body.sms_url, bought.body.sms_method],
    [number, 'Desk', fields.SmsUrl, 'POST'],
  )
  assert.equal((await ask(own, 'GET', '/Balance.json')).body.balance, '7.50')
  const other = await open()
  const taken = await ask(other.own, 'POST', '/IncomingPhoneNumbers.json', { PhoneNumber: number })
  assert.deepEqual([taken.status, taken.body.code], [400, 21422])
  assert.equal((await ask(other.own, 'GET', '/Balance.json')).body.balance, '100.00')
  const listed = (await ask(own, 'GET', '/IncomingPhoneNumbers.json', { PhoneNumber: number })).body
  assert.deepEqual(
    listed.incoming_phone_numbers.map(({ sid }: { sid: string }) => sid),
    [bought.body.sid],
  )
  const path = `/IncomingPhoneNumbers/${bought.body.sid}.json`
  const changed = await ask(own, 'POST', path, { FriendlyName: 'Shop', SmsUrl: '', SmsMethod: 'get' })
  assert.deepEqual([changed.body.friendly_name, changed.body.sms_url, changed.body.sms_method], ['Shop', '', 'GET'])
  assert.equal((await ask(own, 'POST', path, { SmsUrl: 'nowhere' })).body.code, 21402)
  const native = (await call(who, 'GET', '/open/voip/virtual-numbers')).body
  assert.match(JSON.stringify(native), /Shop/)
  for (const method of ['GET', 'POST', 'DELETE'] as const)
    assert.equal((await ask(other.own, method, path)).body.code, 20404, 'the number of another account')
  assert.equal((await ask(own, 'DELETE', path)).status, 204)
  assert.equal((await ask(own, 'GET', path)).body.code, 20404)
})

test('any number of an area code is bought, and an empty balance buys none', async () => {
  const { own } = await open('3')
  const bought = await ask(own, 'POST', '/IncomingPhoneNumbers.json', { AreaCode: '415' })
  assert.ok(american.includes(bought.body.phone_number), JSON.stringify(bought.body))
  const poor = await ask(own, 'POST', '/IncomingPhoneNumbers.json', { AreaCode: '415' })
  assert.deepEqual([poor.status, poor.body.code], [402, 20005])
  const none = await ask(own, 'POST', '/IncomingPhoneNumbers.json', { AreaCode: '212' })
  assert.deepEqual([none.status, none.body.code], [400, 21452])
  for (const fields of [{}, { PhoneNumber: british[0] ?? '', AreaCode: '415' }])
    assert.equal((await ask(own, 'POST', '/IncomingPhoneNumbers.json', fields)).body.code, 21421)
})

test('numbers are listed over pages', async () => {
  const { own } = await open()
  for (const number of british.slice(0, 5))
    await ask(own, 'POST', '/IncomingPhoneNumbers.json', { PhoneNumber: number })
  const seen: string[] = []
  let path: string | null = '/IncomingPhoneNumbers.json?PageSize=2'
  let pages = 0
  for (; path !== null; pages++) {
    const { body } = await ask(own, 'GET', path)
    seen.push(...body.incoming_phone_numbers.map((one: { phone_number: string }) => one.phone_number))
    path = body.next_page_uri?.replace(`/2010-04-01/Accounts/${own.sid}`, '') ?? null
  }
  assert.equal(pages, 3)
  assert.deepEqual(seen, british.slice(0, 5))
})

test('a list takes as many queries for three numbers as for one', async (t) => {
  const { own } = await open()
  const listedOnce = async () => {
    const reads = [t.mock.method(db, 'many'), t.mock.method(db, 'maybe')]
    const { body } = await ask(own, 'GET', '/IncomingPhoneNumbers.json')
    const count = reads.reduce((sum, { mock }) => sum + mock.callCount(), 0)
    t.mock.restoreAll()
    return { numbers: body.incoming_phone_numbers.length, count }
  }
  // The least of several: work in the background reads meanwhile.
  const listed = async () => {
    const all = [await listedOnce(), await listedOnce(), await listedOnce(), await listedOnce()]
    return all.reduce((least, one) => (one.count < least.count ? one : least))
  }
  const buy = (number: string) => ask(own, 'POST', '/IncomingPhoneNumbers.json', { PhoneNumber: number })
  await buy(british[10] ?? '')
  const one = await listed()
  for (const n of [11, 12]) await buy(british[n] ?? '')
  assert.deepEqual([one.numbers, await listed()], [1, { numbers: 3, count: one.count }])
  assert.ok(one.count >= 2)
})

test('calls to a number run its VoiceUrl or its application, and a user again once both are gone', async () => {
  const { who, own } = await open()
  const bought = await ask(own, 'POST', '/IncomingPhoneNumbers.json', {
    ...{ PhoneNumber: british[20] ?? '', VoiceUrl: 'http://127.0.0.1:8099/voice', VoiceMethod: 'GET' },
    StatusCallback: 'http://127.0.0.1:8099/status',
  })
  assert.deepEqual(
    [bought.status, bought.body.voice_url, bought.body.voice_method, bought.body.status_callback],
    [201, 'http://127.0.0.1:8099/voice', 'GET', 'http://127.0.0.1:8099/status'],
  )
  const stored = async () =>
    (await db.one<{ voice: unknown }>`select voice from virtual_numbers where account_id = ${who.id}`).voice
  assert.deepEqual(await stored(), {
    ...{ kind: 'url', url: 'http://127.0.0.1:8099/voice', method: 'GET', fallback_url: null, fallback_method: 'POST' },
    ...{ status_url: 'http://127.0.0.1:8099/status', status_method: 'POST', shape: 'twilio' },
  })
  const path = `/IncomingPhoneNumbers/${bought.body.sid}.json`
  const set = async (fields: Record<string, string>) => (await ask(own, 'POST', path, fields)).body
  assert.equal((await set({ FriendlyName: 'Desk' })).voice_url, 'http://127.0.0.1:8099/voice')
  assert.equal((await set({ VoiceFallbackUrl: 'http://127.0.0.1:8099/else' })).voice_method, 'GET')

  const made = await ask(own, 'POST', '/Applications.json', {
    FriendlyName: 'Menu',
    VoiceUrl: 'http://127.0.0.1:8099/menu',
  })
  const application = await set({ VoiceApplicationSid: made.body.sid })
  assert.deepEqual([application.voice_application_sid, application.voice_url], [made.body.sid, null])
  assert.equal((await ask(own, 'DELETE', `/Applications/${made.body.sid}.json`)).status, 409)
  assert.equal((await set({ VoiceApplicationSid: `AP${'0'.repeat(32)}` })).code, 20404)
  assert.equal((await set({ VoiceApplicationSid: '' })).voice_application_sid, '')
  assert.equal(await stored(), null)
  assert.equal((await set({ StatusCallback: 'http://127.0.0.1:8099/status' })).code, 21502)
  assert.equal((await set({ VoiceUrl: 'ftp://example.com/' })).code, 21402)

  const { body: user } = await call('operator', 'POST', `/operator/accounts/${who.uuid}/users`, {
    ...{ first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com' },
  })
  const native = `/open/voip/virtual-numbers/DID${await db.one<{
    id: string
  }>`select id from virtual_numbers where account_id = ${who.id}`.then(({ id }) => id)}`
  await call(who, 'PUT', native, { inbound_user_uuid: user.user.uuid })
  assert.equal((await set({ VoiceUrl: '', FriendlyName: 'Home' })).friendly_name, 'Home')
  assert.equal((await call(who, 'GET', native)).body.number.inbound_user_uuid, user.user.uuid, 'the user stays')
})

test('an application is made, listed, changed and deleted', async () => {
  const { own } = await open()
  const other = await open()
  const VoiceUrl = 'http://127.0.0.1:8099/voice'
  assert.equal((await ask(own, 'POST', '/Applications.json', { FriendlyName: 'Menu' })).body.code, 21205)
  const made = await ask(own, 'POST', '/Applications.json', {
    FriendlyName: 'Menu',
    VoiceUrl,
    StatusCallback: VoiceUrl,
  })
  assert.deepEqual([made.status, made.body.voice_url, made.body.status_callback], [201, VoiceUrl, VoiceUrl])
  const path = `/Applications/${made.body.sid}.json`
  const changed = await ask(own, 'POST', path, { VoiceMethod: 'GET', StatusCallback: '' })
  assert.deepEqual([changed.body.voice_method, changed.body.status_callback], ['GET', null])
  assert.deepEqual((await ask(own, 'GET', '/Applications.json', { FriendlyName: 'Menu' })).body.applications, [
    changed.body,
  ])
  assert.deepEqual((await ask(own, 'GET', '/Applications.json', { FriendlyName: 'Other' })).body.applications, [])
  for (const method of ['GET', 'POST', 'DELETE'] as const)
    assert.equal((await ask(other.own, method, path)).body.code, 20404, 'the application of another account')
  assert.equal((await ask(own, 'DELETE', path)).status, 204)
  assert.equal((await ask(own, 'GET', path)).body.code, 20404)
})

test('two changes of a number at the same time keep the address of each other', async () => {
  const { own } = await open()
  const [number = ''] = british.slice(-2)
  const { body } = await ask(own, 'POST', '/IncomingPhoneNumbers.json', { PhoneNumber: number })
  const path = `/IncomingPhoneNumbers/${body.sid}.json`
  const [first, second] = ['http://127.0.0.1:8099/in', 'http://127.0.0.1:8099/fallback']
  const changes: Promise<unknown>[] = []
  await db.begin(async (tx) => {
    await tx.run`update twilio_numbers set updated_at = app_now() where virtual_number_id = ${parseSid('PN', body.sid)}`
    changes.push(ask(own, 'POST', path, { SmsUrl: first }), ask(own, 'POST', path, { SmsFallbackUrl: second }))
    await until(async () => {
      const { waiting } = await db.one<{ waiting: number }>`
        select count(*)::integer as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      return waiting === 2
    })
  })
  await Promise.all(changes)
  const { sms_url, sms_fallback_url } = (await ask(own, 'GET', path)).body
  assert.deepEqual([sms_url, sms_fallback_url], [first, second])
})
