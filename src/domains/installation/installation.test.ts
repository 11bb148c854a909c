import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../test/database.ts'
import { enterInstallation, type SharedSettings } from './ops.ts'

const fail = (error: unknown) => {
  throw error
}
const base: SharedSettings = { publicUrl: 'https://one.example', mediaStore: null }

const enter = async (db: TestDatabase, changed: Partial<SharedSettings> = {}) => {
  const entered = await enterInstallation(db, { ...base, ...changed }, fail, 1)
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
    enter(db, { mediaStore: 's3://key:secret@bucket/files?region=eu' }),
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
  const { end } = await enterInstallation(db, base, fail)
  await end()
  assert.deepEqual(await db.many`select from processes`, [])
})
