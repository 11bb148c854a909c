import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { makeWorld } from '../../../../test/world.ts'
import { startWorker } from '../../../platform/jobs/consume/worker.ts'
import { Retry } from '../../../platform/jobs/job-kind.ts'
import { makeFolderStore } from '../../../platform/lib/file-store.ts'
import { inbound, makeChatHarness } from '../messages/testing.ts'
import { mediaGc } from './media-gc.ts'
import { expireOldFiles, mediaRetention } from './media-retention.ts'
import { makeMedia } from './ops.ts'

const home = temporaryFolder()
const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_HOME: home })
const { call, db } = world
const folder = makeFolderStore(join(home, 'media'))
type Put = typeof folder.put
/** How these tests put files into the store; each test may replace it. */
const store: { put: Put } = { put: folder.put }
const media = makeMedia(world.parts, { ...folder, put: (...args) => store.put(...args) })
const parts = { ...world.parts, chat: { ...world.parts.chat, media } }
const worker = startWorker({ db, kinds: [mediaGc(media), mediaRetention({ mediaDays: 30 })], log: parts.log })
after(() => worker.stop())

type MessageBody = {
  uuid: string
  session_key: string
  message: { media: { url?: string; error?: string; size?: number } }
}

/** Blocks a put until released; then `work` decides how the attempt ends. */
const holdPut = (work = async () => {}) => {
  const begun = Promise.withResolvers<void>()
  const free = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  store.put = async (...args) => {
    begun.resolve()
    await free.promise
    await folder.put(...args)
    reached.resolve()
    await work()
  }
  return { begun: begun.promise, free: free.resolve, reached: reached.promise }
}

/** Simulates the end of the process: nothing more of the attempt is stored. */
const crash = async () => {
  store.put = folder.put
  throw new Retry('the process ended here', 0.1)
}

/** A number that receives pictures. */
const furnish = async () => {
  const tenant = await world.tenant()
  store.put = folder.put
  const chat = await makeChatHarness({ ...world, parts }, tenant.id)
  const bytes = randomBytes(1_000)
  const pathOf = (content: Buffer): string => {
    const digest = createHash('sha256').update(content).digest('hex')
    return join(home, 'media', tenant.id, digest.slice(0, 2), digest)
  }
  const path = pathOf(bytes)
  const ownFile = { bytes }
  chat.network.media = async () => ({
    outcome: 'done',
    value: { mimeType: null, body: Readable.from([ownFile.bytes]) },
  })
  const come = (number: string) =>
    chat.intake.inbound(
      chat.line,
      inbound({ number, media: { ref: { id: 'f' }, type: 'image', mimeType: 'image/png', name: null, size: null } }),
    )
  const list = async (): Promise<MessageBody[]> =>
    (await call(tenant, 'GET', `/open/msgapp/messages/${chat.line.number}`)).body.messages
  const remove = async ({ session_key, uuid }: MessageBody) => {
    const done = await call(tenant, 'DELETE', `/open/msgapp/message/${encodeURIComponent(session_key)}/${uuid}`)
    assert.equal(done.status, 200, JSON.stringify(done.body))
  }
  /** Waits until no deletion is pending. */
  const settled = () =>
    until(async () => !(await db.maybe`select 1 from jobs where kind = 'msgapp.media.discard' limit 1`))
  const listed = (n: number) =>
    until(
      async () => (await list()).filter(({ message }) => message.media.size === bytes.length).length === n && list(),
    )
  return { tenant, path, pathOf, ownFile, come, list, remove, settled, listed }
}

test('the bytes of a file leave the store with the last message that has them', async () => {
  const { path, come, remove, settled, listed } = await furnish()
  await come('+447700900123')
  await come('+447700900124')
  const [newer, older] = await listed(2)
  assert.ok(newer && older && existsSync(path))
  await remove(newer)
  await settled()
  assert.ok(existsSync(path), 'the other message has them')
  await remove(older)
  await until(async () => !existsSync(path))
  await come('+447700900125')
  await listed(1)
  assert.ok(existsSync(path), 'bytes that arrive again are stored again')
})

