import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { startBucket } from '../../test/bucket.ts'
import { temporaryFolder } from '../../test/servers.ts'
import { makeWorld, type Tenant } from '../../test/world.ts'
import { header, repair } from '../connectors/media/recording/wav.ts'
import { makeBucket } from '../lib/bucket.ts'
import { uuid } from '../lib/id.ts'
import { type ArchiveGround, adopt, forgetOld, moveWhole, repairLeft, startArchive, storeOf } from './archive.ts'
import { recordingLinks } from './links.ts'
import { beginCall, callAnswered, callEnded } from './ops.ts'
import * as recordings from './recordings.ts'

const bucket = await startBucket()
const world = await makeWorld({ TRUNKLINE_HOME: temporaryFolder(), TRUNKLINE_MEDIA_STORE: bucket.address })
const { db, tenant, call, app } = world
const failed: unknown[] = []
const kept: ArchiveGround = {
  db,
  config: world.parts.config,
  linkOf: recordingLinks(world.parts).of,
  cipher: recordings.recordingCipher(world.parts.seal),
  store: storeOf(world.parts.config),
  failed: (error) => failed.push(error),
}
/** Without a store. */
const ground: ArchiveGround = { ...kept, config: { ...kept.config, mediaStore: null }, store: null }
const pass = (seconds: number) => db.run`update clock set offset_seconds = offset_seconds + ${seconds}`
const forget = (from: ArchiveGround) => forgetOld(from, new AbortController().signal)
const move = (more: Partial<ArchiveGround> = {}) => moveWhole({ ...kept, ...more }, new AbortController().signal)

/** A call that was recorded and has ended, without the end of its recording. */
const record = async (who: Tenant, isAnswered = true) => {
  const id = uuid()
  const prepared = await recordings.prepare(kept.config, who.id, id)
  assert.ok(!(prepared instanceof Error))
  await db.begin(async (tx) => {
    await beginCall(tx, {
      ...{ account_id: who.id, id, callid: id, direction: 'O', user_id: null, from_number: null, rate: '0' },
      ...{ to_number: '+447700900123', iso_country_code: 'GB', is_msgapp: false, is_trunk: true, caller_id: null },
      ...{ caller_id_used: '+441632960000', virtual_number_id: null, toll_free: false },
    })
    await recordings.begin(tx, who.id, id, prepared.home)
    if (isAnswered) await callAnswered(tx, who.id, id, null)
    await callEnded(tx, who.id, id, { status: isAnswered ? 'COMPLETED' : 'NO_ANSWER', reason: '200' })
  })
  return { id, file: prepared.file }
}

/** Writes what a killed process has left, a while ago. */
const leave = (file: string, bytes = Buffer.concat([header(0), Buffer.from('12345678')])) => {
  writeFileSync(file, bytes)
  utimesSync(file, 1, 1)
}

/** One that can be heard. */
const hearable = async (who: Tenant) => {
  const { id, file } = await record(who)
  leave(file)
  await pass(10)
  await repairLeft(kept)
  return { id, file }
}

/** With nothing of an earlier test on its way. */
const alone = async () => {
  await move()
  bucket.objects.clear()
  return await tenant()
}

const find = (who: Tenant, id: string) => recordings.find(db, who.id, id)
const mended = async (who: Tenant, id: string) => (await find(who, id))?.bytes ?? null
const where = async (who: Tenant, id: string) => (await find(who, id))?.kept
const urlOf = async (who: Tenant, id: string): Promise<string | undefined> =>
  (await call(who, 'GET', `/open/voip/call/CDR${id}`)).body.cdr.recording_url
const hear = async (who: Tenant, id: string, range?: string) => {
  const { pathname, search } = new URL((await urlOf(who, id)) ?? 'none:')
  return app.inject({ url: pathname + search, headers: range === undefined ? {} : { range } })
}

test('recordings that cannot be mended do not keep others from it, and a file that cannot be deleted no other', async () => {
  const who = await tenant()
  for (let i = 0; i < 25; i++) await record(who)
  const [good, stuck] = [await record(who), await record(who)]
  for (const { file } of [good, stuck]) leave(file)
  await pass(10)
  for (let i = 0; i < 2; i++) await repairLeft(ground)
  assert.deepEqual([await mended(who, good.id), await mended(who, stuck.id)], [52, 52])

  rmSync(stuck.file)
  mkdirSync(stuck.file)
  await pass(91 * 86_400)
  await forget(ground)
  assert.equal(failed.length, 1)
  assert.deepEqual([await mended(who, good.id), await mended(who, stuck.id)], [null, 52])
  rmdirSync(stuck.file)
  await forget(ground)
  assert.deepEqual([failed.length, await mended(who, stuck.id), existsSync(good.file)], [1, null, false])
})

