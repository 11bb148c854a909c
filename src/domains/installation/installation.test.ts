import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../test/database.ts'
import { startPlatform } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { makeClockSkew } from './clock-skew.ts'
import { enterInstallation, identifyMediaStore, type SharedSettings } from './ops.ts'

const log = {
  warn: () => {},
  info: () => {},
  error: ({ err }: { err?: unknown }) => {
    throw err
  },
}
const base: SharedSettings = {
  publicUrl: 'https://one.example',
  mediaStore: await identifyMediaStore(null, temporaryFolder()),
}

const enter = async (db: TestDatabase, changed: Partial<SharedSettings> = {}, patience = 1) => {
  const entered = await enterInstallation(db, { ...base, ...changed }, log, patience)
  after(entered.end)
  return entered
}

/** Inserts the row of a process that was killed a minute ago. */
const leaveSilent = (db: TestDatabase) => db.run`
  insert into processes (id, public_url, media_store, seen_at)
  values (gen_random_uuid(), ${base.publicUrl}, 'a folder', clock_timestamp() - interval '1 minute')`

test('processes with the same settings run concurrently', async () => {
  const db = await testDatabase()
  await enter(db)
  await enter(db)
  await enter(db, { publicUrl: null })
})

test('a process with another public URL or media store is refused, and the error names the setting', async () => {
  const db = await testDatabase()
  await enter(db)
  const refused = [
    enter(db, { publicUrl: 'https://other.example' }),
    enter(db, { mediaStore: await identifyMediaStore('s3://key:secret@bucket/files?region=eu', '') }),
  ]
  const [url, store] = (await Promise.allSettled(refused)).map((one) =>
    one.status === 'rejected' ? String(one.reason) : '',
  )
  assert.match(url ?? '', /TRUNKLINE_PUBLIC_URL must be the same.*https:\/\/other\.example.*https:\/\/one\.example/)
  assert.match(store ?? '', /TRUNKLINE_MEDIA_STORE must be the same.*s3:\/\/bucket\/files.*a folder/)
  assert.doesNotMatch(store ?? '', /secret/)
})

test('a killed process does not block the start of one with new settings', async () => {
  const db = await testDatabase()
  await leaveSilent(db)
  await enter(db, { publicUrl: 'https://new.example' })
})

test('a process that ends leaves no row', async () => {
  const db = await testDatabase()
  const { end } = await enterInstallation(db, base, log)
  await end()
  assert.deepEqual(await db.many`select from processes`, [])
})

test('a folder is compared by its id, whatever its path, and a living process is recognised by its heartbeat', async () => {
  const db = await testDatabase()
  await enter(db)
  const [own, other] = [base.mediaStore, await identifyMediaStore(temporaryFolder(), '')]
  assert.ok('folder' in own && 'folder' in other)
  await enter(db, { mediaStore: await identifyMediaStore(own.folder, temporaryFolder()) })
  // Refused with the first heartbeat of the other, and not only after the patience with killed ones.
  const refused = enter(db, { mediaStore: other }, 3_600)
  await assert.rejects(refused, (error: Error) => {
    assert.match(error.message, /TRUNKLINE_MEDIA_STORE must lead to the same folder in every process/)
    for (const part of [own.id, other.id, other.folder]) assert.ok(error.message.includes(part), part)
    return true
  })
})

test('a process of an earlier version, which states no folder, is no conflict', async () => {
  const db = await testDatabase()
  await db.run`
    insert into processes (id, public_url, media_store) values (gen_random_uuid(), ${base.publicUrl}, 'a folder')`
  await enter(db)
})

test('a folder that cannot be used is refused with its setting', async () => {
  const folder = temporaryFolder()
  await assert.rejects(identifyMediaStore(process.execPath, folder), /TRUNKLINE_MEDIA_STORE: the folder of files/)
  const { id } = Object(await identifyMediaStore(folder, ''))
  assert.equal(Object(await identifyMediaStore(folder, '')).id, id)
  rmSync(join(folder, '.trunkline-id'))
  assert.notEqual(Object(await identifyMediaStore(folder, '')).id, id)
})

test('a second process with another folder of files ends with status 1 and names the setting', async () => {
  const { url } = await testDatabase()
  const env = { DATABASE_URL: url, TRUNKLINE_MASTER_KEY: 'a master key for these tests', TRUNKLINE_ROLES: 'api' }
  const settings = { ...env, TRUNKLINE_PUBLIC_URL: 'https://one.example' }
  await startPlatform(undefined, settings)
  await assert.rejects(
    startPlatform(undefined, { ...settings, TRUNKLINE_MEDIA_STORE: temporaryFolder() }),
    /ended at its start \(1\).*TRUNKLINE_MEDIA_STORE must lead to the same folder/s,
  )
})

test('a clock that differs from the database by more than 2 s is logged once, and when it agrees again', async () => {
  const db = await testDatabase()
  const lines: string[] = []
  const note = (text: string) => (fields: object, message: string) =>
    void lines.push(`${text} ${JSON.stringify(fields)} ${message}`)
  const skew = makeClockSkew({ warn: note('warn'), info: note('info') })
  skew.note(0, 1_900, 0)
  assert.deepEqual([lines.length, skew.seconds()], [0, null])
  // A slow answer: the database may have read its clock at any time of it.
  skew.note(0, 3_000, 2_400)
  assert.equal(lines.length, 0)
  skew.note(0, -5_000, 0)
  skew.note(0, -5_200, 0)
  assert.equal(skew.seconds(), -5.2)
  skew.note(0, 100, 0)
  assert.equal(skew.seconds(), null)
  assert.deepEqual(
    lines.map((line) => line.replace(/ processes: .*/, '')),
    ['warn {"seconds":-5}', 'info {"seconds":0.1}'],
  )
  const hourBehind = () => Date.now() - 3_600_000
  const entered = await enterInstallation(db, base, { ...log, warn: note('warn') }, 1, hourBehind)
  const seconds = entered.clockSkewSeconds() ?? 0
  assert.ok(Math.abs(seconds - 3_600) < 60, String(seconds))
  await entered.end()
})
