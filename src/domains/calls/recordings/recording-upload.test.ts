import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { startBucket } from '../../../../test/bucket.ts'
import { until } from '../../../../test/platform.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { repairWav, wavHeader } from '../../../adapters/media/recording/wav.ts'
import { recordingCipher } from '../../../platform/lib/encrypted-file.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { makeS3Store } from '../../../platform/lib/s3-store.ts'
import { beginCall, callAnswered, callEnded } from '../ops.ts'
import * as recordings from './recording-files.ts'
import { recordingLinks } from './recording-links.ts'
import {
  assignFolderId,
  deleteExpired,
  type RecordingDeps,
  repairRecordings,
  startRecordingTasks,
  storeOf,
  uploadRecordings,
} from './recording-upload.ts'

const bucket = await startBucket()
const world = await makeWorld({ TRUNKLINE_HOME: temporaryFolder(), TRUNKLINE_MEDIA_STORE: bucket.address })
const { db, tenant, call, app } = world
const failed: unknown[] = []
const withStore: RecordingDeps = {
  db,
  config: world.parts.config,
  linkOf: recordingLinks(world.parts).urlOf,
  urlOfRecording: recordingLinks(world.parts).urlOfRecording,
  cipher: recordingCipher(world.parts.seal),
  store: storeOf(world.parts.config),
  failed: (error) => failed.push(error),
}
/** Dependencies without a store. */
const withoutStore: RecordingDeps = { ...withStore, config: { ...withStore.config, mediaStore: null }, store: null }
const pass = (seconds: number) => db.run`update clock set offset_seconds = offset_seconds + ${seconds}`
const forget = (from: RecordingDeps) => deleteExpired(from, new AbortController().signal)
const move = (more: Partial<RecordingDeps> = {}) =>
  uploadRecordings({ ...withStore, ...more }, new AbortController().signal)

const newRecording = async (who: Tenant) => {
  const made = await recordings.prepareRecording(withStore.config, who.id)
  assert.ok(!(made instanceof Error))
  return made
}

/** Makes an ended call whose recording is unfinished. `id`: of the call. */
const record = async (who: Tenant, isAnswered = true) => {
  const id = uuid()
  const recording = await newRecording(who)
  await db.begin(async (tx) => {
    await beginCall(tx, {
      ...{ account_id: who.id, id, callid: id, direction: 'O', user_id: null, from_number: null, rate: '0' },
      ...{ to_number: '+447700900123', iso_country_code: 'GB', is_msgapp: false, is_trunk: true, caller_id: null },
      ...{ caller_id_used: '+441632960000', virtual_number_id: null, toll_free: false },
    })
    await recordings.insertRecording(tx, who.id, id, recording, 'call')
    if (isAnswered) await callAnswered(tx, who.id, id, null)
    await callEnded(tx, who.id, id, { status: isAnswered ? 'COMPLETED' : 'NO_ANSWER', reason: '200' })
  })
  return { id, recording: recording.id, file: recording.path }
}

/** Writes a file as a killed process leaves it, a while ago. */
const leave = (file: string, bytes = Buffer.concat([wavHeader(0), Buffer.from('12345678')])) => {
  writeFileSync(file, bytes)
  utimesSync(file, 1, 1)
}

/** Makes an available recording. */
const hearable = async (who: Tenant) => {
  const made = await record(who)
  leave(made.file)
  await pass(10)
  await repairRecordings(withStore)
  return made
}

/** Clears recordings of earlier tests that still wait. */
const alone = async () => {
  await move()
  bucket.objects.clear()
  return await tenant()
}

const find = (who: Tenant, call: string) => recordings.findFirstRecording(db, who.id, call)
const mended = async (who: Tenant, id: string) => (await find(who, id))?.bytes ?? null
const where = async (who: Tenant, id: string) => (await find(who, id))?.kept
const urlOf = async (who: Tenant, id: string): Promise<string | undefined> =>
  (await call(who, 'GET', `/open/voip/call/CDR${id}`)).body.cdr.recording_url
const hear = async (who: Tenant, id: string, range?: string) => {
  const { pathname, search } = new URL((await urlOf(who, id)) ?? 'none:')
  return app.inject({ url: pathname + search, headers: range === undefined ? {} : { range } })
}

