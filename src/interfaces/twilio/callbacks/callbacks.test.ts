import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeInboundReceiver } from '../../../domains/sms/inbound/inbound-receiver.ts'
import { contact, giveNumber } from '../../../domains/sms/sms-testing.ts'
import { requestPoll } from '../../../platform/jobs/queue.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { parseSid, printSid } from '../../../platform/lib/sid.ts'
import { makeTwilioWorld, startProgram } from '../testing.ts'
import { signatureOf } from './signature.ts'

const world = await makeTwilioWorld()
const { db, parts, tenant, credentials, ask } = world
const inbound = makeInboundReceiver(db, parts)
const connection = uuid()

const open = async () => {
  const who = await tenant()
  const owned = await giveNumber(world, who)
  return { who, own: await credentials(who), ...owned, pn: printSid('PN', owned.did) }
}

const receive = (number: string, text: string) =>
  inbound.add({ connection, source: contact, destination: number, text, concat: null })

test('each status of a message is posted once and in order, signed with the token', async () => {
  const { who, own, number } = await open()
  const program = await startProgram()
  const url = program.url('/status?x=1')
  const fields = { To: contact, From: number, Body: 'Hello', StatusCallback: url }
  const { body } = await ask(own, 'POST', '/Messages.json', fields)
  assert.equal(body.status, 'queued', JSON.stringify(body))
  for (const status of ['sent', 'delivered'])
    await db.run`update sms_messages set status = ${status} where account_id = ${who.id}`
  await db.run`update sms_messages set status = 'delivered' where account_id = ${who.id}`
  await until(async () => program.requests.length >= 2)
  assert.deepEqual(
    program.requests.map(({ parameters }) => parameters.MessageStatus),
    ['sent', 'delivered'],
  )
  const [first] = program.requests
  assert.deepEqual(first?.parameters, {
    MessageSid: body.sid,
    SmsSid: body.sid,
    MessageStatus: 'sent',
    SmsStatus: 'sent',
    To: contact,
    From: number,
    AccountSid: own.sid,
    ApiVersion: '2010-04-01',
  })
  for (const { signature, parameters } of program.requests)
    assert.equal(signature, signatureOf(own.token, url, parameters))
})

test('a status that cannot be reported now holds back the next one', async () => {
  const { who, own, number } = await open()
  const program = await startProgram({}, async (n) => (n === 1 ? { status: 503 } : undefined))
  const fields = { To: contact, From: number, Body: 'Hello', StatusCallback: program.url('/status') }
  await ask(own, 'POST', '/Messages.json', fields)
  for (const status of ['sent', 'delivered'])
    await db.run`update sms_messages set status = ${status} where account_id = ${who.id}`
  await until(async () => program.requests.length >= 3)
  assert.deepEqual(
    program.requests.map(({ parameters }) => parameters.MessageStatus),
    ['sent', 'sent', 'delivered'],
  )
  const [first, second, third] = program.requests.map(({ id }) => id)
  assert.equal(second, first)
  assert.notEqual(third, first)
})

test('the status callbacks of a blocked account wait until it is open again', async () => {
  const { who, own, number } = await open()
  const program = await startProgram()
  await ask(own, 'POST', '/Messages.json', {
    To: contact,
    From: number,
    Body: 'Hello',
    StatusCallback: program.url('/status'),
  })
  await world.call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { blocked: true })
  await db.run`update sms_messages set status = 'sent' where account_id = ${who.id}`
  const due = () => db.maybe<{ is_later: boolean }>`
    select run_at > app_now() + interval '30 seconds' and leased_until is null as is_later from jobs
    where account_id = ${who.id} and kind = 'twilio.status'`
  await until(async () => {
    const job = await due()
    assert.ok(job, 'the callback is kept')
    return job.is_later
  })
  assert.deepEqual(program.requests, [])
  await world.call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { blocked: false })
  await db.run`update jobs set run_at = app_now() where account_id = ${who.id} and kind = 'twilio.status'`
  requestPoll()
  await until(async () => program.requests.length === 1)
})

