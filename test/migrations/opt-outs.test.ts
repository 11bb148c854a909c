import assert from 'node:assert/strict'
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { migrate } from '../../src/platform/db/migrate.ts'
import { connect } from '../../src/platform/db/sql.ts'
import { onEachPostgres } from '../database.ts'
import { temporaryFolder } from '../servers.ts'
import { describeSchema } from './catalogue.ts'

const folder = join(import.meta.dirname, '../../src/platform/db/migrations')
const file = '20261128T130000_opt_outs.sql'

onEachPostgres((database) => {
  test('opt-outs of an earlier version stay, as words of their contacts', async () => {
    const before = join(temporaryFolder(), 'migrations')
    cpSync(folder, before, { recursive: true })
    for (const name of readdirSync(before)) if (name.endsWith('.sql') && name >= file) rmSync(join(before, name))
    const old = await database()
    const schema = await describeSchema(old)
    await old.raw('drop schema public cascade; create schema public')
    const db = connect({ url: old.url, connections: 2, unlimited: true })
    try {
      await migrate(db, { folder: before })
      const account = '01a1fcca-93ab-7cbc-9f10-be702f775479'
      await db.run`
        insert into sms_opt_outs (account_id, number, contact, at)
        values (${account}, '+447700900001', '+447700900123', '2026-01-02T03:04:05Z'),
          (${account}, '+447700900002', '+447700900123', '2026-01-03T03:04:05Z')`
      assert.ok((await migrate(db)) >= 1)
      const rows = await db.many`
        select account_id, number, contact, reason, keyword, note, created_at, count(*) over (partition by id)::integer as n
        from sms_opt_outs order by number`
      const row = { account_id: account, contact: '+447700900123', reason: 'keyword', keyword: null, note: null, n: 1 }
      assert.deepEqual(
        rows.map((one) => ({ ...Object(one) })),
        [
          { ...row, number: '+447700900001', created_at: new Date('2026-01-02T03:04:05Z') },
          { ...row, number: '+447700900002', created_at: new Date('2026-01-03T03:04:05Z') },
        ],
      )
      assert.deepEqual(await describeSchema(db), schema)
    } finally {
      await db.end()
    }
  })
})
