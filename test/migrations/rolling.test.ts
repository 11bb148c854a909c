import assert from 'node:assert/strict'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { migrateInstallation } from '../../src/domains/installation/upgrade.ts'
import { quoteIdentifier } from '../../src/platform/db/identifier.ts'
import { migrate, newestKnown } from '../../src/platform/db/migrate.ts'
import { connect } from '../../src/platform/db/sql.ts'
import { testDatabase } from '../database.ts'
import { type Platform, startPlatform, until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'

// Two processes of this version answer requests, while a newer one migrates their database.

const folder = join(temporaryFolder(), 'migrations')
cpSync(join(import.meta.dirname, '../../src/platform/db/migrations'), folder, { recursive: true })
const addMigration = (name: string, since: string, sql: string) =>
  writeFileSync(join(folder, `${name}.sql`), `-- compatible: ${since}\n${sql}\n`)

/** These tables get a column, so every statement with `select *` of them was prepared for other columns. */
const widened = [
  ...['accounts', 'balances', 'connections', 'contact_details', 'contacts', 'events', 'operator_keys', 'sms_channels'],
  ...['sms_messages', 'transfers', 'users', 'webhooks'],
]

const requests: readonly (readonly [method: string, path: string, body?: object])[] = [
  ...(
    [
      ...['/open/info', '/open/users', '/open/contacts', '/open/sms/messages', '/open/sms/channels', '/open/ledger'],
      ...['/open/webhooks', '/operator/accounts', '/operator/connections'],
    ] as const
  ).map((path) => ['GET', path] as const),
  ['POST', '/open/contacts', { first_name: 'Ada', contact_details: [{ type: 'E', value: 'ada@example.com' }] }],
  ['POST', '/operator/accounts', { name: 'one more' }],
]

/** Sends requests from several clients until it is ended. */
const makeTraffic = (platforms: readonly Platform[]) => {
  const counts = new Map<string, number>()
  let [rounds, isOver] = [0, false]
  const client = async (platform: Platform) => {
    while (!isOver) {
      for (const [method, path, body] of requests) {
        const { status } = await platform.call(method, path, body)
        const name = status < 300 ? 'answered' : `${status} ${method} ${path}`
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
      rounds += 1
    }
  }
  const clients = platforms.flatMap((one) => [client(one), client(one)])
  return {
    rounds: () => rounds,
    end: async () => {
      isOver = true
      await Promise.all(clients)
      return counts
    },
  }
}

const quiet = { info: () => {}, debug: () => {} }

test('processes answer every request while a newer version migrates, and one that they do not bear is refused', async (t) => {
  const database = await testDatabase()
  const env = { DATABASE_URL: database.url, TRUNKLINE_MASTER_KEY: 'a master key of these tests', TRUNKLINE_LOG: 'warn' }
  const shared = { TRUNKLINE_PUBLIC_URL: 'http://127.0.0.1:8080', TRUNKLINE_ROLES: 'api,worker' }
  const start = () => startPlatform(temporaryFolder(), { ...env, ...shared })
  const first = await start()
  const second = await start()
  t.after(() => Promise.all([first.end('SIGKILL'), second.end('SIGKILL')]))
  const traffic = makeTraffic([first, second])
  await until(async () => traffic.rounds() >= 4)

  const db = connect({ url: database.url, connections: 2, unlimited: true })
  t.after(db.end)
  for (const [i, table] of widened.entries())
    addMigration(
      `29990101T0000${10 + i}_${table}`,
      await newestKnown(),
      `alter table ${quoteIdentifier(table)} add column extra integer;`,
    )
  assert.equal(await migrateInstallation(db, { folder, log: quiet }, 0), widened.length)
  // Each client has sent every request twice since, so each process has met every statement.
  const soon = traffic.rounds() + 8
  await until(async () => traffic.rounds() > soon)
  const counts = await traffic.end()
  const details = `${JSON.stringify([...counts])}\n${first.output()}\n${second.output()}`
  assert.deepEqual([...counts.keys()], ['answered'], details)

  // A process of the version before starts on the newer schema, too.
  const third = await start()
  assert.equal((await third.call('GET', '/open/users')).status, 200)
  addMigration('29990102T000000_other', 'no', 'alter table users rename column last_name to family_name;')
  await assert.rejects(migrateInstallation(db, { folder, log: quiet }, 0), (error: Error) => {
    for (const { pid } of [first, second, third])
      assert.match(error.message, new RegExp(`process ${pid} on \\S+ \\(version \\d`))
    return true
  })
  assert.equal((await first.call('GET', '/open/users')).status, 200)
  for (const platform of [first, second]) assert.equal(await platform.end(), 0)
  // A process that was cut off for longer than it counts as living: it learns of the migration with its next heartbeat.
  assert.equal(await migrate(db, { folder }), 1)
  await db.run`delete from processes`
  await until(async () => third.output().includes('A newer version migrated the database'))
  assert.equal(await third.end(), 1)
  await assert.rejects(start(), /29990102T000000_other, which this version does not know/)
})