test('callbacks of an account go out while the program of another one does not answer', async () => {
  const [slow, other] = [await open(), await open()]
  const hanging = await startProgram({}, () => new Promise(() => undefined))
  const program = await startProgram()
  const send = ({ own, number }: typeof slow, url: string) =>
    ask(own, 'POST', '/Messages.json', { To: contact, From: number, Body: 'Hello', StatusCallback: url })
  const message = parseSid('SM', (await send(slow, hanging.url('/status'))).body.sid)
  await db.run`
    insert into jobs (id, account_id, kind, payload, run_at, created_at)
    select twilio_job_id(), ${slow.who.id}, 'twilio.status',
      jsonb_build_object('message', ${message}::uuid, 'status', 'sent', 'error', null), (select app_now()), (select app_now())
    from generate_series(1, 1000)`
  requestPoll()
  await until(async () => hanging.requests.length >= 32)
  await send(other, program.url('/status'))
  await db.run`update sms_messages set status = 'sent' where account_id = ${other.who.id}`
  await until(async () => program.requests.length === 1)
  assert.equal(hanging.requests.length, 32, 'none of the first requests has ended yet')
  await db.run`delete from jobs where account_id = ${slow.who.id}`
})

test('an inbound message whose worker loses its lease is answered once', async () => {
  const { who, own, number, pn } = await open()
  // The first run goes on, and another worker may claim the job meanwhile.
  const loseLease = async (n: number) => {
    if (n > 1) return
    await db.run`
      update jobs set leased_until = null, owner = null, fence = fence + 1
      where account_id = ${who.id} and kind = 'twilio.inbound'`
    requestPoll()
    await until(async () => program.requests.length === 2)
  }
  const program = await startProgram({ '/in': { body: '<Response><Message>Once</Message></Response>' } }, async (n) => {
    await loseLease(n)
    return undefined
  })
  await ask(own, 'POST', `/IncomingPhoneNumbers/${pn}.json`, { SmsUrl: program.url('/in') })
  await receive(number, 'Hi')
  await until(async () => {
    const { jobs } = await db.one<{ jobs: number }>`
      select count(*)::integer as jobs from jobs where account_id = ${who.id} and kind = 'twilio.inbound'`
    return program.requests.length === 2 && jobs === 0
  })
  assert.equal(program.requests[0]?.id, program.requests[1]?.id)
  const replies = await db.many`
    select 1 from sms_messages where account_id = ${who.id} and direction = 'outbound' and text = 'Once'`
  assert.equal(replies.length, 1)
})

test('a failed message is reported with its code', async () => {
  const { who, own, number } = await open()
  const program = await startProgram()
  await ask(own, 'POST', '/Messages.json', {
    ...{ To: contact, From: number, Body: 'Hello' },
    StatusCallback: program.url('/status'),
  })
  await db.run`update sms_messages set status = 'undelivered', error_code = '99' where account_id = ${who.id}`
  await until(async () => program.requests.length === 1)
  const { MessageStatus, ErrorCode } = program.requests[0]?.parameters ?? {}
  assert.deepEqual([MessageStatus, ErrorCode], ['undelivered', '30003'])
})

