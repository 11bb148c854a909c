import assert from 'node:assert/strict'
import { cpSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../test/database.ts'
import { until } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { migrate, newestKnown, requireKnownSchema } from '../../platform/db/migrate.ts'
import { baselineName } from '../../platform/db/migration-files.ts'
import { enterInstallation, identifyMediaStore } from './ops.ts'
import { migrateInstallation, objections, prepareSchema } from './upgrade.ts'

const ours = join(import.meta.dirname, '../../platform/db/migrations')
const log = {
  warn: () => {},
  info: () => {},
  error: ({ err }: { err?: unknown }) => {
    throw err
  },
}
const quiet = { info: () => {}, debug: () => {} }
const mediaStore = await identifyMediaStore(null, temporaryFolder())
const shared = { publicUrl: 'https://one.example', mediaStore, roles: ['api', 'worker'], version: '9.8.7' }

/** The migrations of a newer version: ours, and one that follows. */
const newerVersion = (since: string, name = 'extra', first = ''): string => {
  const folder = join(temporaryFolder(), 'migrations')
  cpSync(ours, folder, { recursive: true })
  writeFileSync(
    join(folder, `29990101T000000_${name}.sql`),
    `-- compatible: ${since}\n${first}create table ${name} (id integer);`,
  )
  return folder
}

const exists = async (db: TestDatabase, table: string) =>
  (await db.one<{ found: boolean }>`select to_regclass(${table}) is not null as found`).found

/** The row of a process of a version that does not say what it knows. */
const addOlder = (db: TestDatabase, silentSeconds = 0) => db.run`
  insert into processes (id, public_url, media_store, roles, seen_at)
  values (gen_random_uuid(), null, 'a folder', '{api}', clock_timestamp() - make_interval(secs => ${silentSeconds}))`

test('a migration that a living process does not bear is refused, and the process is named', async () => {
  const db = await testDatabase()
  const { end } = await enterInstallation(db, shared, log)
  const folder = newerVersion('no')
  await assert.rejects(migrateInstallation(db, { folder, log: quiet }, 0), (error: Error) => {
    assert.match(
      error.message,
      /^The database is not migrated, because process \d+ on \S+ \(version 9\.8\.7, api and worker, since \d{4}-\d\d-\d\dT[\d:]+Z\) cannot work with the migration 29990101T000000_extra\. Stop it, and try again\.$/,
    )
    assert.ok(error.message.includes(`process ${process.pid} on ${hostname()} `))
    return true
  })
  assert.equal(await exists(db, 'extra'), false)
  await end()
  assert.equal(await migrateInstallation(db, { folder, log: quiet }, 0), 1)
  assert.equal(await exists(db, 'extra'), true)
})

test('a migration that is marked as compatible is applied while processes that know enough run', async () => {
  const db = await testDatabase()
  const { end } = await enterInstallation(db, shared, log)
  assert.equal(await migrateInstallation(db, { folder: newerVersion(await newestKnown()), log: quiet }, 0), 1)
  // The process goes on, and another one of its version may start.
  await (await enterInstallation(db, shared, log)).end()
  await end()
})

test('a process of a version that does not say what it knows bears what processes with the baseline bear', async () => {
  const db = await testDatabase()
  await addOlder(db)
  const [later, baseline] = [newerVersion(await newestKnown(), 'later'), newerVersion(baselineName, 'sooner')]
  await assert.rejects(
    migrateInstallation(db, { folder: later, log: quiet }, 0),
    /because a process \(an earlier version, api, since \S+\) cannot work with the migration 29990101T000000_later/,
  )
  assert.equal(await migrateInstallation(db, { folder: baseline, log: quiet }, 0), 1)
})

test('a killed process does not hold up a migration, and one that ends is waited for', async () => {
  const db = await testDatabase()
  await addOlder(db, 60)
  assert.deepEqual(await objections(db, [{ name: '29990101T000000_extra', compatibleSince: null }]), [])
  await addOlder(db)
  const lines: string[] = []
  const log = { info: (text: string) => lines.push(text), debug: () => {} }
  const migrated = migrateInstallation(db, { folder: newerVersion('no'), log }, 60)
  await until(async () =>
    lines.some((line) => line.startsWith('schema: waiting for 60 s: The database is not migrated')),
  )
  await db.run`delete from processes`
  assert.equal(await migrated, 1)
})

test('a process does not start after a newer version has changed the schema otherwise', async () => {
  const db = await testDatabase()
  await migrate(db, { folder: newerVersion('no') })
  await assert.rejects(enterInstallation(db, shared, log), /29990101T000000_extra, which this version does not know/)
  assert.deepEqual(await db.many`select from processes`, [])
})

test('with TRUNKLINE_MIGRATE=never a start that finds pending migrations ends, and names the command', async () => {
  const db = await testDatabase()
  await prepareSchema(db, 'never', quiet)
  const { name } = await db.one<{ name: string }>`
    delete from schema_migrations where name = ${await newestKnown()} returning name`
  await assert.rejects(
    prepareSchema(db, 'never', quiet),
    new RegExp(
      `^Error: The database lacks the migration ${name}, and TRUNKLINE_MIGRATE is never\\. Run "npx trunkline migrate"`,
    ),
  )
  await db.raw('drop schema public cascade; create schema public')
  await assert.rejects(prepareSchema(db, 'never', quiet), /lacks \d+ migrations, 20261128T000000_baseline to /)
})

test('a start during a migration logs whose it is, waits for its end, and ends with a sentence once that takes too long', async () => {
  const db = await testDatabase()
  const lines: string[] = []
  const seen = { ...quiet, info: (text: string) => lines.push(text) }
  const whose = new RegExp(`session \\d+ \\(trunkline of ${hostname()}, process ${process.pid}, for \\d+ s\\)`)
  const folder = newerVersion(await newestKnown(), 'extra', 'select pg_advisory_xact_lock(37);')
  const free = Promise.withResolvers<void>()
  const held = db.begin(async (tx) => {
    await tx.run`select pg_advisory_xact_lock(37)`
    await free.promise
  })
  const options = { folder, log: quiet, patience: { lockMs: 60_000, totalMs: 60_000 } }
  const migrated = migrate(db, options)
  const isWaiting = () => db.maybe`select from pg_locks where locktype = 'advisory' and not granted`
  await until(isWaiting)
  await assert.rejects(requireKnownSchema(db, { turnMs: 0 }), (error: Error) => {
    assert.match(error.message, /^The database is still being migrated by /)
    assert.match(error.message, whose)
    return true
  })
  await assert.rejects(migrate(db, { ...options, turnMs: 0 }), /still being migrated by session/)
  // A process of the version before, and another one of the newer version.
  const entered = enterInstallation(db, shared, { ...log, info: (_: object, text: string) => lines.push(text) })
  const second = migrate(db, { ...options, log: seen })
  await until(async () => lines.length === 2)
  free.resolve()
  await held
  assert.deepEqual([await migrated, await second], [1, 0])
  await (await entered).end()
  for (const line of lines) assert.match(line, /^schema: waiting for the migration of /)
  for (const line of lines) assert.match(line, whose)
})

for (const [what, silence] of [
  ['was silent', (db: TestDatabase) => db.run`update processes set seen_at = clock_timestamp() - interval '1 minute'`],
  ['was deleted as dead', (db: TestDatabase) => db.run`delete from processes`],
] as const)
  test(`a process that ${what} looks at the schema again, and reports one that it does not bear`, async () => {
    const db = await testDatabase()
    const warnings: string[] = []
    const reports: string[] = []
    const { end } = await enterInstallation(
      db,
      { ...shared, onUnknownSchema: ({ message }) => reports.push(message) },
      { ...log, warn: (_: object, text: string) => warnings.push(text) },
    )
    await migrate(db, { folder: newerVersion('no') })
    await silence(db)
    await until(async () => reports.length === 1)
    assert.match(
      reports[0] ?? '',
      /^A newer version migrated the database while this process did not reach it\. .*29990101T000000_extra/,
    )
    assert.deepEqual(warnings, ['processes: heartbeats were missing for 20 s: others took this process for dead'])
    await end()
  })
