import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { putPrices } from '../../../../test/prices.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import type { Tenant } from '../../../../test/world.ts'
import { twilioSignature } from '../../../adapters/sms-http/providers/twilio.ts'
import { storedBytes } from '../../../platform/http/quotas.ts'
import { makeInbox } from '../../inbox/inbox-testing.ts'
import { eventsOf } from '../../msgapp/messages/testing.ts'
import { connectProvider, disconnectProvider } from '../sms-http-testing.ts'
import { contact, giveNumber, makeSmsWorld, startSmsc } from '../sms-testing.ts'

// Messages with files, over a double of Twilio. Tenants and providers may name files on 127.0.0.1 alone.

let ours = ''
const world = await makeSmsWorld(
  { publicUrl: () => ours },
  {
    TRUNKLINE_HOME: temporaryFolder(),
    TRUNKLINE_ALLOW_PRIVATE_HOOKS: 'false',
    TRUNKLINE_ALLOW_HOOK_NETWORKS: '127.0.0.0/8',
    TRUNKLINE_ALLOW_HTTP_HOOKS: 'true',
  },
)
ours = await world.app.listen({ port: 0, host: '127.0.0.1' })
after(world.stop)
const { advance, call, db, inspect, parts, tenant, waitForStatus } = world

const listen = async (handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> => {
  const server = createServer(handle).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close().closeAllConnections())
  const bound = server.address()
  return `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`
}

const picture = randomBytes(50_000)
/** Requests for files, with their credentials. */
const asked: { path: string; authorization: string | undefined }[] = []
/** Paths that are not there any more, or for the moment. */
const failing = new Map<string, number>()

const files = await listen(({ url = '', headers: { authorization } }, response) => {
  asked.push({ path: url, authorization })
  const failure = failing.get(url)
  if (failure !== undefined) response.writeHead(failure).end()
  else if (url.startsWith('/photo')) response.setHeader('content-type', 'image/jpeg').end(picture)
  else if (url === '/large.mp4') response.setHeader('content-type', 'video/mp4').end(Buffer.alloc(3 * 1024 * 1024))
  else if (url === '/empty.png') response.setHeader('content-type', 'image/png').end()
  else response.writeHead(404).end()
})

const submits: URLSearchParams[] = []
const account = { sid: 'AC1', token: 'token' }
const credentials = `Basic ${btoa(`${account.sid}:${account.token}`)}`

/** Accepts messages, and redirects to the files of inbound ones as Twilio does. */
const twilio = await listen(async (request, response) => {
  const { url = '', headers } = request
  if (request.method === 'POST') {
    submits.push(new URLSearchParams(await readText(request)))
    response.writeHead(201).end(JSON.stringify({ sid: `MM${submits.length}`, status: 'queued' }))
  } else {
    asked.push({ path: url, authorization: headers.authorization })
    if (headers.authorization !== credentials) response.writeHead(401).end()
    else response.writeHead(307, { location: `${files}/photo-${url.split('/').at(-1)}.jpg` }).end()
  }
})

const settings = { provider: 'twilio', base_url: twilio, account_sid: account.sid, auth_token: account.token }

const connected = async (run: (connection: string) => Promise<void>) => {
  const connection = await connectProvider(world, { settings })
  try {
    await run(connection)
  } finally {
    await disconnectProvider(world, connection)
  }
}

const sender = async () => {
  const who = await tenant()
  return { who, ...(await giveNumber(world, who)) }
}

const sendMms = (who: Tenant, from: string, media_urls: readonly string[], text = '') =>
  call(who, 'POST', '/open/sms/send', { from_number: from, to_number: contact, text, media_urls })

const open = (url: string) => world.app.inject({ url: url.replace(ours, '') })

const balanceOf = async ({ id }: Tenant) =>
  (await db.one<{ balance: string }>`select balance from balances where account_id = ${id}`).balance

test('an MMS counts for a key with a daily spend limit, which refuses one more and keeps no file of it', () =>
  connected(async () => {
    const { who, number } = await sender()
    const { key } = (await call(who, 'POST', '/open/keys', { label: 'limited', spend_per_day: '0.07' })).body
    const limited = { ...who, key }
    assert.equal((await sendMms(limited, number, [`${files}/photo.jpg`])).status, 202)
    const refused = await sendMms(limited, number, [`${files}/photo.jpg`])
    assert.deepEqual([refused.status, refused.body.error_code], [402, 'key_spend_limit'])
    assert.equal(await storedBytes(db, who.id), picture.length)
  }))

