import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { onEachPostgres, type TestDatabase } from '../../../test/database.ts'
import { until } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { quoteIdentifier } from './identifier.ts'
import { strongest } from './lock-modes.ts'
import { type FinishedMigration, migrate, pendingMigrations } from './migrate.ts'
import type { AppliedMigration } from './migration-files.ts'
import { connect, type Db } from './sql.ts'

const folders = temporaryFolder()

const filesOf = (files: Record<string, string>): string => {
  const folder = mkdtempSync(join(folders, 'migrations-'))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

const first = '20260101T000000'
const second = '20260102T000000'
const third = '20260103T000000'
const items = { [`${first}_items.sql`]: 'create table items (id integer); insert into items values (1);' }
const names = { [`${second}_names.sql`]: 'alter table items add name text;' }

test('the files of the product have valid names, and each number once', async () => {
  // The database is unreachable: the files are read before it is asked.
  const db = connect({ url: 'postgresql://nobody@127.0.0.1:1/none' })
  await assert.rejects(migrate(db), { code: 'ECONNREFUSED' })
  await db.end()
})

onEachPostgres((database) => {
  let db: TestDatabase
  before(async () => {
    db = await database()
  })

  /** Each test has a schema of its own in the one database. */
  const freshSchema = async (connections = 3): Promise<Db> => {
    const name = `s${randomBytes(4).toString('hex')}`
    await db.raw(`create schema ${quoteIdentifier(name)}`)
    return connect({ url: `${db.url}&options=-csearch_path%3D${name}`, connections, unlimited: true })
  }

  test('files are applied once, in order, and recorded', async () => {
    const own = await freshSchema()
    const lines: string[] = []
    const details: string[] = []
    const log = { info: (text: string) => lines.push(text), debug: (text: string) => details.push(text) }
    assert.equal(await migrate(own, { folder: filesOf(items), log }), 1)
    assert.equal(await migrate(own, { folder: filesOf({ ...items, ...names }), log }), 1)
    assert.equal(await migrate(own, { folder: filesOf({ ...items, ...names }), log }), 0)
    assert.deepEqual(await own.many`select id, name from items`, [{ id: 1, name: null }])
    const timeless = (texts: string[]) => texts.map((text) => text.replace(/\d+ ms/, 'n ms'))
    assert.deepEqual(timeless(lines), [
      `schema: migrated by 1 file, up to ${first}_items, in n ms`,
      `schema: migrated by 1 file, up to ${second}_names, in n ms`,
    ])
    assert.deepEqual(timeless(details), [`schema: ${first}_items took n ms`, `schema: ${second}_names took n ms`])
    await own.end()
  })

  test('a file that fails changes nothing, and the error names the line', async () => {
    const own = await freshSchema()
    const folder = filesOf({
      ...items,
      [`${second}_bad.sql`]: 'create table half (id integer);\nselect nonsense from items;',
    })
    await assert.rejects(
      migrate(own, { folder }),
      /20260102T000000_bad.sql failed at `select nonsense from items;`: column "nonsense"/,
    )
    assert.deepEqual(await own.many`select to_regclass('items') is not null as items, to_regclass('half') as half`, [
      { items: true, half: null },
    ])
    assert.equal(await migrate(own, { folder: filesOf({ ...items, ...names }) }), 1)
    await own.end()
  })

  test('an applied file that was changed is refused, unless only its line ends changed', async () => {
    const own = await freshSchema()
    const withText = (text: string) => migrate(own, { folder: filesOf({ [`${first}_a.sql`]: text }) })
    await withText('create table a (\n  id integer\n);\n')
    assert.equal(await withText('create table a (\r\n  id integer\r\n);\r\n'), 0)
    const changed = withText('create table a (\n  id bigint\n);\n')
    await assert.rejects(changed, /20260101T000000_a.sql was changed after it had been applied/)
    await own.end()
  })

  test('a file with a bad name, or a number that is double or missing, is refused before anything is applied', async () => {
    const own = await freshSchema()
    const refused = (files: Record<string, string>, why: RegExp) =>
      assert.rejects(migrate(own, { folder: filesOf(files) }), why)
    await refused({ ...items, 'baseline/01_a.sql': '', 'baseline/01_twin.sql': '' }, /have the number of 01_twin.sql/)
    await refused({ ...items, 'baseline/01_a.sql': '', 'baseline/03_far.sql': '' }, /missing before 03_far.sql/)
    await refused({ ...items, '0002_two.sql': '' }, /0002_two.sql is not named like 20261201T093000_name.sql/)
    await refused({ ...items, 'baseline/0001_a.sql': '' }, /0001_a.sql is not named like 01_name.sql/)
    await refused({}, /has no migrations/)
    assert.deepEqual(await own.many`select to_regclass('schema_migrations') as made`, [{ made: null }])
    await own.end()
  })

  test('a database that a newer version has migrated is refused', async () => {
    const own = await freshSchema()
    await migrate(own, { folder: filesOf({ ...items, ...names }) })
    const older = migrate(own, { folder: filesOf(items) })
    await assert.rejects(older, /has the migration 20260102T000000_names, which this version does not know/)
    await own.end()
  })

  test('a later file that was merged late is applied', async () => {
    const own = await freshSchema()
    const late = { [`${third}_third.sql`]: 'create table third (id integer);' }
    await migrate(own, { folder: filesOf({ ...items, ...late }) })
    assert.equal(await migrate(own, { folder: filesOf({ ...items, ...names, ...late }) }), 1)
    assert.deepEqual(await own.many`select id, name from items`, [{ id: 1, name: null }])
    await own.end()
  })

  const baselineName = '20261128T000000_baseline'
  const baseline = {
    'baseline/01_items.sql': 'create table items (id integer);',
    'baseline/02_names.sql': 'alter table items add name text;',
  }
  const price = { '20261201T000000_price.sql': 'alter table items add price integer;' }
  const alone = { '20261201T000000_price.sql': 'create table prices (id integer);' }
  const colour = { '20261202T000000_colour.sql': 'alter table items add colour text;' }
  const rowsOf = (db: Db) =>
    db.many<AppliedMigration>`select name, checksum from schema_migrations where checksum <> '' order by name`
  const namesOf = async (db: Db) => (await rowsOf(db)).map(({ name }) => name)

  test('a new database gets the baseline as one migration, and then the files named by time', async () => {
    const own = await freshSchema()
    assert.equal(await migrate(own, { folder: filesOf({ ...baseline, ...price }) }), 2)
    assert.deepEqual(await namesOf(own), [baselineName, '20261201T000000_price'])
    assert.equal(await migrate(own, { folder: filesOf({ ...baseline, ...price, ...colour }) }), 1)
    assert.deepEqual(await own.many`select id, name, price, colour from items`, [])
    const changed = filesOf({ ...baseline, 'baseline/02_names.sql': 'alter table items add name varchar;', ...price })
    await assert.rejects(migrate(own, { folder: changed }), /^Error: baseline\/ was changed after it had been applied/)
    await own.end()
  })

  test('a baseline that fails changes nothing, and the error names the line', async () => {
    const own = await freshSchema()
    const folder = filesOf({ ...baseline, 'baseline/03_bad.sql': 'select nonsense\nfrom items;' })
    await assert.rejects(migrate(own, { folder }), /baseline\/ failed at `select nonsense`: column "nonsense"/)
    assert.deepEqual(await own.many`select to_regclass('items') as items`, [{ items: null }])
    await own.end()
  })

  test('a database without the baseline but with a file that follows it is refused', async () => {
    const own = await freshSchema()
    await migrate(own, { folder: filesOf(alone) })
    const whole = migrate(own, { folder: filesOf({ ...baseline, ...alone }) })
    await assert.rejects(whole, /has the migration 20261201T000000_price but not the baseline, which comes before it/)
    await own.end()
  })

  test('the migrations of a backup are applied and no others', async () => {
    const [model, own] = [await freshSchema(), await freshSchema()]
    const folder = filesOf({ ...baseline, ...price, ...colour })
    await migrate(model, { folder })
    const all = await rowsOf(model)
    const backup = all.filter(({ name }) => !name.endsWith('price'))
    const refused = (rows: AppliedMigration[], fault: RegExp) =>
      assert.rejects(migrate(own, { folder, backup: rows }), fault)
    const newer = { name: '20270101T000000_new', checksum: 'x' }
    await refused(
      [...backup, newer],
      /The backup has the migration 20270101T000000_new, which this version does not know/,
    )
    await refused(
      all.map((one) => ({ ...one, checksum: 'x' })),
      /has another migration 20261128T000000_baseline than/,
    )
    await refused(all.slice(1), /The backup has the migration 20261201T000000_price but not the baseline/)
    await refused([{ name: '01_platform', checksum: 'x' }], /up to 01_platform: restore it with commit ab8c613e/)
    assert.deepEqual(await namesOf(own), [])
    assert.equal(await migrate(own, { folder, backup }), 2)
    assert.deepEqual(await rowsOf(own), backup)
    await Promise.all([model.end(), own.end()])
  })

  test('nodes that start at the same time apply each file once in total', async () => {
    const own = await freshSchema()
    const url = await own.one<{ path: string }>`select current_schema() as path`
    const folder = filesOf({
      [`${first}_a.sql`]: 'create table a (id serial); insert into a default values;',
      [`${second}_b.sql`]: 'insert into a default values; select pg_sleep(0.05);',
      [`${third}_c.sql`]: 'insert into a default values;',
    })
    const nodes = Array.from({ length: 6 }, () =>
      connect({ url: `${db.url}&options=-csearch_path%3D${url.path}`, connections: 2, unlimited: true }),
    )
    const counts = await Promise.all(nodes.map((node) => migrate(node, { folder })))
    assert.equal(
      counts.reduce((sum, count) => sum + count),
      3,
    )
    assert.equal((await own.many`select from a`).length, 3)
    await Promise.all([own, ...nodes].map((node) => node.end()))
  })

  test('a file marked `-- no transaction` runs outside a transaction', async () => {
    const own = await freshSchema()
    const folder = filesOf({
      ...items,
      [`${second}_index.sql`]:
        '-- no transaction\n-- Big tables: no lock.\ncreate index concurrently if not exists one on items (id);\n\ncreate index concurrently if not exists two on items (id);\n',
    })
    assert.equal(await migrate(own, { folder }), 2)
    const indexes = await own.many<{ valid: boolean }>`
      select indisvalid as valid from pg_index where indrelid = 'items'::regclass`
    assert.deepEqual(indexes, [{ valid: true }, { valid: true }])
    const inside = filesOf({ ...items, [`${second}_index.sql`]: 'create index concurrently one on items (id);' })
    const other = await freshSchema()
    await assert.rejects(migrate(other, { folder: inside }), /cannot run inside a transaction block/)
    await Promise.all([own.end(), other.end()])
  })

  const compatibility = {
    [`${first}_compatibility.sql`]: 'create table schema_compatibility (name text primary key, since text not null);',
  }
  const compatible = (since: string, sql: string) => `-- compatible: ${since}\n${sql}`

  test('an older version works on a newer schema whose migrations are marked as compatible with it', async () => {
    const own = await freshSchema()
    const older = filesOf({ ...compatibility, [`${second}_items.sql`]: 'create table items (id integer);' })
    await migrate(own, { folder: older })
    const newer = (name: string, text: string) =>
      migrate(own, { folder: filesOf(Object.fromEntries([...known, [name, text]])) })
    const known: [string, string][] = [
      ...Object.entries(compatibility),
      [`${second}_items.sql`, 'create table items (id integer);'],
    ]
    const add = (name: string, since: string) => {
      const text = compatible(since, `alter table items add column ${quoteIdentifier(name)} text;`)
      const applied = newer(`2027010${known.length}T000000_${name}.sql`, text)
      known.push([`2027010${known.length}T000000_${name}.sql`, text])
      return applied
    }
    assert.equal(await add('one', `${second}_items`), 1)
    assert.equal(await migrate(own, { folder: older }), 0)
    assert.deepEqual(await pendingMigrations(own, older), [])
    // A version from before the one that the migration names.
    const ancient = filesOf(compatibility)
    await assert.rejects(migrate(own, { folder: ancient }), /20260102T000000_items, which this version does not know/)
    assert.equal(await add('two', 'no'), 1)
    await assert.rejects(
      migrate(own, { folder: older }),
      /20270103T000000_two, which this version does not know: a newer version made it, and it is not marked as compatible/,
    )
    await own.end()
  })

  test('a line that marks a migration as compatible with none by name is refused', async () => {
    const own = await freshSchema()
    const folder = filesOf({ [`${first}_a.sql`]: compatible('yes', 'create table a ();') })
    await assert.rejects(migrate(own, { folder }), /20260101T000000_a: "-- compatible: yes" names no migration/)
    await own.end()
  })

  test('a migration that waits for a lock lets other statements pass, names the holder, and is tried again', async () => {
    const own = await freshSchema(6)
    await migrate(own, { folder: filesOf(items) })
    const lines: string[] = []
    const log = { info: (text: string) => lines.push(text), debug: () => {} }
    const released = Promise.withResolvers<void>()
    const held = Promise.withResolvers<number>()
    const holder = own.begin(async (tx) => {
      await tx.raw('lock table items in access share mode')
      held.resolve((await tx.one<{ pid: number }>`select pg_backend_pid() as pid`).pid)
      await released.promise
    })
    const pid = await held.promise
    const migrated = migrate(own, {
      folder: filesOf({ ...items, ...names }),
      log,
      patience: { lockMs: 700, totalMs: 60_000 },
    })
    // An attempt may be over before it looked for the holder.
    const named = new RegExp(`attempt \\d+ found a lock held by session ${pid} \\(trunkline, idle in transaction`)
    await until(async () => lines.some((line) => named.test(line)))
    assert.deepEqual(await own.many`select id from items`, [{ id: 1 }])
    released.resolve()
    await holder
    assert.equal(await migrated, 1)
    await own.end()
  })

  test('a migration that gets no lock is given up, and changes nothing', async () => {
    const own = await freshSchema(6)
    await migrate(own, { folder: filesOf(items) })
    await own.begin(async (tx) => {
      await tx.raw('lock table items in access share mode')
      const folder = filesOf({
        ...items,
        [`${second}_two.sql`]: 'create table two (); alter table items add name text;',
      })
      await assert.rejects(
        migrate(own, { folder, patience: { lockMs: 1, totalMs: 0 } }),
        /20260102T000000_two.sql failed.*canceling statement due to lock timeout\. It was tried 1 times; the lock was held by /,
      )
    })
    assert.deepEqual(await own.many`select to_regclass('two') as two`, [{ two: null }])
    await own.end()
  })

  test('an aborted migration is canceled, and changes nothing', async () => {
    const own = await freshSchema(4)
    const stop = new AbortController()
    const folder = filesOf({ [`${first}_slow.sql`]: 'create table slow (); select pg_sleep(100) -- of this test' })
    const migrated = migrate(own, { folder, signal: stop.signal })
    await until(
      async () =>
        own.maybe`select from pg_stat_activity where query like '%pg_sleep(100) -- of this test' and wait_event = 'PgSleep'`,
    )
    stop.abort(new Error('stopped by the operator'))
    await assert.rejects(migrated, /stopped by the operator/)
    assert.deepEqual(await own.many`select to_regclass('slow') as slow`, [{ slow: null }])
    await own.end()
  })

  test('a refused migration is not begun', async () => {
    const own = await freshSchema()
    await migrate(own, { folder: filesOf(items) })
    const seen: (string | null)[] = []
    const permit = async (_: unknown, pending: readonly { name: string }[]) => {
      seen.push(...pending.map(({ name }) => name))
      throw new Error('refused')
    }
    await assert.rejects(migrate(own, { folder: filesOf({ ...items, ...names }), permit }), /^Error: refused$/)
    assert.deepEqual(seen, [`${second}_names`])
    assert.deepEqual(await own.many`select * from items`, [{ id: 1 }])
    await own.end()
  })

  test('the strongest lock of each table that existed before is recorded, within a transaction and outside', async () => {
    const own = await freshSchema()
    await migrate(own, {
      folder: filesOf({ ...items, [`${second}_more.sql`]: 'create table more (); create table gone ();' }),
    })
    const files = {
      ...items,
      [`${second}_more.sql`]: 'create table more (); create table gone ();',
      [`${third}_change.sql`]:
        'select from items; update items set id = 2; alter table more add a integer; drop table gone; create table made ();',
      '20260104T000000_index.sql': '-- no transaction\ncreate index concurrently if not exists one on items (id);\n',
    }
    const finished: FinishedMigration[] = []
    await migrate(own, { folder: filesOf(files), recordsLocks: true, onApplied: (one) => finished.push(one) })
    const [change, index] = finished
    assert.deepEqual(strongest(change?.locks ?? []), [
      { table: 'gone', mode: 'AccessExclusiveLock' },
      { table: 'more', mode: 'AccessExclusiveLock' },
      { table: 'items', mode: 'RowExclusiveLock' },
    ])
    assert.ok(index?.locks.every(({ table }) => table === 'items'))
    await own.end()
  })

  test('a schema that is up to date costs one query', async () => {
    const own = await freshSchema()
    await migrate(own, { folder: filesOf(items) })
    let queries = 0
    const counting: Db = {
      ...own,
      many: (text, ...values) => {
        queries++
        return own.many(text, ...values)
      },
      begin: () => assert.fail('a transaction'),
      raw: () => assert.fail('another statement'),
    }
    assert.equal(await migrate(counting, { folder: filesOf(items) }), 0)
    assert.equal(queries, 1)
    await own.end()
  })
})

test.after(() => rmSync(folders, { recursive: true, force: true }))
