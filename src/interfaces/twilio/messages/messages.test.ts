import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { smsJobs } from '../../../domains/sms/jobs.ts'
import { expireKind } from '../../../domains/sms/limits.ts'
import { contact, giveNumber } from '../../../domains/sms/sms-testing.ts'
import { startWorker } from '../../../platform/jobs/consume/worker.ts'
import { parseSid } from '../../../platform/lib/sid.ts'
import { basic, makeTwilioWorld } from '../testing.ts'

const world = await makeTwilioWorld()
const { app, call, db, parts, tenant, credentials, ask } = world

const open = async (balance = '100') => {
  const who = await tenant({ balance })
  return { who, own: await credentials(who), ...(await giveNumber(world, who)) }
}

const rfc2822 = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000$/

test('a message is sent, charged and found in both interfaces', async () => {
  const { who, own, number } = await open('1')
  const { status, body } = await ask(own, 'POST', '/Messages.json', { To: contact, From: number, Body: 'Hello' })
  assert.equal(status, 201, JSON.stringify(body))
  assert.match(body.sid, /^SM[0-9a-f]{32}$/)
  const { sid, date_created, date_updated, ...rest } = body
  assert.match(date_created, rfc2822)
  assert.match(date_updated, rfc2822)
  assert.deepEqual(rest, {
    account_sid: own.sid,
    messaging_service_sid: null,
    api_version: '2010-04-01',
    from: number,
    to: contact,
    body: 'Hello',
    direction: 'outbound-api',
    status: 'queued',
    num_segments: '1',
    num_media: '0',
    price: null,
    price_unit: 'USD',
    error_code: null,
    error_message: null,
    date_sent: null,
    uri: `/2010-04-01/Accounts/${own.sid}/Messages/${sid}.json`,
    subresource_uris: { media: `/2010-04-01/Accounts/${own.sid}/Messages/${sid}/Media.json` },
  })
  assert.equal((await call(who, 'GET', '/open/info')).body.balance.amount, '0.95')
  assert.equal((await ask(own, 'GET', '/Balance.json')).body.balance, '0.95')
  assert.equal((await ask(own, 'GET', `/Messages/${sid}.json`)).body.sid, sid)
  const native = (await call(who, 'GET', '/open/sms/messages')).body.messages[0].uuid
  assert.equal(native.slice(3).replaceAll('-', ''), sid.slice(2))
})

const refused: readonly (readonly [string, Record<string, string>, number, number])[] = [
  ['no recipient', { Body: 'x' }, 21604, 400],
  ['a false recipient', { To: '12', Body: 'x' }, 21211, 400],
  ['no sender', { To: contact, From: '', Body: 'x' }, 21603, 400],
  ['a sender of another account', { To: contact, From: '+447700900999', Body: 'x' }, 21606, 400],
  ['no text', { To: contact }, 21602, 400],
  ['a long text', { To: contact, Body: 'x'.repeat(1601) }, 21617, 400],
  ['a parameter that is not offered', { To: contact, Body: 'x', ContentSid: 'HX1' }, 20001, 400],
  ['a false validity', { To: contact, Body: 'x', ValidityPeriod: '0' }, 21624, 400],
  ['a time without its type', { To: contact, Body: 'x', SendAt: '2027-01-01T00:00:00Z' }, 35126, 400],
  ['a type without its time', { To: contact, Body: 'x', ScheduleType: 'fixed' }, 35111, 400],
  ['a false address', { To: contact, Body: 'x', StatusCallback: 'nowhere' }, 21609, 400],
  ['media without a carrier', { To: contact, MediaUrl: 'https://example.com/a.png' }, 21612, 406],
  ['a closed destination', { To: '+12133734253', Body: 'x' }, 21408, 400],
  ['a dear message', { To: contact, Body: 'x', MaxPrice: '0.01' }, 30010, 400],
]

test('a message with a fault is refused with the code of Twilio', async () => {
  const { own, number } = await open()
  for (const [what, fields, code, status] of refused) {
    const answer = await ask(own, 'POST', '/Messages.json', { From: number, ...fields })
    assert.deepEqual([answer.body.code, answer.status, answer.body.status], [code, status, status], what)
  }
  assert.deepEqual((await ask(own, 'GET', '/Messages.json')).body.messages, [])
})

test('an opt-out, an empty balance and a repeated key are those of the domain', async () => {
  const { who, own, number } = await open('0.05')
  await call(who, 'POST', '/open/sms/opt-outs', { contact_number: '+447911123999' })
  const optedOut = await ask(own, 'POST', '/Messages.json', { To: '+447911123999', From: number, Body: 'x' })
  assert.deepEqual([optedOut.status, optedOut.body.code], [400, 21610])
  const payload = new URLSearchParams({ To: contact, From: number, Body: 'once' }).toString()
  const once = async () => {
    const answer = await app.inject({
      method: 'POST',
      url: `/2010-04-01/Accounts/${own.sid}/Messages.json`,
      headers: {
        authorization: `Basic ${Buffer.from(`${own.sid}:${own.token}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
        'idempotency-key': 'one',
      },
      payload,
    })
    return [answer.statusCode, answer.json().sid]
  }
  assert.deepEqual(await once(), await once())
  const empty = await ask(own, 'POST', '/Messages.json', { To: contact, From: number, Body: 'x' })
  assert.deepEqual([empty.status, empty.body.code], [402, 20005])
})