test('an MMS reaches its carrier as links to files in our store, and costs as much as one segment without a price', () =>
  connected(async () => {
    const { who, number, channel } = await sender()
    const before = asked.length
    const answer = await sendMms(who, number, [`${files}/photo.jpg`, `${files}/photo2.jpg?x=1`])
    assert.equal(answer.status, 202, JSON.stringify(answer.body))
    assert.equal(asked.length - before, 2, 'both were fetched before the answer')
    assert.equal(await storedBytes(db, who.id), 2 * picture.length)
    const printed = answer.body.message_uuid
    const message = await waitForStatus(who, printed, 'sent')
    const submit = submits.at(-1)
    assert.ok(submit)
    assert.deepEqual([submit.get('To'), submit.has('Body')], [contact, false])
    const links = submit.getAll('MediaUrl')
    assert.equal(links.length, 2)
    for (const link of links) {
      const file = await open(link)
      assert.deepEqual([file.statusCode, file.headers['content-type']], [200, 'image/jpeg'])
      assert.ok(file.rawPayload.equals(picture))
    }
    const { id } = await tenant()
    const foreign = await open(links[0]?.replace(/account=[^&]*/, `account=${id}`) ?? '')
    assert.equal(foreign.statusCode, 404, 'a link is of one account')
    const media = { type: 'image', mime_type: 'image/jpeg', size: picture.length }
    assert.deepEqual(
      [message.price, message.fragments, message.text, message.media],
      [
        ...[0.04, 1, ''],
        [
          { url: links[0], ...media, name: 'photo.jpg' },
          { url: links[1], ...media, name: 'photo2.jpg' },
        ],
      ],
    )
    const [listed] = (await call(who, 'GET', '/open/sms/messages')).body.messages
    const [threaded] = (await call(who, 'GET', `/open/sms/messages/${channel}/${contact}`)).body.messages
    assert.deepEqual([listed.media, threaded.media], [message.media, message.media])
    assert.equal('media' in (await inspect(printed)).message, false, 'operators see no files of tenants')
  }))

test('an MMS has the price of its kind, however long its text is, and a message without files has none of it', () =>
  connected(async () => {
    await putPrices(world, [{ kind: 'mms_out', prefix: '44', price: '0.09' }])
    const { who, number } = await sender()
    const text = 'x'.repeat(400)
    const printed = (await sendMms(who, number, [`${files}/photo.jpg`], text)).body.message_uuid
    const message = await waitForStatus(who, printed, 'sent')
    assert.deepEqual([message.price, message.fragments], [0.09, 1])
    assert.equal(submits.at(-1)?.get('Body'), text)
    const plain = (await world.send(who, number, 'plain')).body.message_uuid
    const sent = await waitForStatus(who, plain, 'sent')
    assert.deepEqual([sent.price, 'media' in sent, submits.at(-1)?.has('MediaUrl')], [0.04, false, false])
    const empty = await call(who, 'POST', '/open/sms/send', { from_number: number, to_number: contact, text: '' })
    assert.deepEqual([empty.status, empty.body.field], [400, '/text'])
  }))

test('a scheduled MMS keeps its files until it is sent', () =>
  connected(async () => {
    const { who, number } = await sender()
    const send_at = new Date(parts.clock.now() + 3_600_000).toISOString()
    const body = { from_number: number, to_number: contact, text: '', media_urls: [`${files}/photo.jpg`], send_at }
    const printed = (await call(who, 'POST', '/open/sms/send', body)).body.message_uuid
    await advance(3_700)
    await waitForStatus(who, printed, 'sent')
    const link = submits.at(-1)?.get('MediaUrl') ?? ''
    assert.equal((await open(link)).statusCode, 200)
  }))

