import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../../test/database.ts'
import { longForm } from '../../../../test/needs.ts'
import { until } from '../../../../test/platform.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { migrate, pendingMigrations } from '../../../platform/db/migrate.ts'
import { connect } from '../../../platform/db/sql.ts'
import { runCli } from '../testing.ts'

// The schema of a release, with rows. Its pending migrations are those of the product that follow.

const ours = join(import.meta.dirname, '../../../platform/db/migrations')
const baselineOnly = join(temporaryFolder(), 'migrations')
cpSync(join(ours, 'baseline'), join(baselineOnly, 'baseline'), { recursive: true })

const account = '01a1fcca-93ab-7cbc-9f10-be702f775479'

/** Makes a database of the baseline with an account and 3,000 rows. */
const makeEarlier = async (): Promise<TestDatabase> => {
  const database = await testDatabase()
  await database.raw('drop schema public cascade; create schema public')
  const db = connect({ url: database.url, connections: 2, unlimited: true })
  await migrate(db, { folder: baselineOnly })
  await db.run`insert into accounts (id, name, requests_per_minute) values (${account}, 'one', 60)`
  await db.run`
    insert into installation_state (name, value) select 'filler ' || n, to_jsonb(repeat(md5(n::text), 50))
    from generate_series(1, 3000) n`
  await db.end()
  return database
}

const db = await makeEarlier()
const [home, temporary] = [temporaryFolder(), temporaryFolder()]
const env = { DATABASE_URL: db.url, TMPDIR: temporary }
const rehearse = (args: string[] = []) => runCli(home, ['rehearse', ...args], env)
const left = () => readdirSync(temporary).filter((name) => name.startsWith('trunkline-rehearse-'))
after(() => rmSync(baselineOnly, { recursive: true, force: true }))

test('a rehearsal shows the time and the locks of each pending migration, and changes nothing', async () => {
  const before = await pendingMigrations(db)
  await db.run`
    insert into processes (id, public_url, media_store, roles, seen_at)
    values (gen_random_uuid(), null, 'x', '{api}', clock_timestamp() + interval '1 hour')`
  const { status, out, err } = await rehearse(['--json']).ended
  assert.equal(status, 0, err)
  const found = JSON.parse(out)
  assert.deepEqual(
    found.migrations.map(({ name }: { name: string }) => name),
    before.map(({ name }) => name),
  )
  assert.ok(found.rows > 3_000 && found.bytes > 1_000_000, out)
  const optOuts = found.migrations.find(({ name }: { name: string }) => name.endsWith('_opt_outs'))
  assert.ok(optOuts.milliseconds >= 0)
  assert.deepEqual(optOuts.locks, [{ table: 'sms_opt_outs', mode: 'AccessExclusiveLock' }])
  assert.equal(found.objections.length, 1)
  assert.match(found.objections[0].process, /^a process \(an earlier version, api, since /)
  assert.equal(found.objections[0].migration, '20261128T160000_number_forms')
  assert.deepEqual(await pendingMigrations(db), before)
  assert.deepEqual(left(), [])
})

test(
  'the copy of a stopped rehearsal is removed at once, and that of a killed one by the next',
  longForm(),
  async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const { child, ended } = rehearse()
      await until(async () => left().some((name) => existsSync(join(temporary, name, 'postgres'))))
      child.kill(signal)
      assert.notEqual((await ended).status, 0)
      assert.equal(left().length, signal === 'SIGTERM' ? 0 : 1)
    }
    const { status, out, err } = await rehearse().ended
    assert.equal(status, 0, err)
    assert.match(out, /^\d+ migrations on a copy of 3,\d{3} rows \([\d,]+ bytes\), which is removed again:\n/)
    assert.match(out, /\n {2}sms_opt_outs: AccessExclusiveLock, reads and writes wait\n/)
    assert.match(out, /\nWarning: a process \(.*\) cannot work with the migration \S+: stop it before the upgrade\.\n$/)
    assert.deepEqual(left(), [])
  },
)

test('a rehearsal of an empty database is refused, with the reason', async () => {
  const empty = await testDatabase()
  await empty.raw('drop schema public cascade; create schema public')
  const { status, err } = await runCli(home, ['rehearse'], { DATABASE_URL: empty.url }).ended
  assert.deepEqual([status, err], [1, 'trunkline: The database is empty: there is nothing to rehearse.\n'])
})
