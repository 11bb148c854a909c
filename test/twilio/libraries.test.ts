import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { makeInboundReceiver } from '../../src/domains/sms/inbound/inbound-receiver.ts'
import { contact, giveNumber } from '../../src/domains/sms/sms-testing.ts'
import { makeTwilioWorld, startProgram, stockNumbers } from '../../src/interfaces/twilio/testing.ts'
import { uuid } from '../../src/platform/lib/id.ts'
import { printSid } from '../../src/platform/lib/sid.ts'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { installedLibraries } from './installed.ts'

// The official libraries, unchanged but for their base URL.

const { folder, skip } = installedLibraries()
const world = await makeTwilioWorld()
const { app, db, parts, tenant, credentials } = world
await app.listen({ host: '127.0.0.1', port: 0 })
const base = `http://127.0.0.1:${Object(app.server.address()).port}`

await stockNumbers(world, { iso: 'GB', name: 'United Kingdom', code: '44', area: '1632' }, 40)

const open = async () => {
  const who = await tenant()
  const given = await giveNumber(world, who)
  return { who, own: await credentials(who), ...given, pn: printSid('PN', given.did) }
}

for (const version of ['twilio4', 'twilio5', 'twilio6']) {
  const load = () => createRequire(join(folder, 'node_modules', 'x.js'))(version)

  const clientOf = ({ sid, token }: { sid: string; token: string }) => {
    const client = load()(sid, token)
    client.api.baseUrl = base
    client.lookups.baseUrl = base
    return client
  }

  test(`${version}: sends, fetches, lists over three pages, cancels, erases and deletes`, { skip }, async () => {
    const { who, own, number } = await open()
    const client = clientOf(own)
    const sent = await client.messages.create({ from: number, to: contact, body: 'Hello' })
    assert.match(sent.sid, /^SM[0-9a-f]{32}$/)
    assert.deepEqual([sent.status, sent.direction, sent.numSegments], ['queued', 'outbound-api', '1'])
    assert.ok(sent.dateCreated instanceof Date && !Number.isNaN(sent.dateCreated.getTime()))
    assert.equal((await client.messages(sent.sid).fetch()).body, 'Hello')
    for (let n = 0; n < 5; n++) await client.messages.create({ from: number, to: contact, body: `text ${n}` })
    const listed = await client.messages.list({ to: contact, pageSize: 2 })
    assert.equal(listed.length, 6)
    const sendAt = new Date(Date.now() + 3_600_000)
    const later = await client.messages.create({ from: number, to: contact, body: 'x', sendAt, scheduleType: 'fixed' })
    assert.equal((await client.messages(later.sid).update({ status: 'canceled' })).status, 'canceled')
    await db.run`update sms_messages set status = 'delivered' where account_id = ${who.id} and status = 'queued'`
    assert.equal((await client.messages(sent.sid).update({ body: '' })).body, '')
    assert.equal(await client.messages(sent.sid).remove(), true)
    await assert.rejects(client.messages(sent.sid).fetch(), { status: 404, code: 20404 })
  })

  test(`${version}: refusals are errors with their status and code`, { skip }, async () => {
    const { own, number } = await open()
    const client = clientOf(own)
    const refused = async (fields: object, status: number, code: number) => {
      await assert.rejects(client.messages.create({ from: number, to: contact, body: 'x', ...fields }), (error) => {
        assert.deepEqual([Object(error).status, Object(error).code], [status, code])
        assert.match(Object(error).moreInfo, /docs\/twilio#errors/)
        return true
      })
    }
    await refused({ body: 'x'.repeat(1601) }, 400, 21617)
    await refused({ from: '+447700900999' }, 400, 21606)
    await refused({ to: '12' }, 400, 21211)
    await assert.rejects(clientOf({ ...own, token: 'f'.repeat(32) }).messages.list(), { status: 401, code: 20003 })
    await assert.rejects(client.conferences.list(), { status: 404, code: 20404 })
  })

  test(`${version}: account, balance, numbers and look-up are read`, { skip }, async () => {
    const { own, number, pn } = await open()
    const client = clientOf(own)
    assert.equal((await client.api.v2010.accounts(own.sid).fetch()).status, 'active')
    assert.deepEqual((await client.balance.fetch()).balance, '100.00')
    assert.deepEqual(
      (await client.incomingPhoneNumbers.list()).map((one: { phoneNumber: string }) => one.phoneNumber),
      [number],
    )
    const changed = await client.incomingPhoneNumbers(pn).update({ friendlyName: 'Desk' })
    assert.equal(changed.friendlyName, 'Desk')
    assert.equal((await client.lookups.v2.phoneNumbers(contact).fetch()).valid, true)
  })

  test(`${version}: numbers are searched, bought, given an address and released`, { skip }, async () => {
    const client = clientOf((await open()).own)
    const [found] = await client.availablePhoneNumbers('GB').local.list({ inLocality: 'Scene', limit: 1 })
    assert.deepEqual([found.isoCountry, found.locality], ['GB', 'Sceneton'])
    const { phoneNumber } = found
    const bought = await client.incomingPhoneNumbers.create({ phoneNumber, smsUrl: 'http://127.0.0.1:8099/in' })
    assert.deepEqual([bought.phoneNumber, bought.smsUrl], [phoneNumber, 'http://127.0.0.1:8099/in'])
    await assert.rejects(client.incomingPhoneNumbers.create({ phoneNumber }), { status: 400, code: 21422 })
    assert.equal(await client.incomingPhoneNumbers(bought.sid).remove(), true)
  })

  test(`${version}: its validator accepts status callbacks and inbound messages, and its builder answers`, {
    skip,
  }, async () => {
    const twilio = load()
    const { who, own, number, pn } = await open()
    const answer = new twilio.twiml.MessagingResponse()
    answer.message('Thank you')
    const program = await startProgram({ '/in': { body: answer.toString() } })
    const client = clientOf(own)
    const statusCallback = program.url('/status?x=1')
    await client.messages.create({ from: number, to: contact, body: 'Hello ✓', statusCallback })
    await db.run`update sms_messages set status = 'sent' where account_id = ${who.id}`
    await client.incomingPhoneNumbers(pn).update({ smsUrl: program.url('/in'), smsMethod: 'POST' })
    const inbound = makeInboundReceiver(db, parts)
    await inbound.add({ connection: uuid(), source: contact, destination: number, text: version, concat: null })
    await until(async () => program.requests.length === 2)
    for (const { path, parameters, signature } of program.requests) {
      const url = path === '/status' ? statusCallback : program.url(path)
      assert.equal(twilio.validateRequest(own.token, signature, url, parameters), true, path)
      assert.equal(twilio.validateRequest('other', signature, url, parameters), false, path)
    }
    await until(async () => {
      const row = await db.maybe`
        select 1 from sms_messages where account_id = ${who.id} and direction = 'outbound' and text = 'Thank you'`
      return row !== null
    })
  })
}

const python = `
import sys
from twilio.rest import Client
from twilio.base.exceptions import TwilioRestException
base, sid, token, number, contact = sys.argv[1:]
client = Client(sid, token)
client.api.base_url = base
client.lookups.base_url = base
sent = client.messages.create(from_=number, to=contact, body="Hello")
assert sent.status == "queued", sent.status
assert client.messages(sent.sid).fetch().body == "Hello"
for n in range(5):
    client.messages.create(from_=number, to=contact, body="text %d" % n)
assert len(client.messages.list(to=contact, page_size=2)) == 6
from datetime import datetime, timedelta, timezone
later = datetime.now(timezone.utc) + timedelta(hours=1)
planned = client.messages.create(from_=number, to=contact, body="later", send_at=later, schedule_type="fixed")
assert client.messages(planned.sid).update(status="canceled").status == "canceled"
assert client.messages(planned.sid).update(body="").body == ""
assert client.messages(planned.sid).delete()
free = client.available_phone_numbers("GB").local.list(limit=1)[0].phone_number
bought = client.incoming_phone_numbers.create(phone_number=free, sms_url=base + "/in")
assert bought.sms_url == base + "/in"
assert client.incoming_phone_numbers(bought.sid).delete()
assert client.balance.fetch().currency == "USD"
assert [one.phone_number for one in client.incoming_phone_numbers.list()] == [number]
assert client.lookups.v1.phone_numbers("+447400123456").fetch().country_code == "GB"
try:
    client.messages.create(from_=number, to=contact, body="x" * 1601)
    sys.exit("not refused")
except TwilioRestException as error:
    assert (error.status, error.code) == (400, 21617), (error.status, error.code)
try:
    client.messages("SM" + "0" * 32).fetch()
    sys.exit("found")
except TwilioRestException as error:
    assert (error.status, error.code) == (404, 20404), (error.status, error.code)
`

/** Debian's interpreter, whatever the path has: its library belongs to it. */
const debianPython = '/usr/bin/python3'

/** Whether Debian's library is installed. */
const hasPython = await promisify(execFile)(debianPython, ['-c', 'import twilio']).then(
  () => true,
  () => false,
)

test(
  'python3-twilio sends, lists over three pages, and raises its errors',
  needs('python3-twilio', hasPython),
  async () => {
    const { own, number } = await open()
    await promisify(execFile)(debianPython, ['-c', python, base, own.sid, own.token, number, contact])
  },
)

after(() => app.close())