test('a route whose carriers take no files refuses an MMS, and asks for no file', async () => {
  const { who, number } = await sender()
  const before = asked.length
  const smsc = await startSmsc()
  const id = await world.connect('smpp', smsc)
  const refused = await sendMms(who, number, [`${files}/photo.jpg`])
  assert.deepEqual([refused.status, refused.body.error_code], [406, 'not_supported'])
  assert.equal(asked.length, before)
  // With a second carrier that takes files, an MMS goes over that one, whatever the priorities are.
  await world.change(id, { settings: { priority: 1 } })
  await connected(async () => {
    const printed = (await sendMms(who, number, [`${files}/photo.jpg`])).body.message_uuid
    await waitForStatus(who, printed, 'sent')
    assert.equal(smsc.submits.length, 0)
  })
  await call('operator', 'DELETE', `/operator/connections/${id}`)
  smsc.close()
})

test('a file that cannot be had refuses the message, and the refusal names its URL', () =>
  connected(async () => {
    const { who, number } = await sender()
    const before = await balanceOf(who)
    for (const [urls, index, why] of [
      [[`${files}/photo.jpg`, `${files}/missing.jpg`], 1, /answered 404/],
      [[`${files}/empty.png`], 0, /empty/],
      [[`${files}/large.mp4`, `${files}/large.mp4`], 1, /bytes/],
      [['http://10.0.0.1/photo.jpg'], 0, /leads to/],
      [['no address'], 0, /URL/],
    ] as const) {
      const { status, body } = await sendMms(who, number, urls)
      assert.deepEqual([status, body.error_code], [422, 'media_unavailable'], JSON.stringify(body))
      assert.ok(body.error_message.includes(urls[index]), body.error_message)
      assert.match(body.error_message, why)
    }
    const tooMany = await sendMms(who, number, Array(11).fill(`${files}/photo.jpg`))
    assert.equal(tooMany.status, 400)
    const poor = await tenant({ balance: '0' })
    const line = await giveNumber(world, poor)
    assert.equal((await sendMms(poor, line.number, [`${files}/photo.jpg`])).status, 402)
    assert.deepEqual([await storedBytes(db, who.id), await storedBytes(db, poor.id)], [0, 0], 'no file is kept')
    assert.equal(await balanceOf(who), before)
    const { n } = await db.one<{ n: number }>`
      select count(*)::integer as n from sms_messages where account_id = ${who.id}`
    assert.equal(n, 0)
  }))

test('a full store refuses an MMS', () =>
  connected(async () => {
    const { who, number } = await sender()
    await call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { quotas: { stored_bytes: 60_000 } })
    const refused = await sendMms(who, number, [`${files}/photo.jpg`, `${files}/photo2.jpg`])
    assert.deepEqual([refused.status, refused.body.error_code], [403, 'limit_exceeded'])
  }))

test('a repeated request has its answer without fetching its file, which is gone meanwhile', () =>
  connected(async () => {
    const { who, number } = await sender()
    const payload = { from_number: number, to_number: contact, text: '', media_urls: [`${files}/photo-once.jpg`] }
    const request = () =>
      world.app.inject({
        ...{ method: 'POST', url: '/open/sms/send', payload },
        headers: { 'x-user-api-key': who.key, 'idempotency-key': 'one' },
      })
    const first = await request()
    assert.equal(first.statusCode, 202, first.body)
    failing.set('/photo-once.jpg', 404)
    assert.deepEqual((await request()).json(), first.json())
    assert.equal(asked.filter(({ path }) => path === '/photo-once.jpg').length, 1, 'the file is fetched once')
    await waitForStatus(who, first.json().message_uuid, 'sent')
  }))

/** A handset writes over Twilio. */
const write = async (connection: string, fields: Record<string, string>) => {
  const url = `${ours}/callbacks/sms/CNX${connection}`
  const form = new URLSearchParams({ From: contact, MessageSid: `MM${randomBytes(8).toString('hex')}`, ...fields })
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'x-twilio-signature': twilioSignature(account.token, url, form),
  }
  const { status } = await fetch(url, { method: 'POST', headers, body: form.toString() })
  assert.equal(status, 204)
}

const mediaUrl = (id: string) => `${twilio}/2010-04-01/Accounts/AC1/Messages/MM1/Media/${id}`

