import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { globSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { migrate } from '../../platform/db/migrate.ts'
import { openSession } from '../../platform/db/database-session.ts'
import { connect } from '../../platform/db/sql.ts'
import { uuid } from '../../platform/lib/id.ts'
import { makeSeal } from '../../platform/lib/secret.ts'
import { beginSnapshot, dumpTables } from './create/database-dump.ts'
import { writeArchive } from './format/backup-archive.ts'
import { keyName, manifestName, summaryName } from './format/entry-name.ts'
import { jsonOf } from './format/manifest.ts'
import { backups } from './ops.ts'
import * as store from './store.ts'
import { passphrase, runControl, verify } from './testing.ts'

const folder = join(import.meta.dirname, '../../platform/db/migrations/numbered')
const released = readdirSync(folder)
  .sort()
  .slice(0, 59)
  .map((name) => name.replace('.sql', ''))

const master = randomBytes(32)
const fingerprint = makeSeal(master).derive('fingerprint').subarray(0, 8).toString('hex')

/** A backup as the release before migration 0060 made it. */
const makeFormerBackup = async (): Promise<string> => {
  const db = await testDatabase()
  await db.raw('drop schema public cascade; create schema public')
  const patient = connect({ url: db.url, connections: 2, unlimited: true })
  await migrate(patient, { only: released }).finally(() => patient.end())
  const [account, channel] = [uuid(), uuid()]
  await db.run`insert into accounts (id, name, requests_per_minute) values (${account}, 'ada', 60)`
  await db.run`insert into facts (name, value) values ('master-key', ${{ fingerprint }})`
  await db.run`
    insert into msgapp_vault (channel_id, type, id, sealed_value)
    values (${channel}, 'session', 'a', ${makeSeal(master).closeBytes(Buffer.from('key'), `msgapp/${channel}/session/a`)})`
  const file = join(temporaryFolder(), 'former.backup')
  const session = await openSession(db.url)
  try {
    await beginSnapshot(session)
    const tables = await store.tables(session)
    const { version, bytes } = await store.serverInfo(session)
    await writeArchive(file, passphrase, new AbortController().signal, async (writer) => {
      await writer.add(
        manifestName,
        jsonOf({
          ...{ format: 1, version: '0.1.0', created_at: new Date().toISOString(), postgresql: version },
          ...{ database_bytes: bytes, files_bytes: 0, bucket: null, recordings_id: null, tables },
          migrations: await store.migrations(session),
          money: await store.money(session),
        }),
      )
      await writer.add(keyName, master)
      const rows = Object.fromEntries(await dumpTables(session, tables, writer, () => {}))
      const sequences = await store.sequences(session)
      await writer.add(summaryName, jsonOf({ rows, sequences, files: 0, bytes: 0, deleted: [], missing: [] }))
    })
  } finally {
    await session.end()
  }
  return file
}

test('a backup made before migration 0060 is verified, restored, and migrated by the next start', async () => {
  const file = await makeFormerBackup()
  const target = await testDatabase()
  await target.raw('drop schema public cascade; create schema public')
  const settings = { home: temporaryFolder(), databaseUrl: target.url, masterKey: null, mediaStore: null }
  assert.deepEqual(Object.values(await verify(settings, file)).flat(), [])
  const done = await backups.restore(settings, file, passphrase, false, runControl())
  assert.equal(done.finished, false)
  assert.equal((await target.many`select from facts where name = 'master-key'`).length, 1)
  const db = connect({ url: target.url, connections: 2, unlimited: true })
  // The bridge, and the migrations after it.
  const later = globSync('*.sql', { cwd: join(import.meta.dirname, '../../platform/db/migrations') }).length
  assert.equal(await migrate(db).finally(() => db.end()), 1 + later)
  assert.equal((await target.many`select from installation_state where name = 'master-key'`).length, 1)
  assert.equal((await target.many`select from msgapp_credentials`).length, 1)
})
