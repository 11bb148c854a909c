import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { startedHome, startPlatform } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { lockDataDirectory } from '../../platform/db/data-directory.ts'
import { startEmbedded } from '../../platform/db/embedded.ts'
import { silentLog } from '../../platform/db/installation-database.ts'
import { migrate, newestKnown } from '../../platform/db/migrate.ts'
import { connect } from '../../platform/db/sql.ts'
import { runCli } from '../backup/testing.ts'

test('trunkline migrate applies what is pending, prints each migration with its time, and ends', async () => {
  const db = await testDatabase()
  await db.raw('drop schema public cascade; create schema public')
  const home = temporaryFolder()
  const run = (...args: string[]) => runCli(home, ['migrate', ...args], { DATABASE_URL: db.url }).ended
  const newest = await newestKnown()
  const first = await run()
  assert.deepEqual([first.status, first.err], [0, ''])
  const lines = first.out.trimEnd().split('\n')
  assert.match(lines[0] ?? '', /^20261128T000000_baseline: \d+\.\d\d s$/)
  assert.match(lines.at(-2) ?? '', new RegExp(`^${newest}: \\d+\\.\\d\\d s$`))
  assert.equal(lines.at(-1), `The database is up to date: ${lines.length - 1} migrations applied.`)
  const again = await run('--json')
  assert.deepEqual([again.status, JSON.parse(again.out)], [0, { success: true, migrations: [] }])
  const wrong = await run('now')
  assert.deepEqual([wrong.status, wrong.err], [2, 'trunkline: "now" is an unexpected argument\n'])
  assert.match((await run('--help')).out, /Apply the pending migrations.*Usage: trunkline migrate\n/s)

  const never = {
    DATABASE_URL: db.url,
    TRUNKLINE_MIGRATE: 'never',
    TRUNKLINE_MASTER_KEY: 'a key of these tests, of no use',
  }
  await db.run`delete from schema_migrations where name = ${newest}`
  await assert.rejects(startPlatform(home, never), (error: Error) => {
    assert.match(error.message, /ended at its start \(1\).*lacks the migration .* Run "npx trunkline migrate"/s)
    return true
  })
})

test('on the embedded database trunkline migrate works while the platform is stopped, and trunkline rehearse while it runs', async () => {
  const home = startedHome()
  const claim = await lockDataDirectory(home, silentLog)
  const embedded = await startEmbedded({ home, log: silentLog })
  const db = connect({ url: embedded.url, connections: 2, unlimited: true })
  await migrate(db)
  await db.end()
  const refused = await runCli(home, ['migrate']).ended
  assert.equal(refused.status, 1)
  assert.ok(refused.err.includes(String(process.pid)), refused.err)
  const rehearsed = await runCli(home, ['rehearse']).ended
  assert.deepEqual([rehearsed.status, rehearsed.out], [0, 'No migration is pending.\n'], rehearsed.err)
  await embedded.stop()
  claim.release()
  const { status, out, err } = await runCli(home, ['migrate']).ended
  assert.deepEqual([status, out], [0, 'The database is up to date: no migration was pending.\n'], err)
})
