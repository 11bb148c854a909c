import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { testDatabase } from '../../../../test/database.ts'
import { atEnd } from '../../../../test/endings.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { startEmbedded } from '../../../platform/db/embedded.ts'
import { quoteIdentifier } from '../../../platform/db/identifier.ts'
import { silentLog } from '../../../platform/db/installation-database.ts'
import { backups } from '../ops.ts'
import { makeInstallation, passphrase, runControl } from '../testing.ts'

test('a restore refuses a non-empty database or home, and --replace preserves the previous content', async () => {
  const { world, db, settings, file, home } = await makeInstallation()
  await backups.create(settings, file, passphrase, '1.2.3', runControl())
  const before = readdirSync(home).sort()
  await assert.rejects(
    backups.restore(settings, file, passphrase, false, runControl()),
    /holds files of an installation.*--replace/s,
  )
  const empty = { ...settings, home: temporaryFolder() }
  await assert.rejects(
    backups.restore(empty, file, passphrase, false, runControl()),
    /DATABASE_URL is not empty.*--replace/,
  )
  const wrongKey = { ...empty, masterKey: 'another key than that' }
  await assert.rejects(
    backups.restore(wrongKey, file, passphrase, false, runControl()),
    /TRUNKLINE_MASTER_KEY is not the master key/,
  )
  assert.deepEqual(
    readdirSync(empty.home).filter((name) => !['lock', 'holder.json'].includes(name)),
    [],
  )
  await db.run`update accounts set name = 'renamed since'`
  // A restore expects that nothing else uses the tables.
  world.parts.changes.stop()
  await world.app.close()
  const done = await backups.restore(settings, file, passphrase, true, runControl())
  assert.ok('isSuperuser' in done && !done.isSuperuser)
  assert.ok('aside' in done && done.aside !== null && existsSync(join(done.aside, 'media')))
  assert.deepEqual(await db.many`select from accounts where name = 'renamed since'`, [])
  const [old] = await db.many<{
    name: string
  }>`select nspname as name from pg_namespace where nspname like 'before_restore%'`
  assert.equal(
    (await db.raw(`select from ${quoteIdentifier(old?.name ?? '')}.accounts where name = 'renamed since'`)).length,
    1,
  )
  assert.deepEqual(
    readdirSync(home)
      .filter((name) => before.includes(name))
      .sort(),
    before,
  )
})

test('a restore killed before its end starts again, and one killed at its end is finished', async () => {
  const { settings, file } = await makeInstallation()
  await backups.create(settings, file, passphrase, '1.2.3', runControl())
  const [home, elsewhere] = [temporaryFolder(), temporaryFolder()]
  mkdirSync(join(home, 'restoring', 'keys'), { recursive: true })
  // As a superuser, which the result reports.
  const server = await startEmbedded({ home: elsewhere, log: silentLog, durable: false })
  atEnd(server.stop)
  const target = { ...settings, databaseUrl: server.superuserUrl, home, masterKey: null }
  const done = await backups.restore(target, file, passphrase, false, runControl())
  assert.deepEqual([done.finished, 'isSuperuser' in done && done.isSuperuser], [false, true])
  const key = readFileSync(join(home, 'keys', 'master'))
  mkdirSync(join(home, 'restoring', 'keys'), { recursive: true })
  copyFileSync(join(home, 'keys', 'master'), join(home, 'restoring', 'keys', 'master'))
  rmSync(join(home, 'keys'), { recursive: true })
  writeFileSync(join(home, 'restoring', 'whole'), '')
  assert.equal((await backups.restore(target, file, passphrase, false, runControl())).finished, true)
  assert.deepEqual(readFileSync(join(home, 'keys', 'master')), key)
  assert.ok(!existsSync(join(home, 'restoring')))
})

const [theirs, ours] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']

/** Every file below a folder, with the digest of its content. */
const contentsOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => {
        const path = join(parentPath, name)
        return [relative(folder, path), hash('sha256', readFileSync(path))] as const
      })
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  )