test('an unrepairable recording does not block the repair of others, nor an undeletable file the deletion of others', async () => {
  const who = await tenant()
  for (let i = 0; i < 25; i++) await record(who)
  const [good, stuck] = [await record(who), await record(who)]
  for (const { file } of [good, stuck]) leave(file)
  await pass(10)
  for (let i = 0; i < 2; i++) await repairRecordings(withoutStore)
  assert.deepEqual([await mended(who, good.id), await mended(who, stuck.id)], [52, 52])

  rmSync(stuck.file)
  mkdirSync(stuck.file)
  await pass(91 * 86_400)
  await forget(withoutStore)
  assert.equal(failed.length, 1)
  assert.deepEqual([await mended(who, good.id), await mended(who, stuck.id)], [null, 52])
  rmdirSync(stuck.file)
  await forget(withoutStore)
  assert.deepEqual([failed.length, await mended(who, stuck.id), existsSync(good.file)], [1, null, false])
})

test('a recording repaired after the end of its call is published in a further event, with its link, and reported once', async () => {
  const who = await tenant()
  const { id, file } = await record(who)
  leave(file)
  await pass(10)
  const callback = { url: 'https://example.com/recorded', method: 'GET', shape: 'native' }
  await db.run`
    update call_recordings set status_callback = ${JSON.stringify(callback)}::text::jsonb where account_id = ${who.id}`
  for (let i = 0; i < 2; i++) await repairRecordings(withStore)
  const reports = await db.many<{ to: string; method: string }>`
    select payload ->> 'to' as to, payload ->> 'method' as method from jobs where kind = 'call.status' and key = ${id}`
  assert.deepEqual(reports, [{ to: callback.url, method: 'GET' }])
  const events = await db.many<{ name: string; url: string | null }>`
    select payload::jsonb ->> 'event' as name, payload::jsonb ->> 'recording_url' as url
    from events where account_id = ${who.id} order by id`
  assert.deepEqual(
    events.slice(-4).map(({ name }) => name),
    ['call.status.update', 'call.outbound.completed', 'call.status.update', 'call.recording.ready'],
  )
  const url = await urlOf(who, id)
  assert.deepEqual(
    events.slice(-4, -1).map(({ url }) => url),
    [null, null, url],
  )
})

test('the recording of an unanswered call is given up at once', async () => {
  const who = await tenant()
  const { id } = await record(who, false)
  await pass(10)
  await repairRecordings(withStore)
  assert.equal(await db.maybe`select from call_recordings where call_id = ${id}`, null)
})

test('a recording is uploaded, is served from disk or store, whole or in part, and expires', async (t) => {
  const who = await alone()
  const { id, recording, file } = await hearable(who)
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
  // The upload is not retried at once.
  await move()
  assert.equal(await where(who, id), 'disk')
  await db.run`update call_recordings set tried_at = null where call_id = ${id}`
  await move()
  assert.deepEqual([await where(who, id), existsSync(file)], ['store', false])
  assert.deepEqual([...bucket.objects.keys()], [`/files/kept/recordings/${who.id}/${recording}.wav`])
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
  await forget(withStore)
  assert.equal(await where(who, id), 'store')
  bucket.store.isAway = false
  await forget(withStore)
  assert.deepEqual([await where(who, id), bucket.objects.size, await urlOf(who, id)], [undefined, 0, undefined])
})

test('a recording is available on its last day, and is deleted after it', async () => {
  const who = await alone()
  const { id, file } = await hearable(who)
  const days = withStore.config.recordingDays
  assert.equal(days, 90)
  await pass(days * 86_400 - 60)
  await forget(withoutStore)
  assert.deepEqual([(await hear(who, id)).statusCode, existsSync(file)], [200, true])
  await pass(120)
  await forget(withoutStore)
  assert.deepEqual([await where(who, id), await urlOf(who, id), existsSync(file)], [undefined, undefined, false])
})

