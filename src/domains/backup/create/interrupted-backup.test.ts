import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { makeInstallation, runCli, secret } from '../testing.ts'

test('an interrupted or killed backup leaves no file, and the next one removes the remains of a killed one', async () => {
  const { db, settings, home } = await makeInstallation()
  // Rows that take a third of a second to compress and write.
  await db.run`insert into installation_state (name, value) select 'filler ' || n, to_jsonb(repeat(md5(n::text), 200)) from generate_series(1, 7000) n`
  const folder = temporaryFolder()
  const env = { DATABASE_URL: db.url, TRUNKLINE_MASTER_KEY: secret, TRUNKLINE_HOME: settings.home }
  const file = join(folder, 'a.backup')
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const { child, ended } = runCli(home, ['backup', file], env)
    await until(async () => readdirSync(folder).some((name) => statSync(join(folder, name)).size > 0))
    child.kill(signal)
    assert.notEqual((await ended).status, 0)
    assert.equal(readdirSync(folder).length, signal === 'SIGTERM' ? 0 : 1)
  }
  assert.equal((await runCli(home, ['backup', file], env).ended).status, 0)
  assert.deepEqual(readdirSync(folder), ['a.backup'])
  assert.equal(readFileSync(file).readUInt8(10), 17, 'the cost of a guess')
  const twice = await runCli(home, ['backup', file], env).ended
  assert.deepEqual([twice.status, /a\.backup exists/.test(twice.err)], [1, true])
})

test('the next verification removes the database of a killed one, and not that of a running one', async () => {
  const { db, settings, home, file } = await makeInstallation()
  // Rows that take a third of a second to load.
  await db.run`insert into installation_state (name, value) select 'filler ' || n, to_jsonb(repeat(md5(n::text), 200)) from generate_series(1, 7000) n`
  const env = { DATABASE_URL: db.url, TRUNKLINE_MASTER_KEY: secret, TRUNKLINE_HOME: settings.home }
  assert.equal((await runCli(home, ['backup', file], env).ended).status, 0)
  const temporary = temporaryFolder()
  const databases = () => readdirSync(temporary).filter((name) => existsSync(join(temporary, name, 'postgres')))
  const verify = () => runCli(home, ['backup', 'verify', file], { ...env, TMPDIR: temporary })
  const killed = verify()
  await until(async () => databases().length === 1)
  const [left = ''] = databases()
  await until(async () =>
    readdirSync(join(temporary, left, 'postgres')).some((name) =>
      existsSync(join(temporary, left, 'postgres', name, 'data', 'postmaster.pid')),
    ),
  )
  killed.child.kill('SIGKILL')
  await killed.ended
  assert.deepEqual(databases(), [left])

  const running = verify()
  await until(async () => databases().some((name) => name !== left))
  const other = await verify().ended
  assert.equal(other.status, 0, other.out + other.err)
  const first = await running.ended
  assert.equal(first.status, 0, first.out + first.err)
  assert.deepEqual(
    readdirSync(temporary).filter((name) => name.startsWith('trunkline-verify-')),
    [],
  )
})

test('a missing or short passphrase or master key prevents the backup, with the reason', async () => {
  const { db, home } = await makeInstallation()
  const folder = temporaryFolder()
  const env = { DATABASE_URL: db.url, TRUNKLINE_MASTER_KEY: secret }
  const run = async (more: Record<string, string>) => {
    const { status, err } = await runCli(home, ['backup', join(folder, 'a.backup')], { ...env, ...more }).ended
    return `${status} ${err}`
  }
  assert.match(
    await run({ TRUNKLINE_BACKUP_PASSPHRASE: '' }),
    /^2 .*set TRUNKLINE_BACKUP_PASSPHRASE, give --passphrase-file/,
  )
  assert.match(await run({ TRUNKLINE_BACKUP_PASSPHRASE: 'short' }), /^1 .*has 5 characters; 12 or more/)
  assert.match(
    await run({ TRUNKLINE_MASTER_KEY: '' }),
    /^1 .*The master key of this database is missing.*there is no key/,
  )
  assert.match(await run({ TRUNKLINE_MASTER_KEY: 'another master key than that' }), /^1 .*the key here is another one/)
  assert.deepEqual(readdirSync(folder), [])
})