test('a recording that is made whole after the end of its call was told is told once more, with its link', async () => {
  const who = await tenant()
  const { id } = await hearable(who)
  await repairLeft(kept)
  const told = await db.many<{ name: string; url: string | null }>`
    select payload::jsonb ->> 'event' as name, payload::jsonb ->> 'recording_url' as url
    from events where account_id = ${who.id} order by id`
  assert.deepEqual(
    told.slice(-3).map(({ name }) => name),
    ['call.status.update', 'call.outbound.completed', 'call.status.update'],
  )
  const url = await urlOf(who, id)
  assert.deepEqual(
    told.slice(-3).map(({ url }) => url),
    [null, null, url],
  )
})

test('of a call that nobody answered no recording is looked for', async () => {
  const who = await tenant()
  const { id } = await record(who, false)
  await pass(10)
  await repairLeft(kept)
  assert.equal(await db.maybe`select from call_recordings where call_id = ${id}`, null)
})

test('a recording moves into the store, is heard from wherever it is, whole or in part, and goes with its time', async (t) => {
  const who = await alone()
  const { id, file } = await hearable(who)
  const whole = async () => {
    const { statusCode, rawPayload } = await hear(who, id)
    return [statusCode, rawPayload.length, String(rawPayload.subarray(44))]
  }
  assert.deepEqual(await whole(), [200, 52, '12345678'])
  bucket.store.isAway = true
  await assert.rejects(move(), /503/)
  assert.deepEqual([await where(who, id), existsSync(file), await whole()], ['disk', true, [200, 52, '12345678']])
  bucket.store.isAway = false
  assert.match((await app.inject('/metrics')).body, /^trunkline_recordings_waiting 1$/m)
  // It is not tried again at once.
  await move()
  assert.equal(await where(who, id), 'disk')
  await db.run`update call_recordings set tried_at = null where call_id = ${id}`
  await move()
  assert.deepEqual([await where(who, id), existsSync(file)], ['store', false])
  assert.deepEqual([...bucket.objects.keys()], [`/files/kept/recordings/${who.id}/${id}.wav`])
  assert.deepEqual(await whole(), [200, 52, '12345678'])
  const part = await hear(who, id, 'bytes=44-45')
  assert.deepEqual([part.statusCode, part.body, part.headers['content-range']], [206, '12', 'bytes 44-45/52'])
  assert.equal((await hear(who, id, 'bytes=99-')).statusCode, 416)
  bucket.store.isAway = true
  const noted = t.mock.method(world.parts.log, 'error')
  const pending = await hear(who, id)
  assert.match(String(Object(noted.mock.calls[0]?.arguments[0]).err), /503/)
  assert.deepEqual([pending.statusCode, pending.json().error_code], [503, 'recording_pending'])

  await pass(91 * 86_400)
  await forget(kept)
  assert.equal(await where(who, id), 'store')
  bucket.store.isAway = false
  await forget(kept)
  assert.deepEqual([await where(who, id), bucket.objects.size, await urlOf(who, id)], [undefined, 0, undefined])
})

test('a recording leaves the disk only when the store has it, wherever a crash comes between', async () => {
  const who = await alone()
  const { id, file } = await hearable(who)
  const place = makeBucket(bucket.address)
  const crash = () => {
    throw new Error('a crash')
  }
  await assert.rejects(move({ store: { ...place, put: crash } }), /a crash/)
  assert.deepEqual([await where(who, id), existsSync(file), bucket.objects.size], ['disk', true, 0])
  // It was put there, and that was written down, but the file stayed.
  const digest = createHash('sha256').update(readFileSync(file)).digest()
  await place.put(`recordings/${who.id}/${id}.wav`, { path: file, size: 52, digest }, 'audio/wav')
  await db.run`update call_recordings set kept = 'both', tried_at = null where call_id = ${id}`
  await move()
  assert.deepEqual([await where(who, id), existsSync(file), (await hear(who, id)).statusCode], ['store', false, 200])
})

test('a recording that another machine is about to bring is asked for again; one that is nowhere is not', async () => {
  const who = await tenant()
  const { id, file } = await hearable(who)
  rmSync(file)
  await move()
  assert.equal((await hear(who, id)).statusCode, 503)
  await pass(3_600)
  assert.equal((await hear(who, id)).statusCode, 404)
  assert.equal(await where(who, id), 'disk')
})

/** A process with another folder and the same database and store. */
const elsewhere = (): ArchiveGround => ({ ...kept, config: { ...kept.config, home: temporaryFolder() } })

