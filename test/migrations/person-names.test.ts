import assert from 'node:assert/strict'
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { migrate } from '../../src/platform/db/migrate.ts'
import { connect } from '../../src/platform/db/sql.ts'
import { onEachPostgres } from '../database.ts'
import { temporaryFolder } from '../servers.ts'

const folder = join(import.meta.dirname, '../../src/platform/db/migrations')
const file = '20261128T166000_person_names.sql'

const id = (n: number): string => `01a1fcca-93ab-7cbc-9f10-${String(n).padStart(12, '0')}`

onEachPostgres((database) => {
  test('names of persons that differed from those of their users are joined, and none is lost', async () => {
    const before = join(temporaryFolder(), 'migrations')
    cpSync(folder, before, { recursive: true })
    for (const name of readdirSync(before)) if (name.endsWith('.sql') && name >= file) rmSync(join(before, name))
    const old = await database()
    await old.raw('drop schema public cascade; create schema public')
    const db = connect({ url: old.url, connections: 2, unlimited: true })
    try {
      await migrate(db, { folder: before })
      const [first, second] = [id(1), id(2)]
      for (const account of [first, second])
        await db.run`insert into accounts (id, name, requests_per_minute) values (${account}, 'a', 60)`
      const person = (n: number, name: string) => db.run`
        insert into persons (id, email, email_key, name) values (${id(n)}, ${`${n}@example.com`}, ${`${n}@example.com`}, ${name})`
      const user = (n: number, account: string, of: number, names: [string, string], status = 'ACTIVE') => db.run`
        insert into users (account_id, id, first_name, last_name, email, status, person_id)
        values (${account}, ${id(n)}, ${names[0]}, ${names[1]}, 'u@example.com', ${status}, ${id(of)})`
      await person(10, 'Ada Byron')
      await user(20, first, 10, ['Ada', 'Lovelace'])
      await person(11, 'Grace Hopper')
      await user(21, first, 11, ['Grace', 'Hopper'])
      await person(12, 'Of Two')
      await user(22, first, 12, ['Of', 'First'])
      await user(23, second, 12, ['Of', 'Second'])
      await person(13, 'An Operator')
      await person(14, 'Who Left')
      await user(24, first, 14, ['Left', 'Long Ago'], 'DELETED')
      await person(15, 'Was Elsewhere')
      await user(25, first, 15, ['Is', 'Here'])
      await user(26, second, 15, ['Was', 'There'], 'DELETED')
      await person(16, 'Of No Name')
      await user(27, first, 16, [' ', ''])
      const users = 'select id, first_name, last_name from users order by id'
      const listed = await db.raw(users)

      assert.ok((await migrate(db)) >= 1)
      const persons = await db.many<{ name: string }>`select name from persons order by id`
      assert.deepEqual(
        persons.map(({ name }) => name),
        ['Ada Lovelace', 'Grace Hopper', 'Of Two', 'An Operator', 'Who Left', 'Is Here', 'Of No Name'],
      )
      assert.deepEqual(await db.raw(users), listed, 'users have the names that the interface listed')
      const acts = await db.many<{ account_id: string; targets: string[]; changes: object[] }>`
        select account_id, targets, changes from audit order by targets`
      const act = (n: number, before: string, after: string) => ({
        ...{ account_id: first, targets: [`PRS${id(n)}`], changes: [{ field: 'name', before, after }] },
      })
      assert.deepEqual(
        acts.map((one) => ({ ...one })),
        [act(10, 'Ada Byron', 'Ada Lovelace'), act(15, 'Was Elsewhere', 'Is Here')],
      )
      const found = await db.many`select act_id from audit_targets where target = ${`PRS${id(10)}`}`
      assert.equal(found.length, 1)
    } finally {
      await db.end()
    }
  })
})
