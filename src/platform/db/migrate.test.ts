import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { onEachPostgres, type TestDatabase } from '../../../test/database.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { quoteIdentifier } from './identifier.ts'
import { migrate } from './migrate.ts'
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
    const said: string[] = []
    const log = { info: (text: string) => said.push(text) }
    assert.equal(await migrate(own, { folder: filesOf(items), log }), 1)
    assert.equal(await migrate(own, { folder: filesOf({ ...items, ...names }), log }), 1)
    assert.equal(await migrate(own, { folder: filesOf({ ...items, ...names }), log }), 0)
    assert.deepEqual(await own.many`select id, name from items`, [{ id: 1, name: null }])
    assert.deepEqual(
      said.map((text) => text.replace(/\d+ ms/, 'n ms')),
      [`migrated ${first}_items in n ms`, `migrated ${second}_names in n ms`],
    )
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
    await refused({ ...items, 'numbered/0001_a.sql': '', 'numbered/0003_far.sql': '' }, /missing before 0003_far.sql/)
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

  const series = {
    'baseline/01_items.sql': 'create table items (id integer);',
    'baseline/02_names.sql': 'alter table items add name text;',
    'numbered/0001_things.sql': 'create table things (id integer);',
    'numbered/0002_rename.sql': 'alter table things rename to items; alter table items add name text;',
  }
  const appliedTo = async (db: Db) =>
    (
      await db.many<{ name: string }>`select name from schema_migrations where checksum <> '' order by applied_at, name`
    ).map(({ name }) => name)

  test('a new database gets the baseline, and one with a numbered migration gets the rest of these', async () => {
    const later = { [`${first}_price.sql`]: 'alter table items add price integer;' }
    const fresh = await freshSchema()
    assert.equal(await migrate(fresh, { folder: filesOf({ ...series, ...later }) }), 3)
    assert.deepEqual(await appliedTo(fresh), ['01_items', '02_names', `${first}_price`])
    const old = await freshSchema()
    assert.equal(await migrate(old, { folder: filesOf(series), only: ['0001_things'] }), 1)
    assert.equal(await migrate(old, { folder: filesOf({ ...series, ...later }) }), 2)
    assert.deepEqual(await appliedTo(old), ['0001_things', '0002_rename', `${first}_price`])
    await Promise.all([fresh.end(), old.end()])
  })

  test('a database that lacks a migration within its series is refused', async () => {
    const own = await freshSchema()
    const folder = filesOf(series)
    await migrate(own, { folder, only: ['0001_things'] })
    await own.run`update schema_migrations set name = '0002_rename' where name = '0001_things'`
    const checksum = createHash('sha256').update(series['numbered/0002_rename.sql']).digest('hex')
    await own.run`update schema_migrations set checksum = ${checksum} where name = '0002_rename'`
    await assert.rejects(migrate(own, { folder }), /has 0002_rename but not 0001_things.sql, which comes before it/)
    await own.end()
  })

  test('the migrations of a backup are applied and no others', async () => {
    const own = await freshSchema()
    const folder = filesOf({ ...series, ...items, ...names })
    const unknown = migrate(own, { folder, only: ['01_items', '20270101T000000_new'] })
    await assert.rejects(unknown, /does not know the migration 20270101T000000_new: it was made by a newer one/)
    assert.equal(await migrate(own, { folder: filesOf(series), only: ['01_items'] }), 1)
    assert.deepEqual(await appliedTo(own), ['01_items'])
    await own.end()
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
