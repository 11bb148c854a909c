import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { startBucket } from '../../test/bucket.ts'
import { temporaryFolder } from '../../test/servers.ts'
import { makeWorld, type Tenant } from '../../test/world.ts'
import { header } from '../connectors/media/recording/wav.ts'
import { makeBucket } from '../lib/bucket.ts'
import { uuid } from '../lib/id.ts'
import { type ArchiveGround, forgetOld, moveWhole, repairLeft, storeOf } from './archive.ts'
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
  store: storeOf(world.parts.config),
  failed: (error) => failed.push(error),
}
/** Without a store. */
const ground: ArchiveGround = { ...kept, config: { ...kept.config, mediaStore: null }, store: null }
const pass = (seconds: number) => db.run`update clock set offset_seconds = offset_seconds + ${seconds}`
const move = (more: Partial<ArchiveGround> = {}) => moveWhole({ ...kept, ...more }, new AbortController().signal)

/** A call that was recorded and has ended, without the end of its recording. */
const record = async (who: Tenant, isAnswered = true) => {
  const id = uuid()
  await db.begin(async (tx) => {
    await beginCall(tx, {
      ...{ account_id: who.id, id, callid: id, direction: 'O', user_id: null, from_number: null, rate: '0' },
      ...{ to_number: '+447700900123', iso_country_code: 'GB', is_msgapp: false, is_trunk: true, caller_id: null },
      ...{ caller_id_used: '+441632960000', virtual_number_id: null, toll_free: false },
    })
    await recordings.begin(tx, who.id, id)
    if (isAnswered) await callAnswered(tx, who.id, id, null)
    await callEnded(tx, who.id, id, { status: isAnswered ? 'COMPLETED' : 'NO_ANSWER', reason: '200' })
  })
  const file = recordings.fileOf(kept.config, who.id, id)
  assert.equal(await recordings.prepare(file), null)
  return { id, file }
}

/** One that can be heard. */
const hearable = async (who: Tenant) => {
  const { id, file } = await record(who)
  writeFileSync(file, Buffer.concat([header(2), Buffer.from('12345678')]))
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
  for (const { file } of [good, stuck]) writeFileSync(file, Buffer.concat([header(0), Buffer.alloc(8)]))
  await pass(10)
  for (let i = 0; i < 2; i++) await repairLeft(ground)
  assert.deepEqual([await mended(who, good.id), await mended(who, stuck.id)], [52, 52])

  rmSync(stuck.file)
  mkdirSync(stuck.file)
  await pass(91 * 86_400)
  await forgetOld(ground)
  assert.equal(failed.length, 1)
  assert.deepEqual([await mended(who, good.id), await mended(who, stuck.id)], [null, 52])
  rmdirSync(stuck.file)
  await forgetOld(ground)
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
  await forgetOld(kept)
  assert.equal(await where(who, id), 'store')
  bucket.store.isAway = false
  await forgetOld(kept)
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
  await forgetOld(kept)
  assert.match(String(failed[before]), /fetch failed/)
  assert.equal(await where(who, far.id), 'store')
})
