import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { makeWorld } from '../../../../test/world.ts'
import { makeLog } from '../../../log.ts'
import { Snooze } from '../../../platform/jobs/job-kind.ts'
import { folderIdFile, folderIdOf } from '../../../platform/lib/folder-id.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { inbound, makeChatHarness } from '../messages/testing.ts'
import { makeFetchLimiter, raceSignal } from './fetch-limiter.ts'
import { makeMedia } from './ops.ts'
import { spool } from './spool.ts'

const home = temporaryFolder()
const logged: string[] = []
const log = makeLog('error', { write: (line) => void logged.push(line) })
const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_HOME: home }, {}, { log })
const { call, app } = world
const them = '+447700900123'
const picture = randomBytes(200_000)
let requestCount = 0
/** Requests that are never answered. */
const held: string[] = []

const files = createServer((request, response) => {
  requestCount++
  const path = request.url ?? ''
  if (path.startsWith('/menu.pdf')) response.setHeader('content-type', 'application/pdf').end('%PDF-1.7 menu')
  else if (path === '/moved') response.writeHead(302, { location: '/photo.jpg' }).end()
  else if (path === '/away') response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end()
  else if (path.startsWith('/photo.jpg')) response.setHeader('content-type', 'image/jpeg; q=1').end(picture)
  else if (path === '/large.png')
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': 6_000_000 }).end('x')
  else if (path === '/endless.png') {
    response.setHeader('content-type', 'image/png')
    Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(65_536)
      })(),
    )
      .on('error', () => {})
      .pipe(response)
  } else if (path.startsWith('/silent')) held.push(path)
  else if (path === '/later.pdf' && requestCount === 1) response.writeHead(503, { 'retry-after': '0.2' }).end()
  else if (path === '/later.pdf') response.setHeader('content-type', 'application/pdf').end('%PDF later')
  else response.writeHead(404).end()
}).listen(0, '127.0.0.1')
await once(files, 'listening')
after(() => files.close().closeAllConnections())
const base = `http://127.0.0.1:${(files.address() as AddressInfo).port}` // it listens on TCP

const furnish = async () => {
  requestCount = 0
  const tenant = await world.tenant()
  const chat = await makeChatHarness(world, tenant.id)
  const send = async (url: string, text = '') => {
    const body = { from_number: chat.line.number, to_number: them, url, text }
    const answer = await call(tenant, 'POST', '/open/msgapp/send-message', body)
    assert.equal(answer.status, 202, JSON.stringify(answer.body))
  }
  const newest = async () => (await call(tenant, 'GET', `/open/msgapp/messages/${chat.line.number}`)).body.messages[0]
  return { tenant, chat, send, newest }
}

/** Files on their way into the store. */
const arriving = () =>
  readdirSync(join(home, 'media/arriving'), { recursive: true, withFileTypes: true }).filter((one) => one.isFile())

const open = (url: string, headers = {}) => app.inject({ url: url.replace('http://127.0.0.1:8080', ''), headers })

test('a file given by URL is fetched once, stored, sent, and served by a signed link', async () => {
  const { chat, send, newest } = await furnish()
  await send(`${base}/moved`, 'Look')
  await until(async () => chat.sent.length === 1 && (await newest()).wa_msg_ack === 1)
  const [sent] = chat.sent
  assert.deepEqual(
    [sent?.text, sent?.file?.type, sent?.file?.mimeType, sent?.file?.size],
    ['Look', 'image', 'image/jpeg', 200_000],
  )
  assert.ok(sent?.file && (await buffer(sent.file.open())).equals(picture))
  const { media } = (await newest()).message
  assert.deepEqual([media.type, media.mime_type, media.size], ['image', 'image/jpeg', 200_000])
  const answer = await open(media.url)
  assert.equal(answer.statusCode, 200)
  assert.ok(answer.rawPayload.equals(picture))
  const { headers } = answer
  assert.deepEqual(
    [headers['content-type'], headers['x-content-type-options'], headers['content-length'], headers['accept-ranges']],
    ['image/jpeg', 'nosniff', '200000', 'bytes'],
  )
  assert.equal(requestCount, 2, 'the redirect and the file')
  assert.deepEqual(arriving(), [], 'no partial file remains')
})

test('a file that the store lacks, or a store that is not there, is a fault of the store and not of the database', async () => {
  const { send, newest } = await furnish()
  await send(`${base}/photo.jpg`)
  const { media } = await until(async () => (await newest()).wa_msg_ack === 1 && (await newest()).message)
  const store = join(home, 'media')
  await folderIdOf(store)
  assert.equal((await open(media.url)).statusCode, 200)
  const codeOf = async () => {
    const answer = await open(media.url)
    return [answer.statusCode, answer.json().error_code]
  }
  renameSync(store, `${store}-away`)
  assert.deepEqual(await codeOf(), [503, 'file_store_unavailable'])
  mkdirSync(store)
  renameSync(join(`${store}-away`, folderIdFile), join(store, folderIdFile))
  assert.deepEqual(await codeOf(), [404, 'file_missing'])
  rmSync(store, { recursive: true })
  renameSync(`${store}-away`, store)
  assert.equal((await open(media.url)).statusCode, 200)
  assert.equal(logged.filter((line) => line.includes('msgapp: reading media failed')).length, 2)
})