test('an inbound message is posted to SmsUrl, and its answer is sent and charged', async () => {
  const { who, own, number, pn } = await open()
  const program = await startProgram({
    '/in': { body: '<Response><Message>One</Message><Redirect>next</Redirect></Response>' },
    '/next': { body: '<Response><Message><Body>Two</Body></Message></Response>' },
  })
  const set = await ask(own, 'POST', `/IncomingPhoneNumbers/${pn}.json`, { SmsUrl: program.url('/in') })
  assert.deepEqual([set.status, set.body.sms_url], [200, program.url('/in')])
  await receive(number, 'Hi there')
  const sent = await until(async () => {
    const rows = await db.many<{ text: string; contact: string }>`
      select text, contact from sms_messages where account_id = ${who.id} and direction = 'outbound' order by id`
    return rows.length === 2 ? rows : null
  })
  assert.deepEqual(sent, [
    { text: 'One', contact },
    { text: 'Two', contact },
  ])
  const [first, second] = program.requests
  assert.deepEqual([first?.path, second?.path, first?.method], ['/in', '/next', 'POST'])
  const { MessageSid, SmsSid, SmsMessageSid, ...rest } = first?.parameters ?? {}
  assert.match(MessageSid ?? '', /^SM[0-9a-f]{32}$/)
  assert.deepEqual([SmsSid, SmsMessageSid], [MessageSid, MessageSid])
  assert.deepEqual(rest, {
    AccountSid: own.sid,
    From: contact,
    To: number,
    Body: 'Hi there',
    NumSegments: '1',
    NumMedia: '0',
    SmsStatus: 'received',
    ApiVersion: '2010-04-01',
  })
  assert.equal((await ask(own, 'GET', '/Balance.json')).body.balance, '99.90')
})

test('a reply that is longer than a message may be is not sent, and costs nothing', async () => {
  const { who, own, number, pn } = await open()
  const long = 'x'.repeat(1_601)
  const program = await startProgram({
    '/in': { body: `<Response><Message>${long}</Message><Message>Short</Message></Response>` },
  })
  await ask(own, 'POST', `/IncomingPhoneNumbers/${pn}.json`, { SmsUrl: program.url('/in') })
  await receive(number, 'Hi')
  const sent = await until(async () => {
    const rows = await db.many<{ text: string }>`
      select text from sms_messages where account_id = ${who.id} and direction = 'outbound'`
    return rows.length > 0 ? rows : null
  })
  assert.deepEqual(sent, [{ text: 'Short' }])
  assert.equal((await ask(own, 'GET', '/Balance.json')).body.balance, '99.95')
})

const programs: readonly (readonly [string, { status?: number; type?: string; body?: string }, number])[] = [
  ['that answers 500', { status: 500 }, 11200],
  ['whose document is not XML', { body: '<Response>' }, 12100],
  ['with a verb of calls', { body: '<Response><Say>x</Say></Response>' }, 12200],
  ['of a false content type', { type: 'application/pdf', body: '%PDF' }, 12300],
]

for (const [what, answer, code] of programs)
  test(`a program ${what} is replaced by its fallback, which learns the code ${code}`, async () => {
    const { who, own, number, pn } = await open()
    const program = await startProgram({ '/in': answer, '/fallback': { type: 'text/plain', body: 'Sorry' } })
    await ask(own, 'POST', `/IncomingPhoneNumbers/${pn}.json`, {
      ...{ SmsUrl: program.url('/in'), SmsFallbackUrl: program.url('/fallback'), SmsFallbackMethod: 'GET' },
    })
    await receive(number, what)
    await until(async () => program.requests.length === 2)
    const fallback = program.requests[1]
    assert.deepEqual(
      [fallback?.method, fallback?.parameters.ErrorCode, fallback?.parameters.ErrorUrl],
      ['GET', String(code), program.url('/in')],
    )
    await until(async () => {
      const row = await db.maybe<{ text: string }>`
        select text from sms_messages where account_id = ${who.id} and direction = 'outbound'`
      return row?.text === 'Sorry'
    })
  })

test('a number without SmsUrl, and an account without a token, post nothing', async () => {
  const { who, own, number, pn } = await open()
  const program = await startProgram()
  await receive(number, 'before')
  await ask(own, 'POST', `/IncomingPhoneNumbers/${pn}.json`, { SmsUrl: program.url('/in') })
  await world.call(who, 'DELETE', `/open/compat/credentials/${own.key}`)
  await receive(number, 'after')
  await until(async () => {
    const { jobs } = await db.one<{ jobs: number }>`
      select count(*)::integer as jobs from jobs where account_id = ${who.id} and kind = 'twilio.inbound'`
    return jobs === 0
  })
  assert.deepEqual(program.requests, [])
})
