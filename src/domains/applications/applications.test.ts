import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import { printSid } from '../../platform/lib/sid.ts'
import { calledNumber } from '../numbers/ops.ts'

const { app, db, call, tenant, parts } = await makeWorld({ TRUNKLINE_SANDBOX: 'false' })

const path = '/open/voip/applications'
const url = 'https://8.8.8.8/call'
const create = async (who: Tenant, body: object = {}) => await call(who, 'POST', path, { name: 'Menu', url, ...body })

let numbers = 0
const line = async (who: Tenant) => {
  const [id, number] = [uuid(), `+4416329601${String(++numbers).padStart(2, '0')}`]
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at)
    values (${who.id}, ${id}, ${number}, 'x', 'GB', '', 'local', 'x', 0, 0, 'ACTIVE', now() + interval '1 month')`
  const change = (body: object) => call(who, 'PUT', `/open/voip/virtual-numbers/DID${id}`, body)
  return { id: `DID${id}`, number, change }
}

const user = async (who: Tenant): Promise<string> => {
  const names = { first_name: 'Ada', last_name: 'L', email: `${uuid()}@example.com` }
  return (await call('operator', 'POST', `/operator/accounts/${who.uuid}/users`, names)).body.user.uuid
}

test('an application shows its secret once, and a rotation makes another that signs from then on', async () => {
  const ada = await tenant()
  const made = await create(ada)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { application, signing_secret: first } = made.body
  assert.match(application.uuid, /^APP/)
  assert.match(first, /^whsec_/)
  assert.deepEqual(
    [application.method, application.status_events, application.format, application.timeout_seconds],
    ['POST', ['completed'], 'native', 8],
  )
  const shown = await call(ada, 'GET', `${path}/${application.uuid}`)
  assert.deepEqual(shown.body.application, application)
  assert.doesNotMatch(JSON.stringify([shown.body, (await call(ada, 'GET', path)).body]), /whsec_/)

  const key = async () =>
    (await parts.callPrograms.resolve(ada.id, source(application.uuid))).secret?.toString('base64')
  assert.equal(`whsec_${await key()}`, first)
  const { signing_secret: second } = (await call(ada, 'POST', `${path}/${application.uuid}/secret`)).body
  assert.equal(`whsec_${await key()}`, second)
  assert.notEqual(first, second)
})

const source = (application: string) =>
  ({ kind: 'application', application: application.slice(3), shape: 'native' }) as const

test('the program of an application has its addresses, its time and its shape as they are when the call begins', async () => {
  const ada = await tenant()
  const { uuid: id } = (await create(ada)).body.application
  const changes = {
    fallback_url: `${url}/2`,
    fallback_method: 'GET',
    format: 'twilio',
    timeout_seconds: 15,
    status_url: `${url}/s`,
  }
  assert.equal((await call(ada, 'PATCH', `${path}/${id}`, changes)).status, 200)
  const program = await parts.callPrograms.resolve(ada.id, source(id))
  assert.deepEqual(
    [program.begin, program.fallback],
    [
      { url, method: 'POST' },
      { url: `${url}/2`, method: 'GET' },
    ],
  )
  assert.deepEqual([program.shape, program.timeoutMs, program.callbacks?.url], ['twilio', 15_000, `${url}/s`])
  await call(ada, 'PATCH', `${path}/${id}`, { fallback_url: null, status_url: null })
  const { fallback, callbacks } = await parts.callPrograms.resolve(ada.id, source(id))
  assert.deepEqual([fallback, callbacks], [null, null])
})

test('addresses of programs obey the rules of webhooks, and the refusal names the field', async () => {
  const ada = await tenant()
  const refused = async (answer: ReturnType<typeof call>) => {
    const { status, body } = await answer
    return [status, body.error_code, body.field]
  }
  assert.deepEqual(await refused(create(ada, { url: 'https://127.0.0.1/call' })), [400, 'url_refused', '/url'])
  const inside = 'https://10.0.0.1/x'
  assert.deepEqual(await refused(create(ada, { fallback_url: inside })), [400, 'url_refused', '/fallback_url'])
  assert.deepEqual(await refused(create(ada, { status_url: inside })), [400, 'url_refused', '/status_url'])
  const { change } = await line(ada)
  assert.deepEqual(await refused(change({ voice: { kind: 'url', url: inside } })), [400, 'url_refused', '/voice/url'])
})

test('a number runs what its voice was last set to, by either field', async () => {
  const ada = await tenant()
  const { id, number, change } = await line(ada)
  const ring = await user(ada)
  const application: string = (await create(ada)).body.application.uuid
  const voiceAfter = async (body: object) => {
    const { status, body: answer } = await change(body)
    assert.equal(status, 200, JSON.stringify(answer))
    const called = await calledNumber(db, number)
    return [answer.number.voice, answer.number.inbound_user_uuid, called?.voice?.kind ?? null]
  }
  const shownAtFirst = (await call(ada, 'GET', `/open/voip/virtual-numbers/${id}`)).body
  assert.deepEqual(shownAtFirst.number?.voice, { kind: 'none' }, JSON.stringify(shownAtFirst))
  const byUser = [{ kind: 'user', user_uuid: ring }, ring, null]
  assert.deepEqual(await voiceAfter({ inbound_user_uuid: ring }), byUser)
  const byApplication = [{ kind: 'application', application_uuid: application }, null, 'application']
  assert.deepEqual(await voiceAfter({ voice: { kind: 'application', application_uuid: application } }), byApplication)
  assert.deepEqual(await voiceAfter({ friendly_name: 'Reception' }), byApplication)
  const [shown, none, kind] = await voiceAfter({ voice: { kind: 'url', url, method: 'GET', fallback_url: `${url}/2` } })
  assert.deepEqual(
    [shown.kind, shown.url, shown.method, shown.fallback_url, none, kind],
    ['url', url, 'GET', `${url}/2`, null, 'url'],
  )
  assert.deepEqual(await voiceAfter({ voice: { kind: 'user', user_uuid: ring } }), byUser)
  await change({ voice: { kind: 'url', url } })
  assert.deepEqual(await voiceAfter({ inbound_user_uuid: null }), [{ kind: 'none' }, null, null])
  const both = { inbound_user_uuid: ring, voice: { kind: 'application', application_uuid: application } }
  assert.deepEqual(await voiceAfter(both), byApplication, 'in one request voice counts')
})

test('a voice without its field, or of another account, is refused, and the error names the field', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const { change } = await line(ada)
  const [theirs, hers] = [(await create(bob)).body.application.uuid, await user(bob)]
  const refused = async (voice: object, more: object = {}) => {
    const { status, body } = await change({ voice, ...more })
    return `${status} ${body.field}`
  }
  assert.equal(await refused({ kind: 'application' }), '400 /voice/application_uuid')
  assert.equal(await refused({ kind: 'url' }), '400 /voice/url')
  assert.equal(await refused({ kind: 'user' }), '400 /voice/user_uuid')
  assert.equal(await refused({ kind: 'application', application_uuid: theirs }), '404 /voice/application_uuid')
  assert.equal(await refused({ kind: 'application', application_uuid: `APP${uuid()}` }), '404 /voice/application_uuid')
  assert.equal(await refused({ kind: 'user', user_uuid: hers }), '404 /voice/user_uuid')
  for (const method of ['GET', 'PATCH', 'DELETE'] as const)
    assert.equal((await call(ada, method, `${path}/${theirs}`, method === 'PATCH' ? {} : undefined)).status, 404)
  await assert.rejects(async () => await parts.callPrograms.resolve(ada.id, source(theirs)), /does not exist/)
})

test('an application that a number runs cannot be deleted, and the refusal names the number', async () => {
  const ada = await tenant()
  const { number, change } = await line(ada)
  const { uuid: id } = (await create(ada)).body.application
  await change({ voice: { kind: 'application', application_uuid: id } })
  const { status, body } = await call(ada, 'DELETE', `${path}/${id}`)
  assert.deepEqual([status, body.error_code], [409, 'application_in_use'])
  assert.ok(body.error_message.includes(number), body.error_message)
  await change({ voice: { kind: 'none' } })
  assert.equal((await call(ada, 'DELETE', `${path}/${id}`)).status, 200)
  assert.equal((await call(ada, 'GET', `${path}/${id}`)).status, 404)
})

test('a program hears all calls and dials: a key that may not chooses none, in either interface', async () => {
  const ada = await tenant()
  const { id, change } = await line(ada)
  const application: string = (await create(ada)).body.application.uuid
  const { account_sid: sid } = (await call(ada, 'POST', '/open/compat/credentials', {})).body
  const limited = async (...scopes: string[]): Promise<Tenant> => ({
    ...ada,
    key: (await call(ada, 'POST', '/open/keys', { label: 'limited', scopes })).body.key,
  })
  const told = async (answer: ReturnType<typeof call>) => {
    const { status, body } = await answer
    return `${status} ${body.error_code} ${body.field}`
  }
  const set = (who: Tenant, voice: object) => told(call(who, 'PUT', `/open/voip/virtual-numbers/${id}`, { voice }))
  const move = (who: Tenant, body: object) => told(call(who, 'PATCH', `${path}/${application}`, body))
  const byForm = async ({ key }: Tenant, url: string, fields: Record<string, string>) => {
    const headers = {
      authorization: `Basic ${Buffer.from(`${sid}:${key}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    }
    const payload = new URLSearchParams(fields).toString()
    return (await app.inject({ method: 'POST', url: `/2010-04-01/Accounts/${sid}/${url}.json`, headers, payload }))
      .statusCode
  }
  const [numberSid, applicationSid] = [printSid('PN', id.slice(3)), printSid('AP', application.slice(3))]
  for (const who of [await limited('numbers', 'develop', 'read_only'), await limited('numbers', 'develop', 'inbox')]) {
    assert.equal(await set(who, { kind: 'url', url }), '403 program_not_allowed /voice')
    assert.equal(
      await set(who, { kind: 'application', application_uuid: application }),
      '403 program_not_allowed /voice',
    )
    assert.equal(await set(who, { kind: 'none' }), '200 undefined undefined')
    assert.equal(await move(who, { url: `${url}/2` }), '403 program_not_allowed /url')
    assert.equal(await move(who, { fallback_url: url }), '403 program_not_allowed /fallback_url')
    assert.equal(await move(who, { name: 'Other', url, fallback_url: null }), '200 undefined undefined')
    for (const fields of [{ VoiceUrl: url }, { VoiceApplicationSid: applicationSid }, { StatusCallback: url }])
      assert.equal(await byForm(who, `IncomingPhoneNumbers/${numberSid}`, fields), 403, JSON.stringify(fields))
    assert.equal(await byForm(who, `Applications/${applicationSid}`, { VoiceUrl: `${url}/2` }), 403)
  }
  const shown = await call(ada, 'GET', `${path}/${application}`)
  assert.deepEqual([shown.body.application.url, shown.body.application.fallback_url], [url, null])
  const whole = await limited('numbers', 'develop', 'inbox', 'inbox.all')
  assert.equal(await set(whole, { kind: 'application', application_uuid: application }), '200 undefined undefined')
  assert.equal(await move(whole, { url: `${url}/2` }), '200 undefined undefined')
  assert.equal((await change({ voice: { kind: 'none' } })).status, 200)
})
