import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { migrate } from '../../src/platform/db/migrate.ts'
import type { AppliedMigration } from '../../src/platform/db/migration-files.ts'
import { connect, type Db } from '../../src/platform/db/sql.ts'
import { runChild } from '../child.ts'
import { onEachPostgres, type TestDatabase, testDatabase } from '../database.ts'
import { temporaryFolder } from '../servers.ts'
import { describeSchema } from './catalogue.ts'

/** Migrations of commit ab8c613e, the last one before the baseline, in a database that it made. */
const former: AppliedMigration[] = readFileSync(join(import.meta.dirname, 'former.sha256'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => ({ checksum: line.slice(0, 64), name: line.slice(66) }))

const folder = join(import.meta.dirname, '../../src/platform/db/migrations')
const later = readdirSync(folder).filter((name) => name.endsWith('.sql'))

const baseline = '20261128T000000_baseline'

/** Replaces the rows up to the baseline. Migrations after it stay applied. */
const withRows = async (db: Db, rows: readonly AppliedMigration[]): Promise<void> => {
  await db.run`delete from schema_migrations where name <= ${baseline} and name <> '0000_lock'`
  for (const { name, checksum } of rows)
    await db.run`insert into schema_migrations (name, checksum) values (${name}, ${checksum})`
}

const upgrade = async ({ url }: TestDatabase, from?: string): Promise<number> => {
  const db = connect({ url, connections: 2, unlimited: true })
  return await migrate(db, from === undefined ? {} : { folder: from }).finally(() => db.end())
}

const namesIn = async (db: Db): Promise<string[]> =>
  (await db.many<{ name: string }>`select name from schema_migrations where checksum <> '' order by name`).map(
    ({ name }) => name,
  )

/** A database with the rows of the last commit before the baseline. */
const makeFormer = async (database: () => Promise<TestDatabase>): Promise<TestDatabase> => {
  const db = await database()
  await withRows(db, former)
  return db
}

onEachPostgres((database) => {
  test('a new database gets the baseline and every migration after it', async () => {
    const names = await namesIn(await database())
    assert.deepEqual(names, [baseline, ...later.map((name) => name.slice(0, -4)).sort()])
  })

  test('a database of the last commit before the baseline is marked, and its schema and rows stay', async () => {
    const [fresh, old] = [await database(), await makeFormer(database)]
    await old.run`insert into accounts (id, name, requests_per_minute) values (gen_random_uuid(), 'ada', 60)`
    const rows = await old.many`select * from accounts`
    assert.equal(await upgrade(old), 0)
    assert.deepEqual(await namesIn(old), await namesIn(fresh))
    assert.deepEqual(await old.many`select * from accounts`, rows)
    assert.deepEqual(await describeSchema(old), await describeSchema(fresh))
    assert.equal(await upgrade(old), 0)
  })
})

test('a database upgraded from the numbered migrations is marked too', async () => {
  const db = await testDatabase()
  const dated = former.filter(({ name }) => name.includes('T'))
  const numbered = Array.from({ length: 60 }, (_, i) => ({
    name: `${String(i + 1).padStart(4, '0')}_x`,
    checksum: 'x',
  }))
  await withRows(db, [...numbered, ...dated])
  assert.equal(await upgrade(db), 0)
  assert.deepEqual(await namesIn(db), await namesIn(await testDatabase()))
})

test('a later migration is applied to a new database and to one of the last commit before the baseline', async () => {
  const next = join(temporaryFolder(), 'migrations')
  cpSync(folder, next, { recursive: true })
  writeFileSync(join(next, '29991231T000000_colour.sql'), "alter table accounts add column colour text default 'red';")
  for (const db of [await testDatabase(), await makeFormer(testDatabase)]) {
    await db.run`insert into accounts (id, name, requests_per_minute) values (gen_random_uuid(), 'ada', 60)`
    assert.equal(await upgrade(db, next), 1)
    assert.deepEqual(await db.many`select name, colour from accounts`, [{ name: 'ada', colour: 'red' }])
  }
})

test('an earlier or a changed schema is refused with the commit to pass through, and nothing changes', async () => {
  const db = await testDatabase()
  const refused: [AppliedMigration[], RegExp][] = [
    [former.slice(0, -1), /an earlier version, up to 20261127T216000_proved_addresses: start commit ab8c613e /],
    [former.slice(0, 3), /up to 03_ledger: start commit ab8c613e of Trunkline on it once, and then this version\.$/],
    [[{ name: '0042_number_possession', checksum: 'x' }], /up to 0042_number_possession: start commit ab8c613e/],
    [former.map((one, i) => (i === 20 ? { ...one, checksum: 'another' } : one)), /start commit ab8c613e/],
    [former.filter((_, i) => i !== 20), /start commit ab8c613e/],
  ]
  for (const [rows, fault] of refused) {
    await withRows(db, rows)
    await assert.rejects(upgrade(db), fault)
    assert.deepEqual(
      (await namesIn(db)).filter((name) => name < baseline),
      rows.map(({ name }) => name).sort(),
    )
  }
})

test('two processes that start at the same time mark a database once', async () => {
  const db = await makeFormer(testDatabase)
  const script = `
    import { migrate } from ${JSON.stringify(import.meta.resolve('../../src/platform/db/migrate.ts'))}
    import { connect } from ${JSON.stringify(import.meta.resolve('../../src/platform/db/sql.ts'))}
    const db = connect({ url: ${JSON.stringify(db.url)}, connections: 2, unlimited: true })
    await migrate(db)
    await db.end()`
  const holder = connect({ url: db.url, connections: 1 })
  const waiting = () => db.many`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const children = await holder.begin(async (tx) => {
    // Both have read the old rows once they wait here.
    await tx.one`select from schema_migrations where name = '0000_lock' for update`
    const started = [runChild(script), runChild(script)]
    const ended = Promise.race(started.map(({ exited }) => exited)).then(() => assert.fail('a process did not wait'))
    const bothWait = async () => {
      while ((await waiting()).length < 2) await pause(10)
    }
    await Promise.race([bothWait(), ended])
    ended.catch(() => {})
    return started
  })
  for (const { exited } of children) assert.equal(await exited, 0)
  await holder.end()
  assert.deepEqual(await namesIn(db), await namesIn(await testDatabase()))
})
