import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { migrate } from '../../platform/db/migrate.ts'
import { connect } from '../../platform/db/sql.ts'
import { uuid } from '../../platform/lib/id.ts'

const folder = join(import.meta.dirname, '../../platform/db/migrations')
const namesIn = (path: string): string[] =>
  readdirSync(path)
    .filter((name) => name.endsWith('.sql'))
    .map((name) => name.replace('.sql', ''))

test('an upgrade keeps every person, and counts only addresses of operators as proved', async () => {
  const { url, raw } = await testDatabase()
  await raw('create schema before')
  const db = connect({ url: `${url}&options=-csearch_path%3Dbefore`, connections: 3, unlimited: true })
  after(() => db.end())
  const earlier = namesIn(folder).filter((name) => name < '20261127T216000')
  await migrate(db, { only: [...namesIn(join(folder, 'baseline')), ...earlier] })
  for (const operator of [null, 'operator', 'observer'])
    await db.run`
      insert into persons (id, email, email_key, name, password_hash, operator)
      values (${uuid()}, ${`${operator}@example.com`}, ${`${operator}@example.com`}, 'x', 'a hash', ${operator})`
  await db.run`
    insert into invitations (token_hash, id, kind, person_id, invited_by, expires_at)
    select ${Buffer.from('token')}, ${uuid()}, 'password', id, 'x', now() + interval '1 day' from persons limit 1`
  await migrate(db)

  const people = await db.many<{ operator: string | null; proved: boolean; password_hash: string }>`
    select operator, email_proved_at is not null as proved, password_hash from persons order by operator nulls first`
  assert.deepEqual(
    people.map(({ operator, proved, password_hash }) => [operator, proved, password_hash]),
    [
      [null, false, 'a hash'],
      ['observer', true, 'a hash'],
      ['operator', true, 'a hash'],
    ],
  )
  assert.deepEqual(await db.many`select delivery from invitations`, [{ delivery: 'link' }])
  // An unproved address has room for several persons, a proved one for its owner alone.
  const again = (email: string, proved: boolean) => db.run`
    insert into persons (id, email, email_key, name, email_proved_at)
    values (${uuid()}, ${email}, ${email}, 'x', case when ${proved} then now() end)`
  await again('null@example.com', false)
  await again('operator@example.com', false)
  await assert.rejects(again('operator@example.com', true), { code: '23505' })
})