test('a range of a file is served', async () => {
  const { chat, send, newest } = await furnish()
  await send(`${base}/photo.jpg`)
  await until(async () => chat.sent.length === 1)
  const { url } = (await newest()).message.media
  for (const [range, start, end] of [
    ['bytes=0-9', 0, 9],
    ['bytes=199990-', 199_990, 199_999],
    ['bytes=-5', 199_995, 199_999],
    ['bytes=100-999999', 100, 199_999],
  ] as const) {
    const answer = await open(url, { range })
    assert.equal(answer.statusCode, 206, range)
    assert.equal(answer.headers['content-range'], `bytes ${start}-${end}/200000`)
    assert.ok(answer.rawPayload.equals(picture.subarray(start, end + 1)))
  }
  assert.deepEqual((await open(url, { range: 'bytes=200000-' })).statusCode, 416)
  assert.equal((await open(url, { range: 'bytes=5-1' })).statusCode, 200, 'an invalid range returns the whole file')
})

test('a changed or expired link is rejected, and only media are displayed inline', async () => {
  const { chat, send, newest, tenant } = await furnish()
  await send(`${base}/menu.pdf?x=1`)
  await until(async () => chat.sent.length === 1)
  const { url, name } = (await newest()).message.media
  assert.equal(name, 'menu.pdf')
  const answer = await open(url)
  assert.match(String(answer.headers['content-disposition']), /^attachment; filename\*=UTF-8''menu\.pdf$/)
  assert.match(String(answer.headers['content-security-policy']), /sandbox/)
  const other = await world.tenant()
  for (const bad of [
    url.replace(/until=\d/, 'until=9'),
    url.replace(/signature=../, 'signature=xx'),
    url.replace(tenant.id, other.id),
    url.replace(/&signature=.*/, ''),
    url.replace(/media\/[^?]+/, 'media/x'),
  ])
    assert.equal((await open(bad)).statusCode, 404, bad)
  world.parts.clock.move(9 * 86_400)
  assert.equal((await open(url)).statusCode, 404)
  world.parts.clock.move(0)
  assert.equal((await open(url)).statusCode, 200)
})

test('a file that is too large, missing or in a private network fails with the reason', async () => {
  const { chat, send, newest } = await furnish()
  for (const [path, reason] of [
    ['/large.png', /6000000 bytes/],
    ['/endless.png', /more than 5242880 bytes/],
    ['/nothing', /answered 404/],
  ] as const) {
    await send(base + path)
    const failed = await until(async () => ((await newest()).failure ? newest() : null))
    assert.equal(failed.failure.code, 'media_unavailable')
    assert.match(failed.failure.reason, reason)
    assert.match(failed.message.media.error, reason)
    assert.equal(failed.message.media.url, undefined)
  }
  assert.equal(chat.sent.length, 0)
})

test('a file beyond the account’s storage quota is not stored, and a deleted message frees space', async () => {
  const { chat, send, newest, tenant } = await furnish()
  const quotas = { stored_bytes: 300_000 }
  await call('operator', 'PATCH', `/operator/accounts/${tenant.uuid}`, { quotas })
  await send(`${base}/photo.jpg`)
  await until(async () => chat.sent.length === 1)
  const stored = await newest()
  await send(`${base}/photo.jpg?again`)
  const failed = await until(async () => ((await newest()).failure ? newest() : null))
  assert.match(failed.failure.reason, /may have 300000 stored bytes: .* raise the limit stored_bytes/)
  await world.db.run`
    update msgapp_media set key = null, error = 'the message was deleted'
    where account_id = ${tenant.id} and id = (select media_id from msgapp_messages where id = ${stored.uuid.slice(3)})`
  await send(`${base}/photo.jpg?more`)
  await until(async () => chat.sent.length === 2)
  assert.deepEqual(arriving(), [], 'no partial file remains')
})

test('a redirect into a private network is not followed', async () => {
  const strict = await makeWorld(
    {
      TRUNKLINE_HOME: temporaryFolder(),
      TRUNKLINE_ALLOW_HOOK_NETWORKS: '127.0.0.0/8',
      TRUNKLINE_ALLOW_HTTP_HOOKS: 'true',
    },
    {},
  )
  const got = strict.parts.outbound.of(true).get({ url: `${base}/away`, idleMs: 1_000 })
  await assert.rejects(got, { code: 'refused' })
  await strict.end()
})