test('a message may be a multipart form, as old libraries post it; a file in it, and other types, are refused', async () => {
  const { own, number } = await open()
  const post = async (body: FormData | string) => {
    const encoded = new Response(body)
    const answer = await app.inject({
      method: 'POST',
      url: `/2010-04-01/Accounts/${own.sid}/Messages.json`,
      headers: {
        authorization: basic(own.sid, own.token),
        'content-type': encoded.headers.get('content-type') ?? '',
      },
      payload: Buffer.from(await encoded.arrayBuffer()),
    })
    return { status: answer.statusCode, body: answer.json() }
  }
  const form = new FormData()
  for (const [name, value] of Object.entries({ To: contact, From: number, Body: 'Größe & ho' }))
    form.append(name, value)
  const { status, body } = await post(form)
  assert.deepEqual([status, body.body, body.from], [201, 'Größe & ho', number])
  form.append('MediaUrl', new File(['x'], 'a.png'))
  const file = await post(form)
  assert.deepEqual([file.status, file.body.code], [400, 20001])
  assert.match(file.body.message, /^MediaUrl is a file/)
  assert.equal((await post('plain text')).status, 415)
})

test('lists are paged by next_page_uri, with their filters', async () => {
  const { own, number } = await open()
  for (let n = 0; n < 5; n++) await ask(own, 'POST', '/Messages.json', { To: contact, From: number, Body: `text ${n}` })
  await ask(own, 'POST', '/Messages.json', { To: '+447911123000', From: number, Body: 'other' })
  const bodies: string[] = []
  let pages = 0
  let path: string | null = `/Messages.json?${new URLSearchParams({ To: contact, PageSize: '2' })}`
  while (path !== null) {
    const { status, body }: Awaited<ReturnType<typeof ask>> = await ask(own, 'GET', path)
    assert.equal(status, 200)
    assert.equal(body.page, pages++)
    assert.equal(body.page_size, 2)
    assert.match(body.first_page_uri, /To=%2B447911123456/)
    bodies.push(...body.messages.map((one: { body: string }) => one.body))
    path = body.next_page_uri === null ? null : body.next_page_uri.slice(`/2010-04-01/Accounts/${own.sid}`.length)
  }
  assert.deepEqual([pages, bodies], [3, ['text 4', 'text 3', 'text 2', 'text 1', 'text 0']])
  const day = new Date().toISOString().slice(0, 10)
  const count = async (filter: Record<string, string>) =>
    (await ask(own, 'GET', '/Messages.json', filter)).body.messages.length
  assert.deepEqual(
    [
      await count({ From: number }),
      await count({ To: number }),
      await count({ DateSent: day }),
      await count({ 'DateSent<': '2020-01-01' }),
      await count({ 'DateSent>': day }),
    ],
    [6, 0, 6, 0, 6],
  )
  const falseToken = await ask(own, 'GET', '/Messages.json', { PageToken: 'PAx' })
  assert.deepEqual([falseToken.status, falseToken.body.code], [400, 20001])
  assert.match(falseToken.body.message, /^PageToken must be that of a next_page_uri of this list/)
  for (const strange of ['tomorrow', '2026-02-30', '0000-01-01', '9999-12-31']) {
    const refused = await ask(own, 'GET', '/Messages.json', { 'DateSent<': strange })
    assert.deepEqual([refused.status, refused.body.code], [400, 20001], strange)
    assert.match(refused.body.message, /^DateSent< must be a day/)
  }
})

test('a scheduled message is canceled and refunded, once', async () => {
  const { who, own, number } = await open('1')
  const sendAt = new Date(Date.now() + 3_600_000).toISOString()
  const fields = { To: contact, From: number, Body: 'later', SendAt: sendAt, ScheduleType: 'fixed' }
  const { body } = await ask(own, 'POST', '/Messages.json', fields)
  assert.equal(body.status, 'scheduled')
  const canceled = await ask(own, 'POST', `/Messages/${body.sid}.json`, { Status: 'canceled' })
  assert.deepEqual([canceled.status, canceled.body.status], [200, 'canceled'])
  assert.equal((await call(who, 'GET', '/open/info')).body.balance.amount, '1.00')
  const again = await ask(own, 'POST', `/Messages/${body.sid}.json`, { Status: 'canceled' })
  assert.deepEqual([again.status, again.body.code], [409, 30409])
})

