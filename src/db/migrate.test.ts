import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { onEachPostgres, type TestDatabase } from '../../test/database.ts'
import { temporaryFolder } from '../../test/servers.ts'
import { migrate } from './migrate.ts'
import { connect, type Db } from './sql.ts'

const folders = temporaryFolder()

const filesOf = (files: Record<string, string>): string => {
  const folder = mkdtempSync(join(folders, 'migrations-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

const items = { '0001_items.sql': 'create table items (id integer); insert into items values (1);' }
const names = { '0002_names.sql': 'alter table items add name text;' }

test('the files of the product have every number once', async () => {
  // An unreachable database: the files are read before it is asked.
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
    await db.raw(`create schema ${name}`)
    return connect({ url: `${db.url}&options=-csearch_path%3D${name}`, connections, patient: true })
  }

  test('files are applied once, in order, and the table remembers them', async () => {
    const own = await freshSchema()
    const said: string[] = []
    const log = { info: (text: string) => said.push(text) }
    assert.equal(await migrate(own, { folder: filesOf(items), log }), 1)
    assert.equal(await migrate(own, { folder: filesOf({ ...items, ...names }), log }), 1)
    assert.equal(await migrate(own, { folder: filesOf({ ...items, ...names }), log }), 0)
    assert.deepEqual(await own.many`select id, name from items`, [{ id: 1, name: null }])
    assert.deepEqual(
      said.map((text) => text.replace(/\d+ ms/, 'n ms')),
      ['migrated 0001_items in n ms', 'migrated 0002_names in n ms'],
    )
    await own.end()
  })

  test('a file that fails leaves nothing of itself, and the error names the place', async () => {
    const own = await freshSchema()
    const folder = filesOf({ ...items, '0002_bad.sql': 'create table half (id integer);\nselect nonsense from items;' })
    await assert.rejects(
      migrate(own, { folder }),
      /0002_bad.sql failed at `select nonsense from items;`: column "nonsense"/,
    )
    assert.deepEqual(await own.many`select to_regclass('items') is not null as items, to_regclass('half') as half`, [
      { items: true, half: null },
    ])
    assert.equal(await migrate(own, { folder: filesOf({ ...items, ...names }) }), 1)
    await own.end()
  })

  test('an applied file that was changed is refused, line ends aside', async () => {
    const own = await freshSchema()
    await migrate(own, { folder: filesOf({ '0001_a.sql': 'create table a (\n  id integer\n);\n' }) })
    assert.equal(
      await migrate(own, { folder: filesOf({ '0001_a.sql': 'create table a (\r\n  id integer\r\n);\r\n' }) }),
      0,
    )
    const changed = migrate(own, { folder: filesOf({ '0001_a.sql': 'create table a (\n  id bigint\n);\n' }) })
    await assert.rejects(changed, /0001_a.sql was changed after it had been applied/)
    await own.end()
  })

  test('numbers that are double, missing, or out of turn are refused before anything is done', async () => {
    const own = await freshSchema()
    const refused = (files: Record<string, string>, why: RegExp) =>
      assert.rejects(migrate(own, { folder: filesOf(files) }), why)
    await refused({ ...items, '0001_twin.sql': '' }, /Two migrations have the number of 0001_twin.sql/)
    await refused({ ...items, '0003_far.sql': '' }, /missing before 0003_far.sql/)
    await refused({ ...items, 'two.sql': '' }, /two.sql is not named like 0001_name.sql/)
    assert.deepEqual(await own.many`select to_regclass('schema_migrations') as made`, [{ made: null }])

    await migrate(own, { folder: filesOf({ ...items, ...names }) })
    await refused(items, /has the migration 0002_names, which this version does not know/)
    await refused({ ...items, '0002_other.sql': '' }, /0002_names is no longer among the files/)
    await own.end()
  })

  test('a number that comes late, below an applied one, is refused', async () => {
    const own = await freshSchema()
    const third = { '0003_third.sql': 'create table third (id integer);' }
    await migrate(own, { folder: filesOf({ ...items, ...third }), gaps: true })
    const late = migrate(own, { folder: filesOf({ ...items, ...names, ...third }), gaps: true })
    await assert.rejects(late, /has 0003_third but not 0002_names.sql/)
    await own.end()
  })

  test('nodes that start at the same time apply each file once between them', async () => {
    const own = await freshSchema()
    const url = await own.one<{ path: string }>`select current_schema() as path`
    const folder = filesOf({
      '0001_a.sql': 'create table a (id serial); insert into a default values;',
      '0002_b.sql': 'insert into a default values; select pg_sleep(0.05);',
      '0003_c.sql': 'insert into a default values;',
    })
    const nodes = Array.from({ length: 6 }, () =>
      connect({ url: `${db.url}&options=-csearch_path%3D${url.path}`, connections: 2, patient: true }),
    )
    const counts = await Promise.all(nodes.map((node) => migrate(node, { folder })))
    assert.equal(
      counts.reduce((sum, count) => sum + count),
      3,
    )
    assert.equal((await own.many`select from a`).length, 3)
    await Promise.all([own, ...nodes].map((node) => node.end()))
  })

  test('a file marked so runs outside a transaction', async () => {
    const own = await freshSchema()
    const folder = filesOf({
      ...items,
      '0002_index.sql':
        '-- no transaction\n-- Big tables: no lock.\ncreate index concurrently if not exists one on items (id);\n\ncreate index concurrently if not exists two on items (id);\n',
    })
    assert.equal(await migrate(own, { folder }), 2)
    const indexes = await own.many<{ valid: boolean }>`
      select indisvalid as valid from pg_index where indrelid = 'items'::regclass`
    assert.deepEqual(indexes, [{ valid: true }, { valid: true }])
    const inside = filesOf({ ...items, '0002_index.sql': 'create index concurrently one on items (id);' })
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