/** A backup with recordings in a folder, and the same file truncated. */
const backupOfFolder = async () => {
  const folder = temporaryFolder()
  const { settings, file, keys } = await makeInstallation(undefined, folder)
  mkdirSync(join(folder, 'recordings'))
  writeFileSync(join(folder, 'recordings', 'id'), `${theirs}\n`)
  await backups.create(settings, file, passphrase, '1.2.3', runControl())
  const cut = join(temporaryFolder(), 'cut.backup')
  const whole = readFileSync(file)
  writeFileSync(cut, whole.subarray(0, whole.length - 1))
  return { settings, file, cut, keys, source: folder, contents: contentsOf(folder) }
}

/** Interrupts a restore at the file it is reading; that file is still written. */
const interruptedAt = (name: string) => {
  const controller = new AbortController()
  return {
    signal: controller.signal,
    report: (line: string) => {
      if (line === name) controller.abort(new Error('interrupted'))
    },
  }
}

test('a failed restore leaves the folder of media and recordings unchanged, and the next one is not refused', async () => {
  const { settings, file, cut, contents } = await backupOfFolder()
  const [home, folder] = [temporaryFolder(), join(temporaryFolder(), 'new')]
  const target = { ...settings, databaseUrl: (await testDatabase()).url, home, mediaStore: folder }
  await assert.rejects(backups.restore(target, cut, passphrase, false, runControl()), /changed, cut off/)
  assert.deepEqual(readdirSync(folder), [])
  assert.ok(!existsSync(join(home, 'restoring')))
  const done = await backups.restore(target, file, passphrase, false, runControl())
  assert.deepEqual('filesAside' in done && [done.aside, done.filesAside], [null, null])
  assert.deepEqual(contentsOf(folder), contents)
})

test('a restore with --replace changes the id of the recordings on success, and preserves differing files', async () => {
  const { settings, file, cut, keys, contents } = await backupOfFolder()
  const [home, folder] = [temporaryFolder(), temporaryFolder()]
  const [key = ''] = keys
  mkdirSync(join(folder, 'recordings'))
  writeFileSync(join(folder, 'recordings', 'id'), `${ours}\n`)
  mkdirSync(join(folder, key, '..'), { recursive: true })
  writeFileSync(join(folder, key), 'another content')
  const before = contentsOf(folder)
  const target = { ...settings, databaseUrl: (await testDatabase()).url, home, mediaStore: folder }
  await assert.rejects(backups.restore(target, file, passphrase, false, runControl()), /holds files of an installation/)
  await assert.rejects(backups.restore(target, cut, passphrase, true, runControl()), /changed, cut off/)
  for (const name of ['recordings/id', `media/${key}`])
    await assert.rejects(backups.restore(target, file, passphrase, true, interruptedAt(name)), /interrupted/)
  assert.deepEqual(contentsOf(folder), before)
  const done = await backups.restore(target, file, passphrase, true, runControl())
  assert.ok('filesAside' in done && done.filesAside !== null)
  assert.deepEqual(contentsOf(done.filesAside), before)
  rmSync(done.filesAside, { recursive: true })
  assert.deepEqual(contentsOf(folder), contents)
})

test('a restore into a folder, killed at its end, is finished, and a failure after a kill still stops the platform', async () => {
  const { settings, file, cut, source, contents } = await backupOfFolder()
  const [home, folder, other] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
  const target = { ...settings, databaseUrl: (await testDatabase()).url, home, mediaStore: other }
  const [restoring, stage] = [join(home, 'restoring'), join(folder, '.trunkline-restoring')]
  const kill = () => {
    mkdirSync(restoring, { recursive: true })
    writeFileSync(join(restoring, 'folder'), folder)
    cpSync(source, stage, { recursive: true })
  }
  kill()
  await assert.rejects(backups.restore(target, cut, passphrase, false, runControl()), /changed, cut off/)
  assert.deepEqual([existsSync(restoring), existsSync(stage), readdirSync(other)], [true, false, []])
  kill()
  writeFileSync(join(restoring, 'whole'), '')
  assert.equal((await backups.restore(target, file, passphrase, false, runControl())).finished, true)
  assert.deepEqual(contentsOf(folder), contents)
  assert.deepEqual([existsSync(restoring), existsSync(stage)], [false, false])
})