test('a recording leaves the disk only once the store has it, at whichever step a crash comes', async () => {
  const who = await alone()
  const { id, recording, file } = await hearable(who)
  const place = makeS3Store(bucket.address)
  const crash = () => {
    throw new Error('a crash')
  }
  await assert.rejects(move({ store: { ...place, put: crash } }), /a crash/)
  assert.deepEqual([await where(who, id), existsSync(file), bucket.objects.size], ['disk', true, 0])
  // The upload was committed, but the file was not removed.
  const digest = createHash('sha256').update(readFileSync(file)).digest()
  await place.put(`recordings/${who.id}/${recording}.wav`, { path: file, size: 52, digest }, 'audio/wav')
  await db.run`update call_recordings set kept = 'both', tried_at = null where call_id = ${id}`
  await move()
  assert.deepEqual([await where(who, id), existsSync(file), (await hear(who, id)).statusCode], ['store', false, 200])
})

test('a recording that another machine may still upload answers "try again"; a lost one answers "not found"', async () => {
  const who = await tenant()
  const { id, file } = await hearable(who)
  rmSync(file)
  await move()
  assert.equal((await hear(who, id)).statusCode, 503)
  await pass(3_600)
  assert.equal((await hear(who, id)).statusCode, 404)
  assert.equal(await where(who, id), 'disk')
})

/** Dependencies of a process with another folder and the same database and store. */
const elsewhere = (): RecordingDeps => ({ ...withStore, config: { ...withStore.config, home: temporaryFolder() } })

test('a recording on another machine is neither given up, nor barred from its upload, nor deleted', async () => {
  const who = await alone()
  const { id, file } = await record(who)
  leave(file)
  const other = elsewhere()
  await recordings.ensureFolderId(other.config)
  const lookElsewhere = async () => {
    await assignFolderId(other)
    await repairRecordings(other)
    await move(other)
    await forget(other)
  }
  await pass(2 * 86_400)
  await lookElsewhere()
  await repairRecordings(withStore)
  assert.deepEqual([await mended(who, id), existsSync(file)], [52, true])
  await lookElsewhere()
  await db.run`update call_recordings set kept = 'both' where call_id = ${id}`
  await lookElsewhere()
  assert.equal(await where(who, id), 'both')
  await db.run`update call_recordings set kept = 'disk' where call_id = ${id}`
  await pass(91 * 86_400)
  await lookElsewhere()
  assert.deepEqual([await where(who, id), existsSync(file)], ['disk', true])
  await move()
  assert.deepEqual([await where(who, id), existsSync(file)], ['store', false])
  // All machines share the store.
  await forget(other)
  assert.deepEqual([await where(who, id), bucket.objects.size], [undefined, 0])
})

test('recordings from before folders had ids are assigned to the machine that has their files', async () => {
  const who = await alone()
  const { id, file } = await hearable(who)
  await db.run`update call_recordings set home = null, tried_at = null where call_id = ${id}`
  await assignFolderId(elsewhere())
  await move()
  assert.equal(await where(who, id), 'disk')
  await assignFolderId(withStore)
  await move()
  assert.deepEqual([await where(who, id), existsSync(file)], ['store', false])
})

test('a recording that may still be open is not repaired; data written after a repair is included', async () => {
  const who = await tenant()
  const { id, recording, file } = await record(who)
  leave(file)
  const now = Date.now() / 1_000 + 60
  utimesSync(file, now, now)
  await pass(10)
  await repairRecordings(withoutStore)
  assert.equal(await mended(who, id), null)
  utimesSync(file, 1, 1)
  await repairRecordings(withoutStore)
  assert.equal(await mended(who, id), 52)
  leave(file, Buffer.concat([wavHeader(0), Buffer.alloc(16)]))
  const longer = await repairWav(file)
  assert.equal(await db.begin((tx) => recordings.completeRecording(tx, who.id, recording, longer)), false)
  assert.equal(await mended(who, id), 60)
})

test('a recording uploaded before a crash, or during its deletion, is deleted from the store too', async () => {
  const who = await alone()
  const place = makeS3Store(bucket.address)
  const put = async ({ recording, file }: { recording: string; file: string }) => {
    const digest = createHash('sha256').update(readFileSync(file)).digest()
    await place.put(`recordings/${who.id}/${recording}.wav`, { path: file, size: 52, digest }, 'audio/wav')
  }
  const one = await hearable(who)
  await put(one)
  await pass(91 * 86_400)
  await forget(withStore)
  assert.deepEqual([await where(who, one.id), bucket.objects.size], [undefined, 0])

  const other = await hearable(who)
  await pass(91 * 86_400)
  const moving = {
    ...place,
    delete: () => db.run`update call_recordings set kept = 'both' where call_id = ${other.id}`,
  }
  await put(other)
  await forget({ ...withStore, store: { ...moving, delete: async () => void (await moving.delete()) } })
  assert.deepEqual([await where(who, other.id), bucket.objects.size], ['both', 1])
  await forget(withStore)
  assert.deepEqual([await where(who, other.id), bucket.objects.size], [undefined, 0])
})

