import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { fullForm } from '../../../test/needs.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { connect, type Sql } from '../../platform/db/sql.ts'
import { mediaCipher } from '../../platform/lib/encrypted-file.ts'
import { openFile } from '../../platform/lib/file-store.ts'
import { enabledConnections } from '../connections/ops.ts'
import { openSeal } from '../keys/ops.ts'
import { backups } from './ops.ts'
import { makeInstallation, passphrase, runControl } from './testing.ts'

// The machine of an installation is lost, and its backup is restored on another one.

const connections = 100

/** Files of each kind: plain and encrypted. */
const filesOfEach = 50

/** The money of every account, by each table that has some. */
const moneyOf = async (sql: Sql) => ({
  transfers: await sql.many`
    select account_id, kind, debit, credit, count(*) as transfers, sum(amount)::text as amount from transfers
    group by account_id, kind, debit, credit order by 1, 2, 3, 4`,
  balances: await sql.many`select account_id, balance::text from balances order by 1`,
  holds: await sql.many`select account_id, id, amount::text from holds order by 1, 2`,
})

type FileRow = { account_id: string; key: string; size: number; digest: string | null; encrypted: boolean }

const filesOf = (sql: Sql) => sql.many<FileRow>`
  select account_id, key, size, encode(digest, 'hex') as digest, key like '%.enc' as encrypted
  from msgapp_media where key is not null order by id`

test(
  'a lost installation is restored on another home: money, 100 sealed secrets, and 100 files by their digests',
  fullForm('a backup with many secrets and files; the fast form has one of each'),
  async () => {
    const { world, db, settings, tenant, keys, file, home } = await makeInstallation(undefined, null, filesOfEach)
    const carrier = { host: '127.0.0.1', port: 2775, system_id: 'me' }
    const passwords = Array.from({ length: connections }, (_, n) => `password ${n}`)
    for (const [n, password] of passwords.entries()) {
      const body = { kind: 'smpp', name: `carrier ${n}`, settings: { ...carrier, password } }
      const answer = await world.call('operator', 'POST', '/operator/connections', body)
      assert.equal(answer.status, 201, JSON.stringify(answer.body))
    }
    const account = `/operator/accounts/${tenant.uuid}`
    for (let n = 1; n <= 10; n++) {
      await world.call('operator', 'POST', `${account}/credit`, { amount: `${n}.000001` })
      await world.call('operator', 'POST', `${account}/debit`, { amount: `0.00${n}`, reason: 'a test' })
    }
    const money = await moneyOf(db)
    const contents = new Map(keys.map((key) => [key, readFileSync(join(home, 'media', key))]))
    assert.equal(contents.size, 2 * filesOfEach)
    await backups.create(settings, file, passphrase, '1.2.3', runControl())

    await world.end()
    rmSync(home, { recursive: true })
    const lost = connect({ url: db.url, connections: 1 })
    await lost.raw('drop schema public cascade')
    await lost.end()

    const [other, fresh] = [await testDatabase(), temporaryFolder()]
    const target = { ...settings, databaseUrl: other.url, home: fresh, masterKey: null }
    await backups.restore(target, file, passphrase, false, runControl())
    assert.deepEqual(await moneyOf(other), money)
    const seal = await openSeal(other, { home: fresh, given: null, forget: false }, assert.fail)
    const restored = await enabledConnections(other, seal, 'smpp')
    assert.deepEqual(restored.map(({ settings }) => settings.password).sort(), passwords.sort())
    const rows = await filesOf(other)
    assert.equal(rows.length, contents.size)
    for (const { account_id: owner, key, size, digest, encrypted } of rows) {
      const path = join(fresh, 'media', key)
      assert.deepEqual(readFileSync(path), contents.get(key))
      const hash = createHash('sha256')
      if (!encrypted) hash.update(readFileSync(path))
      else {
        const sealed = { account: owner, place: key, size }
        for await (const part of await mediaCipher(seal).open((span) => openFile(path, span), sealed)) hash.update(part)
      }
      assert.equal(hash.digest('hex'), digest)
    }
  },
)