test('expired files leave the store, and their messages stay and show the reason', async () => {
  const { path, come, list, settled, listed, tenant } = await furnish()
  await come('+447700900123')
  const [one] = await listed(1)
  const link = one?.message.media.url?.replace(/^http:\/\/[^/]+/, '') ?? ''
  const look = async () => {
    const { run } = expireOldFiles({ mediaDays: 30 })
    await db.begin((tx) => run(tx, new Date()))
    await until(async () => !(await db.maybe`select 1 from jobs where kind like 'msgapp.media.%' limit 1`))
  }
  const age = (days: number) => db.run`
    update msgapp_media set created_at = app_now() - make_interval(days => ${days}) where account_id = ${tenant.id}`
  await age(29)
  await look()
  assert.ok(existsSync(path))
  assert.equal((await world.app.inject({ url: link })).statusCode, 200)
  await age(31)
  // A store that is behind gets no more deletions: the rest waits.
  await db.run`
    insert into jobs (id, kind, run_at, created_at)
    select gen_random_uuid(), 'msgapp.media.discard', app_now() + interval '1 day', app_now() from generate_series(1, 5000)`
  const { run } = expireOldFiles({ mediaDays: 30 })
  await db.begin((tx) => run(tx, new Date()))
  await until(() => db.maybe`select 1 from jobs where kind = 'msgapp.media.forget' and run_at > app_now()`)
  await db.begin((tx) => run(tx, new Date()))
  assert.equal((await db.many`select 1 from jobs where kind = 'msgapp.media.forget'`).length, 1)
  assert.ok(existsSync(path))
  await db.run`delete from jobs where kind like 'msgapp.media.%' and run_at > app_now()`
  await look()
  await settled()
  assert.ok(!existsSync(path))
  const [old] = await list()
  assert.deepEqual([old?.uuid, old?.message.media.url], [one?.uuid, undefined])
  assert.equal(old?.message.media.error, 'files are kept for 30 days')
  const gone = await world.app.inject({ url: link })
  assert.deepEqual([gone.statusCode, gone.json().error_code], [404, 'media_not_found'])
  await come('+447700900124')
  // The expired file still shows its size.
  await listed(2)
  assert.ok(existsSync(path), 'bytes that arrive again are stored again')
})

test('identical bytes of another account are stored separately', async () => {
  const { path, come, remove, settled, listed, tenant } = await furnish()
  await come('+447700900123')
  const [one] = await listed(1)
  assert.ok(one)
  const other = await world.tenant()
  assert.notEqual(other.id, tenant.id)
  await media.discard(other.id, Buffer.from(path.slice(-64), 'hex'))
  assert.ok(existsSync(path))
  await remove(one)
  await settled()
  assert.ok(!existsSync(path))
})

for (const [how, end] of [
  ['while it was put into the store', undefined],
  ['just before a crash', crash],
] as const)
  test(`a file deleted ${how} does not stay in the store`, async () => {
    const { path, come, remove, settled, list, tenant } = await furnish()
    const { begun, free, reached } = holdPut(end)
    await come('+447700900123')
    await begun
    const [one] = await list()
    assert.ok(one)
    await remove(one)
    // Too early: nothing is stored yet.
    await settled()
    free()
    await reached
    await until(async () => !(await db.maybe`select 1 from jobs where account_id = ${tenant.id} limit 1`))
    assert.ok(!existsSync(path))
  })

test('bytes that a crash left in the store are deleted when the file arrives with other bytes', async () => {
  const { path, pathOf, ownFile, come, settled, listed } = await furnish()
  const { begun, free } = holdPut(crash)
  await come('+447700900123')
  await begun
  ownFile.bytes = randomBytes(1_000)
  free()
  await listed(1)
  await settled()
  assert.ok(!existsSync(path))
  assert.ok(existsSync(pathOf(ownFile.bytes)))
})

test('a file that arrives while an identical one is being deleted is stored in the end', async () => {
  const { path, come, remove, settled, listed, list } = await furnish()
  await come('+447700900100')
  for (let n = 1; n <= 25; n++) {
    const [last] = await listed(1)
    assert.ok(last && existsSync(path), `round ${n}`)
    await Promise.all([come(`+4477009001${String(n).padStart(2, '0')}`), remove(last)])
  }
  await listed(1)
  await settled()
  assert.ok(existsSync(path))
  const [last] = await list()
  assert.equal(
    (await world.app.inject({ url: last?.message.media.url?.replace(/^http:\/\/[^/]+/, '') ?? '' })).statusCode,
    200,
  )
})
