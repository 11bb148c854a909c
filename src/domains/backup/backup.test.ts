import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { createWriteStream, existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startBucket } from '../../../test/bucket.ts'
import { onEachPostgres, type TestDatabase } from '../../../test/database.ts'
import { fullForm } from '../../../test/needs.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { openSeal } from '../keys/ops.ts'
import { backups } from './ops.ts'
import { makeInstallation, passphrase, runControl, secret, verify } from './testing.ts'

onEachPostgres((database) => {
  test('a backup is verified, and restored into another database and another home', async () => {
    const { db, settings, tenant, keys, file, home } = await makeInstallation(await database())
    const { summary } = await backups.create(settings, file, passphrase, '1.2.3', runControl())
    assert.deepEqual([summary.files, summary.missing], [2, []])
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const plain = readFileSync(file)
    for (const text of ['acme', tenant.uuid, 'manifest.json']) assert.equal(plain.indexOf(text), -1)
    assert.deepEqual(Object.values(await verify(settings, file)).flat(), [])

    const [other, fresh] = [await database(), temporaryFolder()]
    const target = { ...settings, databaseUrl: other.url, home: fresh, masterKey: null }
    const done = await backups.restore(target, file, passphrase, false, runControl())
    assert.equal(done.finished, false)
    const rows = (of: TestDatabase) =>
      of.many`select a.id, b.balance::text, c.sealed_secrets from accounts a join balances b on b.account_id = a.id, connections c order by 1`
    assert.deepEqual(await rows(other), await rows(db))
    // The key came from the settings before and is a file now.
    assert.deepEqual(readFileSync(join(fresh, 'keys', 'master')), hash('sha256', secret, 'buffer'))
    await openSeal(other, { home: fresh, given: null, forget: false }, () => {})
    for (const key of keys)
      assert.deepEqual(readFileSync(join(fresh, 'media', key)), readFileSync(join(home, 'media', key)))
    assert.ok(!existsSync(join(fresh, 'restoring')))
    // Sequences continue after the last number, triggers and foreign keys are restored.
    const [{ constraints, triggers }] = (await other.many<{ constraints: number; triggers: number }>`
      select (select count(*) from pg_constraint where contype = 'f') as constraints,
        (select count(*) from pg_trigger where not tgisinternal and tgenabled = 'O') as triggers`) as [
      { constraints: number; triggers: number },
    ]
    assert.ok(constraints > 20 && triggers > 5)
    await assert.rejects(other.run`delete from audit`, /append-only|younger/)
  })
})

test('verify reports a lost file, but not a deleted one', fullForm('files that a backup lacks'), async () => {
  const { settings, file, home, keys } = await makeInstallation()
  rmSync(join(home, 'media', keys[0] ?? ''))
  const { summary } = await backups.create(settings, file, passphrase, '1.2.3', runControl())
  assert.deepEqual([summary.missing, summary.deleted, summary.files], [[`media/${keys[0]}`], [], 1])
  assert.deepEqual(Object.values(await verify(settings, file)).flat(), [])
})

test(
  'verify finds missing files of a bucket, which the backup does not contain',
  fullForm('files that a backup lacks'),
  async () => {
    const bucket = await startBucket()
    const { settings, file, keys } = await makeInstallation(undefined, bucket.address)
    const { manifest, summary } = await backups.create(settings, file, passphrase, '1.2.3', runControl())
    assert.deepEqual([summary.files, summary.missing], [0, []])
    assert.match(String(manifest.bucket), /^s3:\/\/[^:@]+$/)
    assert.deepEqual(Object.values(await verify(settings, file)).flat(), [])
    for (const name of bucket.objects.keys()) if (name.endsWith(keys[0] ?? '')) bucket.objects.delete(name)
    assert.deepEqual((await verify(settings, file))[`files in ${manifest.bucket}`], [`${keys[0]} is missing`])
  },
)

test('other programs can read a backup as a tar file', async () => {
  const { settings, tenant, keys, file, home } = await makeInstallation()
  await backups.create(settings, file, passphrase, '1.2.3', runControl())
  const plain = `${file}.tar`
  await backups.tar(file, passphrase, createWriteStream(plain), runControl())
  const names = execFileSync('tar', ['-tf', plain], { encoding: 'utf8' }).split('\n')
  for (const name of ['manifest.json', 'keys/master', 'database/accounts/000001', `media/${keys[0]}`, 'summary.json'])
    assert.ok(names.includes(name), name)
  const rows = execFileSync('tar', ['-xOf', plain, 'database/accounts/000001'], { encoding: 'utf8' })
  assert.ok(rows.includes(`${tenant.id}\tTenant `))
  const media = execFileSync('tar', ['-xOf', plain, `media/${keys[0]}`])
  assert.deepEqual(media, readFileSync(join(home, 'media', keys[0] ?? '')))
})
