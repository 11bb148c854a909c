import assert from 'node:assert/strict'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/servers.ts'
import { type EmbeddedDatabase, runningUrl, startEmbedded } from './embedded.ts'
import { migrate } from './migrate.ts'
import { connect, type Db } from './sql.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }
const home = join(temporaryFolder(), 'home')
const ownerFile = join(home, 'postgres', '18', 'owner-password')

const during = async <T>(work: (db: Db, server: EmbeddedDatabase) => Promise<T>): Promise<T> => {
  const server = await startEmbedded({ home, log: silent, durable: false })
  const db = connect({ url: server.url, connections: 2, unlimited: true })
  try {
    return await work(db, server)
  } finally {
    await db.end()
    await server.stop()
  }
}

const asSuperuser = async (server: EmbeddedDatabase, ...statements: string[]): Promise<void> => {
  const superuser = connect({ url: server.superuserUrl, connections: 1 })
  try {
    for (const statement of statements) await superuser.raw(statement)
  } finally {
    await superuser.end()
  }
}

const rolesOf = (db: Db) => db.many<{ name: string }>`
  select distinct pg_get_userbyid(relowner) as name from pg_class where relnamespace = 'public'::regnamespace
  union select pg_get_userbyid(proowner) from pg_proc where pronamespace = 'public'::regnamespace
  union select pg_get_userbyid(datdba) from pg_database where datname = current_database()`

test('SQL on the embedded database runs no program, reads no file and gains no rights', async () => {
  await during(async (db, { url }) => {
    await migrate(db)
    for (const statement of [
      "copy accounts from program 'true'",
      "copy accounts to program 'true'",
      "copy accounts from '/etc/passwd'",
      "copy accounts to '/etc/out'",
      "select pg_read_file('/etc/passwd')",
      "select pg_ls_dir('.')",
      "select lo_import('/etc/passwd')",
      'alter system set fsync = off',
      'create extension if not exists pg_stat_statements',
      "create function f() returns void language c as 'libc', 'system'",
      'set role trunkline',
      'set session authorization trunkline',
      'reset session authorization; set role trunkline',
      'alter role trunkline_owner superuser',
      'grant trunkline to trunkline_owner',
      'create role another superuser',
      "alter role trunkline password 'known'",
      'create database another',
    ])
      await assert.rejects(
        db.raw(statement),
        (error) =>
          error instanceof Error && 'code' in error && ['42501', '0A000', '58P01'].includes(String(error.code)),
        statement,
      )
    assert.deepEqual(await rolesOf(db), [{ name: 'trunkline_owner' }])
    assert.equal(await runningUrl(home), url)
    assert.equal(statSync(ownerFile).mode & 0o777, 0o600)
  })
})

test('a database that belonged to the superuser keeps its rows and is given to its owner, once and again', async () => {
  await during(async (db, server) => {
    await db.raw("insert into installation_state (name, value) values ('kept', '7')")
    // As the version before left it, and then as its commands and an operator with psql may have changed it.
    await asSuperuser(server, 'reassign owned by trunkline_owner to trunkline', 'drop role trunkline_owner')
  })
  rmSync(ownerFile)
  const password = await during(async (db, { url }) => {
    assert.deepEqual(await rolesOf(db), [{ name: 'trunkline_owner' }])
    assert.equal((await db.many`select from installation_state where name = 'kept' and value = '7'`).length, 1)
    await db.raw('alter table accounts add column one integer; alter table accounts drop column one')
    return new URL(url).password
  })
  assert.equal(readFileSync(ownerFile, 'utf8').trim(), password)
  await during(async (_, server) =>
    asSuperuser(
      server,
      'create table made_later (id serial primary key)',
      "alter role trunkline_owner password 'other'",
    ),
  )
  await during(async (db) => {
    await db.raw('insert into made_later default values; drop table made_later')
    assert.deepEqual(await rolesOf(db), [{ name: 'trunkline_owner' }])
  })
})
