import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { quoteIdentifier } from '../../src/platform/db/identifier.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { connect, type Db } from '../../src/platform/db/sql.ts'
import { runChild } from '../child.ts'
import { onEachPostgres, type TestDatabase } from '../database.ts'
import { oldest } from '../servers.ts'
import { describeSchema } from './catalogue.ts'
import { fillTables } from './fill.ts'

const folder = join(import.meta.dirname, '../../src/platform/db/migrations/numbered')
const names = readdirSync(folder)
  .sort()
  .map((name) => name.replace('.sql', ''))
const numbered = names.slice(0, 59)
/** Number of migrations after the bridge. */
const later = readdirSync(join(folder, '..')).filter((name) => name.endsWith('.sql')).length
const bridge = readFileSync(join(folder, `${names[59]}.sql`), 'utf8')

/** Names of before, and those that the bridge gives. */
const renamedTables = new Map(
  [...bridge.matchAll(/^alter table (\w+) rename to (\w+);/gm)].map(([, from = '', to = '']) => [from, to]),
)
const renamedColumns = [...bridge.matchAll(/^alter table (\w+) rename column (\w+) to (\w+);/gm)]

/** A database as the release before the baseline left it, or an earlier one. */
const makeOld = async (database: () => Promise<TestDatabase>, last = 59): Promise<TestDatabase> => {
  const db = await database()
  // As initdb makes it, so that pg_dump leaves it out.
  await db.raw(`drop schema public cascade; create schema public authorization pg_database_owner;
    comment on schema public is 'standard public schema'; grant usage on schema public to public`)
  await upgrade(db, numbered.slice(0, last))
  return db
}

const upgrade = async ({ url }: TestDatabase, only?: readonly string[]): Promise<number> => {
  const db = connect({ url, connections: 2, unlimited: true })
  return await migrate(db, only ? { only } : {}).finally(() => db.end())
}

/** The rows of every table as text, in one order; names are those that the bridge gives. */
const readRows = async (db: Db): Promise<Map<string, string[]>> => {
  const tables = await db.many<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname <> 'schema_migrations'`
  const found = new Map<string, string[]>()
  for (const { name } of tables) {
    const rows = await db.raw<{ row: Record<string, unknown> }>(
      `select to_jsonb(t) as row from ${quoteIdentifier(name)} t`,
    )
    const renamed = rows.map(({ row }) => {
      for (const [, table, from = '', to = ''] of renamedColumns)
        if (table === name && from in row) {
          row[to] = row[from]
          delete row[from]
        }
      return JSON.stringify(Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1)))
    })
    found.set(renamedTables.get(name) ?? name, renamed.sort())
  }
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** Removes the tables and columns that later migrations add. */
const withoutAdditions = (rows: Map<string, string[]>, known: Map<string, string[]>): Map<string, string[]> =>
  new Map(
    [...rows].flatMap(([table, lines]) => {
      const columns = known
        .get(table)
        ?.slice(0, 1)
        .flatMap((line) => JSON.parse(line).map(([name]: [string]) => name))
      if (!columns) return []
      const kept = lines.map((line) =>
        JSON.stringify(JSON.parse(line).filter(([name]: [string]) => columns.includes(name))),
      )
      return [[table, kept.sort()] as const]
    }),
  )

const readSequences = (db: Db) =>
  db.many`select sequencename, last_value from pg_sequences where schemaname = current_schema() order by 1`

const isOldest = async (db: Db): Promise<boolean> =>
  (await db.one<{ version: string }>`select current_setting('server_version') as version`).version.startsWith('15.')

const dump = (url: string): string =>
  execFileSync(join(oldest ?? '', 'pg_dump'), ['--schema-only', '--no-owner', '--no-privileges', url], {
    encoding: 'utf8',
  }).replace(/^\\(?:un)?restrict .*$/gm, '')

test('the numbered migrations are as they were released', () => {
  assert.deepEqual(
    names.map((name) => Number.parseInt(name, 10)),
    names.map((_, i) => i + 1),
  )
  assert.equal(names.length, 60)
  const hash = createHash('sha256')
  for (const name of numbered) hash.update(`${name}\n`).update(readFileSync(join(folder, `${name}.sql`)))
  assert.equal(hash.digest('hex'), 'ae940e47a853d9d37885950eaeddcbe7e418df2f78ca8fbf90f782bf6fdd53e1')
})

onEachPostgres((database) => {
  test('an installation at the last numbered migration is upgraded to the schema of a new one, and every row is preserved', async () => {
    const [fresh, old] = [await database(), await makeOld(database)]
    assert.equal(await fillTables(old), 99)
    const [rows, sequences] = [await readRows(old), await readSequences(old)]
    for (const [table, lines] of rows) assert.ok(lines.length > 0, table)
    assert.equal(await upgrade(old), 1 + later)
    assert.deepEqual(withoutAdditions(await readRows(old), rows), rows)
    assert.deepEqual(await readSequences(old), sequences)
    assert.deepEqual(await describeSchema(old), await describeSchema(fresh))
    // The client of Debian's package reads no newer server.
    if (await isOldest(old)) assert.equal(dump(old.url), dump(fresh.url))
    assert.equal(await upgrade(old), 0)
  })

  test('an installation at an earlier migration is upgraded to the same schema', async () => {
    const old = await makeOld(database, 30)
    assert.equal(await upgrade(old), 30 + later)
    assert.deepEqual(await describeSchema(old), await describeSchema(await database()))
  })

  test('a process that is killed within the bridge leaves the old schema, and the next one completes it', async () => {
    const old = await makeOld(database)
    const before = await describeSchema(old)
    const holder = connect({ url: old.url, connections: 1 })
    const child = runChild(`
      import { migrate } from ${JSON.stringify(import.meta.resolve('../../src/platform/db/migrate.ts'))}
      import { connect } from ${JSON.stringify(import.meta.resolve('../../src/platform/db/sql.ts'))}
      await migrate(connect({ url: ${JSON.stringify(old.url)}, connections: 2, unlimited: true }))`)
    const waiting = () => old.many<{ pid: number }>`
      select pid from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%installation_state%'`
    await holder.begin(async (tx) => {
      // The bridge changes a trigger of this table, near its end.
      await tx.raw('lock table msgapp_media in access share mode')
      while ((await waiting()).length === 0) await pause(10)
      await child.kill('SIGKILL')
    })
    while (
      (
        await old.many`
      select from pg_stat_activity where datname = current_database() and query like '%installation_state%'
        and pid <> pg_backend_pid()`
      ).length > 0
    )
      await pause(10)
    await holder.end()
    assert.deepEqual(await describeSchema(old), before)
    assert.equal(await upgrade(old), 1 + later)
    assert.deepEqual(await describeSchema(old), await describeSchema(await database()))
  })
})
