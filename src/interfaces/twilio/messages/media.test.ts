import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeInboundReceiver } from '../../../domains/sms/inbound/inbound-receiver.ts'
import { smsJobs } from '../../../domains/sms/jobs.ts'
import { inboundMediaJob } from '../../../domains/sms/mms/inbound-media.ts'
import { contact, giveNumber } from '../../../domains/sms/sms-testing.ts'
import { startWorker } from '../../../platform/jobs/consume/worker.ts'
import { requestPoll } from '../../../platform/jobs/queue.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import { makeTwilioWorld, startProgram } from '../testing.ts'

// Messages with files in the shape of Twilio, over a carrier that takes them.

const world = await makeTwilioWorld()
const { app, call, db, parts, tenant, credentials, ask } = world
const picture = Buffer.alloc(10_000, 7)

/** Messages as the carrier got them. */
const submits: { text: string; media: string[] }[] = []
const server = createServer(async (request, response) => {
  if (request.method === 'POST') {
    submits.push(JSON.parse(await readText(request)))
    response.end(JSON.stringify({ id: `m${submits.length}` }))
  } else if (request.url?.startsWith('/photo')) response.setHeader('content-type', 'image/png').end(picture)
  else response.writeHead(404).end()
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
after(() => server.close().closeAllConnections())
const files = `http://127.0.0.1:${Object(server.address()).port}`

await call('operator', 'POST', '/operator/connections', {
  ...{ kind: 'sms-http', name: 'carrier' },
  settings: { provider: 'generic', url: files, body: '{"to":"{to}","text":"{text}","media":{media}}', id_path: '/id' },
})
await parts.routing.ready()
await parts.carriers.start()
const worker = startWorker({
  db,
  log: parts.log,
  kinds: [...smsJobs(parts), inboundMediaJob(parts)],
  schedules: [],
})
after(async () => {
  await worker.stop(1_000)
  await parts.carriers.close()
})
const inbound = makeInboundReceiver(db, parts)

const open = async () => {
  const who = await tenant()
  const owned = await giveNumber(world, who)
  return { who, own: await credentials(who), ...owned, pn: printSid('PN', owned.did) }
}

const read = (url: string) => app.inject({ url: url.replace('http://127.0.0.1:8080', '') })

test('MediaUrl sends an MMS, whose Media resource leads to the file until the message is deleted', async () => {
  const { own, number } = await open()
  const fields = { To: contact, From: number, MediaUrl: [`${files}/photo1`, `${files}/photo2`] }
  const { status, body } = await ask(own, 'POST', '/Messages.json', fields)
  assert.equal(status, 201, JSON.stringify(body))
  assert.match(body.sid, /^MM/)
  assert.deepEqual([body.num_media, body.num_segments, body.body], ['2', '1', ''])
  await until(async () => submits.length === 1)
  const list = (await ask(own, 'GET', `/Messages/${body.sid}/Media.json`)).body.media_list
  assert.deepEqual(
    list.map(({ url }: { url: string }) => url),
    submits[0]?.media,
  )
  const [first] = list
  assert.deepEqual([first.content_type, first.parent_sid], ['image/png', body.sid])
  const path = first.uri.replace(`/2010-04-01/Accounts/${own.sid}`, '')
  assert.deepEqual((await ask(own, 'GET', path)).body, first)
  assert.ok((await read(first.url)).rawPayload.equals(picture))
  const [other] = [await open()]
  assert.equal((await ask(other.own, 'GET', path)).status, 404)
  await until(async () => (await ask(own, 'GET', `/Messages/${body.sid}.json`)).body.status === 'sent')
  assert.equal((await ask(own, 'DELETE', `/Messages/${body.sid}.json`)).status, 204)
  assert.equal((await read(first.url)).statusCode, 404)
})

test('a file that is not there refuses the message with the code of Twilio', async () => {
  const { own, number } = await open()
  const fields = { To: contact, From: number, MediaUrl: `${files}/missing` }
  const { status, body } = await ask(own, 'POST', '/Messages.json', fields)
  assert.deepEqual([status, body.code], [400, 21620])
  const dear = { ...fields, MediaUrl: `${files}/photo`, MaxPrice: '0.01' }
  assert.equal((await ask(own, 'POST', '/Messages.json', dear)).body.code, 30010)
  assert.deepEqual((await ask(own, 'GET', '/Messages.json')).body.messages, [])
})

test('a program gets links to the files of an inbound MMS, and answers with files', async () => {
  const { own, number, pn } = await open()
  const reply = `<Response><Message><Body>Yours</Body><Media>${files}/photo3</Media></Message></Response>`
  const program = await startProgram({ '/in': { body: reply } })
  await ask(own, 'POST', `/IncomingPhoneNumbers/${pn}.json`, { SmsUrl: program.url('/in') })
  const before = submits.length
  await inbound.add({
    ...{ connection: uuid(), source: contact, destination: number, text: '', concat: null },
    media: [{ url: `${files}/photo4.png`, mimeType: 'image/png' }],
  })
  requestPoll()
  await until(async () => submits.length > before)
  const { parameters } = program.requests[0] ?? {}
  assert.deepEqual([parameters?.NumMedia, parameters?.MediaContentType0], ['1', 'image/png'])
  assert.match(parameters?.MessageSid ?? '', /^MM/)
  assert.ok((await read(parameters?.MediaUrl0 ?? '')).rawPayload.equals(picture))
  const sent = submits.at(-1)
  assert.deepEqual([sent?.text, sent?.media.length], ['Yours', 1])
  assert.ok((await read(sent?.media[0] ?? '')).rawPayload.equals(picture))
})