test('the file of a deleted message is neither served nor fetched again', async () => {
  const { tenant, chat, send, newest } = await furnish()
  await send(`${base}/photo.jpg`)
  await until(async () => (await newest()).wa_msg_ack === 1)
  const { uuid: message, session_key: key, message: said } = await newest()
  assert.equal((await open(said.media.url)).statusCode, 200)
  const url = `/open/msgapp/message/${encodeURIComponent(key)}/${message}`
  assert.equal((await call(tenant, 'DELETE', url)).status, 200)
  assert.equal((await open(said.media.url)).statusCode, 404)
  const id = said.media.url.match(/media\/([^?]+)/)[1]
  const job = { account: tenant.id, runAt: new Date(), createdAt: new Date() }
  const again = await world.parts.chat.media.fetch(job, id, chat.network, new AbortController().signal)
  assert.deepEqual(again, { failure: { code: 'media_unavailable', reason: 'the message was deleted' } })
  assert.equal(requestCount, 1)
})

test('a file that the store rejects leaves nothing behind', async () => {
  const { tenant, chat } = await furnish()
  const id = uuid()
  await world.db.run`
    insert into msgapp_media (account_id, id, channel_id, type, mime_type, name, source, created_at)
    values (${tenant.id}, ${id}, ${chat.line.channel}, 'document', 'application/octet-stream', 'x',
      ${{ url: `${base}/photo.jpg` }}, now())`
  const full = makeMedia({ ...world.parts, config: { home, mediaStore: process.execPath, encryptFiles: false } })
  const job = { account: tenant.id, runAt: new Date(), createdAt: new Date() }
  await assert.rejects(full.fetch(job, id, chat.network, new AbortController().signal), { code: 'ENOTDIR' })
  assert.deepEqual(arriving(), [])
})

test('a file that a server could not deliver at once is requested again', async () => {
  const { chat, send } = await furnish()
  await send(`${base}/later.pdf`)
  await until(async () => chat.sent.length === 1)
  assert.equal(String(await buffer(chat.sent[0]?.file?.open() ?? Readable.from([]))), '%PDF later')
})

test('an inbound file is fetched once, and requests for its link wait for it', async () => {
  const { chat, newest } = await furnish()
  const { line, intake, network } = chat
  let fetched = 0
  network.media = async () => {
    fetched++
    return { outcome: 'done', value: { mimeType: null, body: Readable.from([picture]) } }
  }
  const media = { ref: { id: 'f1' }, type: 'image', mimeType: 'image/jpeg', name: null, size: 200_000 } as const
  const message = inbound({ text: null, media })
  await intake.inbound(line, message)
  await intake.inbound(line, message)
  const { url } = (await newest()).message.media
  const answer = await open(url)
  assert.ok(answer.rawPayload.equals(picture))
  assert.equal(fetched, 1)
  network.media = async () => ({ outcome: 'refused', reason: 'expired' })
  await intake.inbound(line, inbound({ media }))
  const gone = await until(async () => ((await newest()).message.media.error ? newest() : null))
  assert.equal(gone.message.media.error, 'expired')
})

test('a server that stalls its files delays neither messages nor other files', async () => {
  const { chat, tenant } = await furnish()
  const other = await world.tenant()
  const beside = await makeChatHarness(world, other.id, chat.line.connection)
  const say = (from: typeof tenant, number: string, more: object) =>
    call(from, 'POST', '/open/msgapp/send-message', { from_number: number, ...more })
  const last = '+447700900999'
  // More than a connection runs concurrently, each to another recipient.
  const each = (_: unknown, n: number) =>
    say(tenant, chat.line.number, { to_number: `+4477009${10_000 + n}`, url: `${base}/silent${n}` })
  await Promise.all(Array.from({ length: 300 }, each))
  await say(tenant, chat.line.number, { to_number: last, text: 'Not delayed' })
  await say(other, beside.line.number, { to_number: last, url: `${base}/photo.jpg` })
  await until(async () => chat.sent.length === 2)
  assert.deepEqual(new Set(chat.sent.map(({ text }) => text)), new Set(['Not delayed', null]))
  assert.ok(held.length <= 16, `${held.length} fetches of one account run concurrently`)
})

test('a fetch ends at its deadline, however slowly bytes arrive, and frees its slot', async () => {
  const turns = makeFetchLimiter({ each: 1, all: 1, longestMs: 50 })
  const now = new Date()
  const job = { account: 'a', runAt: now, createdAt: now }
  const never = new AbortController().signal
  const dripping = new Readable({ read() {} })
  const first = turns.run(job, never, (signal) => spool(join(home, 'dripping'), dripping, 1_000, signal))
  await assert.rejects(
    turns.run(job, never, async () => 1),
    Snooze,
  )
  await assert.rejects(first, { name: 'AbortError' })
  await assert.rejects(
    turns.run(job, never, (signal) => raceSignal(signal, new Promise(() => {}))),
    { name: 'TimeoutError' },
  )
  assert.equal(await turns.run(job, never, async () => 1), 1)
})