test('a time to send at without a zone is in UTC, whatever the zone of the machine', async (t) => {
  const { own, number, who } = await open('1')
  const zone = process.env.TZ
  t.after(() => {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  })
  process.env.TZ = 'America/New_York'
  const at = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16)
  const fields = { To: contact, From: number, Body: 'later', ScheduleType: 'fixed' }
  for (const [sendAt, expected] of [
    [at, `${at}:00.000Z`],
    [`${at}:00+02:00`, new Date(Date.parse(`${at}:00+02:00`)).toISOString()],
  ] as const) {
    const { body } = await ask(own, 'POST', '/Messages.json', { ...fields, SendAt: sendAt })
    assert.equal(body.status, 'scheduled')
    const job = await db.one<{ at: Date }>`
      select run_at as at from jobs where account_id = ${who.id} and id = ${parseSid('SM', body.sid)}`
    assert.equal(job.at.toISOString(), expected)
  }
  const day = await ask(own, 'POST', '/Messages.json', { ...fields, SendAt: at.slice(0, 10) })
  assert.equal(day.body.code, 35114)
})

test('a text is erased and a message deleted once its status is final', async () => {
  const { who, own, number } = await open()
  const { body } = await ask(own, 'POST', '/Messages.json', { To: contact, From: number, Body: 'secret' })
  const path = `/Messages/${body.sid}.json`
  assert.equal((await ask(own, 'POST', path, { Body: '' })).body.code, 20009)
  assert.equal((await ask(own, 'DELETE', path)).body.code, 20009)
  await db.run`update sms_messages set status = 'delivered' where account_id = ${who.id}`
  assert.equal((await ask(own, 'POST', path, { Body: 'other' })).body.code, 20001)
  assert.equal((await ask(own, 'POST', path)).body.body, 'secret', 'a POST without parameters changes nothing')
  const erased = await ask(own, 'POST', path, { Body: '' })
  assert.deepEqual([erased.status, erased.body.body, erased.body.price], [200, '', '-0.05'])
  const deleted = await ask(own, 'DELETE', path)
  assert.deepEqual([deleted.status, deleted.body], [204, null])
  assert.equal((await ask(own, 'GET', path)).body.code, 20404)
  assert.deepEqual((await ask(own, 'GET', '/Messages.json')).body.messages, [])
})

test('messages of another account are unknown', async () => {
  const [ada, bob] = [await open(), await open()]
  const { body } = await ask(bob.own, 'POST', '/Messages.json', { To: contact, From: bob.number, Body: 'x' })
  const missing = `SM${'0'.repeat(32)}`
  for (const method of ['GET', 'POST', 'DELETE'] as const) {
    const [foreign, unknown] = [
      await ask(ada.own, method, `/Messages/${body.sid}.json`),
      await ask(ada.own, method, `/Messages/${missing}.json`),
    ]
    assert.equal(foreign.status, 404)
    assert.deepEqual(JSON.stringify(foreign.body).replace(body.sid, missing), JSON.stringify(unknown.body))
  }
})

test('a message that waits longer than its ValidityPeriod fails and is refunded', async () => {
  const { own, number } = await open('1')
  const fields = { To: contact, From: number, Body: 'soon', ValidityPeriod: '60' }
  const { body } = await ask(own, 'POST', '/Messages.json', fields)
  assert.equal(body.status, 'queued')
  const submit = await db.one<{ payload: { valid_seconds?: number } }>`
    select payload from jobs where kind = 'sms.submit' and id = ${parseSid('SM', body.sid)}`
  assert.equal(submit.payload.valid_seconds, 60, 'the submit ends with it, too')
  const kinds = smsJobs(parts).filter(({ kind }) => kind === expireKind)
  const worker = startWorker({ db, log: parts.log, kinds, schedules: [] })
  after(() => worker.stop(1_000))
  const shown = async () => (await ask(own, 'GET', `/Messages/${body.sid}.json`)).body
  assert.equal((await shown()).status, 'queued')
  await db.run`update clock set offset_seconds = offset_seconds + 61`
  const { error_code } = await until(async () => {
    const found = await shown()
    return found.status === 'undelivered' && found
  })
  assert.equal(error_code, 30036)
  assert.equal((await ask(own, 'GET', '/Balance.json')).body.balance, '1.00')
})

test('a message whose commit is unknown is answered 500, which does not ask for another attempt', async () => {
  const { who, own, number } = await open()
  const answers: ReturnType<typeof ask>[] = []
  await db.begin(async (tx) => {
    await tx.run`select 1 from balances where account_id = ${who.id} for update`
    answers.push(ask(own, 'POST', '/Messages.json', { To: contact, From: number, Body: 'Hello' }))
    await until(async () => {
      const { ended } = await tx.one<{ ended: number }>`
        select count(*) filter (where pg_terminate_backend(pid))::integer as ended from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      return ended > 0
    })
  })
  const [answer] = await Promise.all(answers)
  assert.deepEqual([answer?.status, answer?.body.code], [500, 20500])
})