test('what is in the folder of another machine is neither given up, nor held back from its store, nor forgotten', async () => {
  const who = await alone()
  const { id, file } = await record(who)
  leave(file)
  const other = elsewhere()
  await recordings.settle(other.config)
  const lookThere = async () => {
    await adopt(other)
    await repairLeft(other)
    await move(other)
    await forget(other)
  }
  await pass(2 * 86_400)
  await lookThere()
  await repairLeft(kept)
  assert.deepEqual([await mended(who, id), existsSync(file)], [52, true])
  await lookThere()
  await db.run`update call_recordings set kept = 'both' where call_id = ${id}`
  await lookThere()
  assert.equal(await where(who, id), 'both')
  await db.run`update call_recordings set kept = 'disk' where call_id = ${id}`
  await pass(91 * 86_400)
  await lookThere()
  assert.deepEqual([await where(who, id), existsSync(file)], ['disk', true])
  await move()
  assert.deepEqual([await where(who, id), existsSync(file)], ['store', false])
  // The store is everybody's.
  await forget(other)
  assert.deepEqual([await where(who, id), bucket.objects.size], [undefined, 0])
})

test('recordings made before folders had ids are of the machine that has their files', async () => {
  const who = await alone()
  const { id, file } = await hearable(who)
  await db.run`update call_recordings set home = null, tried_at = null where call_id = ${id}`
  await adopt(elsewhere())
  await move()
  assert.equal(await where(who, id), 'disk')
  await adopt(kept)
  await move()
  assert.deepEqual([await where(who, id), existsSync(file)], ['store', false])
})

test('a recording that a process may still be writing is left to it; what it writes after another one has mended it counts', async () => {
  const who = await tenant()
  const { id, file } = await record(who)
  leave(file)
  const now = Date.now() / 1_000 + 60
  utimesSync(file, now, now)
  await pass(10)
  await repairLeft(ground)
  assert.equal(await mended(who, id), null)
  utimesSync(file, 1, 1)
  await repairLeft(ground)
  assert.equal(await mended(who, id), 52)
  leave(file, Buffer.concat([header(0), Buffer.alloc(16)]))
  const longer = await repair(file)
  assert.equal(await db.begin((tx) => recordings.finish(tx, who.id, id, longer)), false)
  assert.equal(await mended(who, id), 60)
})

test('what came into the store before a crash, or while it is forgotten, goes from there too', async () => {
  const who = await alone()
  const place = makeBucket(bucket.address)
  const put = async ({ id, file }: { id: string; file: string }) => {
    const digest = createHash('sha256').update(readFileSync(file)).digest()
    await place.put(`recordings/${who.id}/${id}.wav`, { path: file, size: 52, digest }, 'audio/wav')
  }
  const one = await hearable(who)
  await put(one)
  await pass(91 * 86_400)
  await forget(kept)
  assert.deepEqual([await where(who, one.id), bucket.objects.size], [undefined, 0])

  const other = await hearable(who)
  await pass(91 * 86_400)
  const moving = {
    ...place,
    delete: () => db.run`update call_recordings set kept = 'both' where call_id = ${other.id}`,
  }
  await put(other)
  await forget({ ...kept, store: { ...moving, delete: async () => void (await moving.delete()) } })
  assert.deepEqual([await where(who, other.id), bucket.objects.size], ['both', 1])
  await forget(kept)
  assert.deepEqual([await where(who, other.id), bucket.objects.size], [undefined, 0])
})

test('the end of a process does not wait for a store that hangs', async () => {
  const who = await alone()
  const { id } = await hearable(who)
  await move()
  await pass(91 * 86_400)
  const store = { ...makeBucket(bucket.address), delete: () => new Promise<never>(() => {}) }
  await startArchive({ ...kept, store }).end()
  assert.equal(await where(who, id), 'store')
  await forget(kept)
})

// The last one: nothing reaches the store after it.
test('a store that cannot be reached at all takes nothing away, and keeps nobody from what is on the disk', async () => {
  const who = await alone()
  const far = await hearable(who)
  await move()
  assert.equal(await where(who, far.id), 'store')
  const near = await hearable(who)
  bucket.leave()
  await assert.rejects(move(), /fetch failed/)
  assert.deepEqual([await where(who, near.id), existsSync(near.file)], ['disk', true])
  assert.deepEqual([(await hear(who, near.id)).statusCode, (await hear(who, far.id)).statusCode], [200, 503])
  await pass(91 * 86_400)
  const before = failed.length
  await forget(kept)
  assert.match(String(failed[before]), /fetch failed/)
  assert.equal(await where(who, far.id), 'store')
})
