import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import pino from 'pino'
import { startBucket } from '../../../../test/bucket.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { makeWorld, type World } from '../../../../test/world.ts'
import { chunkBytes } from '../../../platform/lib/chunk-cipher.ts'
import { headerBytes } from '../../../platform/lib/encrypted-file.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { makeSeal } from '../../../platform/lib/secret.ts'
import { makeChatHarness } from '../messages/testing.ts'
import { type Media, makeMedia } from './ops.ts'

const marker = Buffer.from('ZQXPLAINZQX')
/** Three and a half chunks, full of the marker. */
const content = Buffer.alloc(3.5 * chunkBytes, Buffer.concat([marker, randomBytes(1_013)]))
const bucket = await startBucket()
const failures: string[] = []
const log = pino({ level: 'error' }, { write: (line: string) => void failures.push(line) })

const open = async (settings: NodeJS.ProcessEnv = {}, key = randomBytes(32)) => {
  const home = temporaryFolder()
  const world = await makeWorld(
    { TRUNKLINE_SANDBOX: 'true', TRUNKLINE_HOME: home, TRUNKLINE_ENCRYPT_FILES: 'true', ...settings },
    {},
    { key, log },
  )
  const url = await world.app.listen({ host: '127.0.0.1', port: 0 })
  const media = (more: object) => makeMedia({ ...world.parts, config: { ...world.parts.config, ...more } })
  return { ...world, home, url, media }
}
const [folder, store] = [await open(), await open({ TRUNKLINE_MEDIA_STORE: bucket.address })]

/** A message's file, fetched into the store. */
const keep = async (world: World, bytes = content, media: Media = world.parts.chat.media, account?: string) => {
  const tenant = account ?? (await world.tenant()).id
  const { line, network } = await makeChatHarness(world, tenant)
  const id = uuid()
  await world.db.run`
    insert into msgapp_media (account_id, id, channel_id, type, mime_type, name, source, created_at)
    values (${tenant}, ${id}, ${line.channel}, 'document', 'application/pdf', 'a.pdf', ${{ id: 'f' }}, now())`
  network.media = async () => ({ outcome: 'done', value: { mimeType: null, body: Readable.from([bytes]) } })
  const job = { account: tenant, runAt: new Date(), createdAt: new Date() }
  const fetched = await media.fetch(job, id, network, new AbortController().signal)
  assert.ok('file' in fetched)
  const row = await media.find(tenant, id)
  const { key = null, digest = null } = row ?? {}
  assert.ok(key !== null && digest !== null)
  const link = new URL(media.links.urlOf(tenant, id))
  return { tenant, id, key, digest, path: link.pathname + link.search, file: fetched.file }
}

const filesOf = (home: string): string[] =>
  readdirSync(join(home, 'media'), { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name))

const get = (base: string, path: string, headers: Record<string, string> = {}) => fetch(base + path, { headers })

for (const [name, world] of Object.entries({ folder, store })) {
  test(`a file in the ${name} is stored as ciphertext, and is served unchanged, whole and in parts`, async () => {
    const { path, key, digest, file } = await keep(world)
    const stored =
      name === 'folder' ? filesOf(world.home).map((one) => readFileSync(one)) : [...bucket.objects.values()]
    assert.equal(stored.length, 1)
    assert.deepEqual(
      stored.map((bytes) => bytes.indexOf(marker)),
      [-1],
    )
    assert.ok(!key.includes(digest.toString('hex')) && key.endsWith('.enc'))
    assert.ok((await buffer(file.open())).equals(content))
    assert.equal(file.size, content.length)

    const whole = await get(world.url, path)
    assert.ok(Buffer.from(await whole.arrayBuffer()).equals(content))
    const { headers } = whole
    assert.deepEqual(
      [headers.get('content-type'), headers.get('content-length'), headers.get('accept-ranges')],
      ['application/pdf', String(content.length), 'bytes'],
    )
    const ends = [0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3 * chunkBytes, content.length - 1]
    for (const start of ends)
      for (const end of ends.filter((end) => end >= start)) {
        const part = await get(world.url, path, { range: `bytes=${start}-${end}` })
        assert.equal(part.status, 206)
        assert.equal(part.headers.get('content-range'), `bytes ${start}-${end}/${content.length}`)
        assert.ok(Buffer.from(await part.arrayBuffer()).equals(content.subarray(start, end + 1)), `${start}-${end}`)
      }
    assert.equal((await get(world.url, path, { range: `bytes=${content.length}-` })).status, 416)
    // No validator can match.
    assert.equal((await get(world.url, path, { range: 'bytes=0-1', 'if-range': '"x"' })).status, 200)
  })

  test(`a file leaves the ${name} with its message, whether it was encrypted or not`, async () => {
    const encrypted = await keep(world)
    const plain = await keep(world, content, world.media({ encryptFiles: false }), encrypted.tenant)
    assert.ok(encrypted.digest.equals(plain.digest) && !plain.key.endsWith('.enc'))
    const isStored = (key: string) =>
      name === 'folder'
        ? filesOf(world.home).some((one) => one.endsWith(key))
        : [...bucket.objects.keys()].some((one) => one.endsWith(key))
    assert.deepEqual([isStored(encrypted.key), isStored(plain.key)], [true, true])
    await world.db.run`update msgapp_media set error = 'gone' where account_id = ${plain.tenant}`
    await world.parts.chat.media.discard(plain.tenant, plain.digest)
    assert.deepEqual([isStored(encrypted.key), isStored(plain.key)], [false, false])
  })

  test(`plain files in the ${name} are served after encryption is turned on, and encrypted ones after it is turned off`, async () => {
    const off = world.media({ encryptFiles: false })
    const [before, after] = [await keep(world, content, off), await keep(world)]
    for (const media of [off, world.parts.chat.media])
      for (const { tenant, id } of [before, after]) {
        const row = await media.find(tenant, id)
        assert.ok(row?.key)
        assert.ok((await buffer(await media.read({ ...row, key: row.key }))).equals(content))
      }
  })
}