test('files of an inbound MMS are fetched, with credentials for the origin of the provider alone', () =>
  connected(async (connection) => {
    const { who, number, channel } = await sender()
    const before = asked.length
    await write(connection, {
      ...{ To: number, Body: '', NumMedia: '3' },
      ...{ MediaUrl0: mediaUrl('ME0'), MediaContentType0: 'image/jpeg' },
      ...{ MediaUrl1: `${files}/photo-elsewhere.jpg`, MediaContentType1: 'image/jpeg' },
      ...{ MediaUrl2: `${files}/layout`, MediaContentType2: 'application/smil' },
    })
    const threadOf = async () => (await call(who, 'GET', `/open/sms/messages/${channel}/${contact}`)).body.messages
    const message = await until(async () => {
      const [first] = await threadOf()
      return first?.media.every(({ size }: { size?: number }) => size === picture.length) ? first : null
    })
    assert.deepEqual(
      message.media.map(({ url, ...file }: { url: string }) => file),
      [
        { type: 'image', mime_type: 'image/jpeg', size: picture.length },
        { type: 'image', mime_type: 'image/jpeg', name: 'photo-elsewhere.jpg', size: picture.length },
      ],
    )
    for (const { url } of message.media) {
      const digest = createHash('sha256').update((await open(url)).rawPayload)
      assert.equal(digest.digest('hex'), createHash('sha256').update(picture).digest('hex'))
    }
    const requests = asked.slice(before).map(({ path, authorization }) => [path.split('/').at(-1), authorization])
    assert.deepEqual(requests.sort(), [
      ['ME0', credentials],
      ['photo-ME0.jpg', undefined],
      ['photo-elsewhere.jpg', undefined],
    ])
    const [event] = await eventsOf(world, who.id, 'sms.message.received')
    const unsized = ({ size, ...file }: { size: number }) => file
    assert.deepEqual(event?.payload.media, message.media.map(unsized))
  }))

test('the inbox shows the files of an MMS, and its list what came', () =>
  connected(async (connection) => {
    const { who, number } = await sender()
    const inbox = makeInbox(world)
    await write(connection, { To: number, Body: '', NumMedia: '1', MediaUrl0: `${files}/photo-inbox.jpg` })
    const [conversation] = await until(async () => {
      const found = await inbox.conversations(who)
      return found.length > 0 && found
    })
    assert.ok(conversation)
    assert.deepEqual(conversation.last, { ...Object(conversation.last), text: '[image]' })
    const [item] = (await inbox.items(who, conversation.uuid)).items
    assert.equal(item.sms.media[0].name, 'photo-inbox.jpg')
    await inbox.stop()
  }))

test('a file of an inbound MMS is tried again after a failure for the moment, and shows why it never came', () =>
  connected(async (connection) => {
    const { who, number, channel } = await sender()
    failing.set('/photo-later.jpg', 503)
    await write(connection, {
      ...{ To: number, Body: 'Look', NumMedia: '3', MediaUrl0: `${files}/photo-later.jpg` },
      ...{ MediaUrl1: `${files}/missing.jpg`, MediaUrl2: 'http://10.0.0.1/photo.jpg' },
    })
    const media = async () =>
      (await call(who, 'GET', `/open/sms/messages/${channel}/${contact}`)).body.messages[0]?.media ?? []
    await until(async () => {
      const [, missing, hidden] = await media()
      return missing?.error && hidden?.error
    })
    await until(async () => asked.some(({ path }) => path === '/photo-later.jpg'))
    assert.match((await media())[1].error, /404/)
    assert.match((await media())[2].error, /leads to/)
    failing.delete('/photo-later.jpg')
    await until(async () => {
      await advance(10)
      return (await media())[0].size === picture.length
    })
  }))

test('no file of a blocked contact is fetched', () =>
  connected(async (connection) => {
    const { who, number, channel } = await sender()
    const body = { first_name: 'Ada', contact_details: [{ type: 'PH', value: contact }] }
    const id = (await call(who, 'POST', '/open/contacts', body)).body.contact.uuid
    await call(who, 'PUT', `/open/contacts/${id}/block`)
    await write(connection, { To: number, Body: 'spam', NumMedia: '1', MediaUrl0: `${files}/photo-spam.jpg` })
    const [message] = (await call(who, 'GET', `/open/sms/messages/${channel}/${contact}`)).body.messages
    assert.deepEqual([message.sub_status, 'media' in message], ['blocked', false])
    const { n } = await db.one<{ n: number }>`
      select count(*)::integer as n from msgapp_media where account_id = ${who.id}`
    assert.equal(n, 0)
  }))