test('each recording of a call has a file, a link, an object in the store and an age of its own', async () => {
  const who = await alone()
  const { urlOf: urlOfCall, urlOfRecording } = recordingLinks(world.parts)
  const first = await hearable(who)
  const second = await newRecording(who)
  await db.begin((tx) => recordings.insertRecording(tx, who.id, first.id, second, 'call'))
  leave(second.path, Buffer.concat([wavHeader(0), Buffer.from('abcdefgh')]))
  await pass(86_400)
  await repairRecordings(withStore)
  const get = async (url: string) => {
    const { pathname, search } = new URL(url)
    const { statusCode, rawPayload } = await app.inject({ url: pathname + search })
    return statusCode === 200 ? String(rawPayload.subarray(44)) : statusCode
  }
  const heard = () =>
    Promise.all(
      [urlOfCall(who.id, first.id), ...[first.recording, second.id].map((id) => urlOfRecording(who.id, id))].map(get),
    )
  assert.notEqual(first.recording, second.id)
  assert.deepEqual(await heard(), ['12345678', '12345678', 'abcdefgh'])
  await move()
  assert.deepEqual(await heard(), ['12345678', '12345678', 'abcdefgh'])
  assert.deepEqual(
    [...bucket.objects.keys()].sort(),
    [first.recording, second.id].map((id) => `/files/kept/recordings/${who.id}/${id}.wav`).sort(),
  )
  // A link to one recording opens no other, and a foreign account none.
  const swapped = urlOfRecording(who.id, first.recording).replace(first.recording, second.id)
  assert.deepEqual([await get(swapped), await get(urlOfRecording((await tenant()).id, second.id))], [404, 404])

  await pass(89.5 * 86_400)
  await forget(withStore)
  assert.deepEqual(await heard(), ['abcdefgh', 404, 'abcdefgh'])
  assert.equal(await urlOf(who, first.id), urlOfCall(who.id, first.id))
  await pass(86_400)
  await forget(withStore)
  assert.deepEqual(await heard(), [404, 404, 404])
  assert.deepEqual([await urlOf(who, first.id), bucket.objects.size], [undefined, 0])
})

test('a call whose recordings are deleted by two processes at once has none to play', async () => {
  const who = await alone()
  const { id, recording } = await hearable(who)
  const second = await newRecording(who)
  await db.begin((tx) => recordings.insertRecording(tx, who.id, id, second, 'call'))
  leave(second.path)
  await pass(10)
  await repairRecordings(withStore)
  await move()
  await pass(91 * 86_400)
  // The other process has the file of the first, and has not committed its deletion.
  await db.run`update call_recordings set kept = 'disk', home = ${uuid()} where id = ${recording}`
  let forgotten: Promise<void> = Promise.resolve()
  await db.begin(async (tx) => {
    await tx.run`delete from call_recordings where id = ${recording}`
    await tx.run`select from calls where id = ${id} for update`
    forgotten = forget(withStore)
    const isWaiting = async () => (await db.many`select from pg_locks where not granted`).length > 0
    await Promise.race([forgotten, until(isWaiting)])
  })
  await forgotten
  assert.equal(await db.maybe`select from call_recordings where call_id = ${id}`, null)
  assert.equal(await urlOf(who, id), undefined)
})

test('the end of a process does not wait for a hanging store', async () => {
  const who = await alone()
  const { id } = await hearable(who)
  await move()
  await pass(91 * 86_400)
  const store = { ...makeS3Store(bucket.address), delete: () => new Promise<never>(() => {}) }
  await startRecordingTasks({ ...withStore, store }).end()
  assert.equal(await where(who, id), 'store')
  await forget(withStore)
})

// Last test: the store is unreachable after it.
test('an unreachable store loses no recording, and recordings on the disk stay available', async () => {
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
  await forget(withStore)
  assert.match(String(failed[before]), /fetch failed/)
  assert.equal(await where(who, far.id), 'store')
})