const pathOf = (key: string) => join(folder.home, 'media', key)
/** Serves a file with one byte changed. Returns what a client received before the connection broke. */
const served = async (at: number) => {
  const { key, path } = await keep(folder)
  const bytes = readFileSync(pathOf(key))
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(pathOf(key), bytes)
  failures.length = 0
  const answer = await get(folder.url, path)
  const got: Uint8Array[] = []
  const end = await (async () => {
    for await (const part of answer.body ?? []) got.push(part)
  })().catch((error: unknown) => error)
  return { status: answer.status, headers: answer.headers, got: Buffer.concat(got), end, path, key }
}

test('a file with a changed beginning is rejected with 500; one changed later is broken off, never served as complete', async () => {
  for (const at of [3, 30, headerBytes + 5]) {
    const { status, got, headers } = await served(at)
    assert.equal(status, 500)
    assert.deepEqual([headers.get('content-disposition'), headers.get('cache-control')], [null, 'no-store'])
    assert.equal(got.indexOf(marker), -1)
    assert.match(failures.join(''), /request failed/)
  }
  const { status, got, end } = await served(headerBytes + 2 * (chunkBytes + 16) + 5)
  assert.equal(status, 200)
  assert.ok(end instanceof Error, 'the connection was destroyed')
  assert.ok(got.length <= 2 * chunkBytes && got.equals(content.subarray(0, got.length)))
  assert.match(failures.join(''), /msgapp: reading media failed/)
})

test('a file of another account, or another file of the account, is rejected in its place', async () => {
  const [one, other] = [await keep(folder), await keep(folder)]
  const same = await keep(folder, Buffer.alloc(content.length, 'x'), undefined, one.tenant)
  for (const { key } of [other, same]) {
    writeFileSync(pathOf(one.key), readFileSync(pathOf(key)))
    assert.equal((await get(folder.url, one.path)).status, 500)
  }
  // Plain bytes in the place of an encrypted file are rejected as well.
  writeFileSync(pathOf(one.key), content)
  assert.equal((await get(folder.url, one.path)).status, 500)
})

test('another master key opens no file, and the error names both', async () => {
  const { tenant, id } = await keep(folder)
  const media = makeMedia({ ...folder.parts, seal: makeSeal(randomBytes(32)) })
  const row = await media.find(tenant, id)
  assert.ok(row?.key)
  await assert.rejects(media.read({ ...row, key: row.key }), /under another master key \([0-9a-f]{16}\)/)
})

test('no plain byte of a file is on the disk during a fetch', async () => {
  rmSync(join(folder.home, 'media'), { recursive: true })
  const tenant = await folder.tenant()
  const { line, network } = await makeChatHarness(folder, tenant.id)
  const id = uuid()
  await folder.db.run`
    insert into msgapp_media (account_id, id, channel_id, type, mime_type, name, source, created_at)
    values (${tenant.id}, ${id}, ${line.channel}, 'document', 'application/pdf', 'a.pdf', ${{ id: 'f' }}, now())`
  const seen: number[] = []
  const body = Readable.from(
    (async function* () {
      yield content
      // The reader requests more once earlier data is on its way to the disk.
      for (let i = 0; i < 20; i++) {
        yield content.subarray(0, chunkBytes)
        for (const path of filesOf(folder.home)) seen.push(readFileSync(path).length)
        for (const path of filesOf(folder.home)) assert.equal(readFileSync(path).indexOf(marker), -1)
      }
    })(),
  )
  network.media = async () => ({ outcome: 'done', value: { mimeType: null, body } })
  const job = { account: tenant.id, runAt: new Date(), createdAt: new Date() }
  const fetched = await folder.parts.chat.media.fetch(job, id, network, new AbortController().signal)
  assert.ok('file' in fetched && Math.max(...seen) > chunkBytes)
})
