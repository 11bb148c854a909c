import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { quoteIdentifier } from '../src/platform/db/identifier.ts'
import { connect } from '../src/platform/db/sql.ts'
import { makeRelay } from './chaos/relay.ts'
import { testDatabase } from './database.ts'
import { startPlatform, until } from './platform.ts'

// A whole platform whose database disappears or becomes read-only, and returns.

const db = await testDatabase()
const url = new URL(db.url)
const folder = url.searchParams.get('host')
const socket = folder ? `${folder}/.s.PGSQL.5432` : Number(url.port || 5432)
const relay = await makeRelay({ after: (end: () => void) => after(end) }, socket)
url.searchParams.delete('host')
url.host = `127.0.0.1:${relay.port}`
const platform = await startPlatform(undefined, {
  DATABASE_URL: url.href,
  TRUNKLINE_MASTER_KEY: 'a master key for these tests',
})
after(() => platform.end())

const ask = async (path: string) => {
  const answer = await fetch(platform.url + path, { headers: { 'x-user-api-key': 'an api key for these tests' } })
  const { error_code }: { error_code?: string } = Object(await answer.json())
  return { status: answer.status, error_code, later: answer.headers.get('retry-after') }
}
const isReady = async (): Promise<boolean> => (await ask('/readyz')).status === 200

/** Log lines since an offset of the output, parsed. */
const logged = (from: number) =>
  platform
    .output()
    .slice(from)
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))

test('an outage of the database is logged once when it begins and once when it ends', async () => {
  await until(isReady)
  const from = platform.output().length
  relay.down()
  await until(async () => !(await isReady()))
  // Every loop of the process has failed several times by now: the relay counts their attempts.
  const attempts = relay.attempts.length
  await until(async () => relay.attempts.length > attempts + 20)
  assert.deepEqual(await ask('/open/info'), { status: 503, error_code: 'unavailable', later: '1' })
  relay.up()
  await until(isReady)
  const lines = await until(async () => {
    const found = logged(from)
    return found.some(({ msg }) => msg === 'database: available again') && found
  })
  const [began, ended] = ['database: unavailable', 'database: available again'].map((text) =>
    lines.filter(({ msg }) => msg === text),
  )
  assert.equal(began?.length, 1)
  assert.equal(ended?.length, 1)
  assert.ok(ended?.[0].errors > 1 && ended[0].seconds > 0, JSON.stringify(ended))
  const stacks = lines.filter(({ err }) => err?.stack)
  assert.equal(stacks.length, 1, JSON.stringify(stacks.map(({ msg, err }) => [msg, err.message])))
})

test('a database that became read-only is answered 503 with Retry-After, and the process is not ready', async () => {
  const own = connect({ url: db.url, connections: 1, unlimited: true })
  const { name } = await own.one<{ name: string }>`select current_database() as name`
  const turn = async (value: 'on' | 'off') => {
    await own.raw('set transaction_read_only = off')
    await own.raw(`alter database ${quoteIdentifier(name)} set default_transaction_read_only = ${value}`)
    await own.raw(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and usename = current_user and pid <> pg_backend_pid()',
      [name],
    )
  }
  await turn('on')
  await until(async () => !(await isReady()))
  assert.equal((await ask('/readyz')).status, 503)
  const { status, error_code, later } = await ask('/open/info')
  assert.deepEqual({ status, error_code, later }, { status: 503, error_code: 'unavailable', later: '1' })
  await turn('off')
  await until(isReady)
  await until(async () => (await ask('/open/info')).status === 200)
  await own.end()
})

test('a process is not ready for a role that it does not run', async () => {
  assert.equal((await ask('/readyz?role=worker')).status, 200)
  const other = await startPlatform(undefined, {
    DATABASE_URL: db.url,
    TRUNKLINE_MASTER_KEY: 'a master key for these tests',
    TRUNKLINE_ROLES: 'api',
  })
  const answer = await other.call('GET', '/readyz?role=worker')
  assert.deepEqual([answer.status, answer.body.error_code], [503, 'role_not_here'])
  assert.equal((await other.call('GET', '/readyz?role=api')).status, 200)
  await other.end()
})

test('every PL/pgSQL function is exempt from just-in-time compilation, whatever the session settings', async () => {
  const compiled = await db.many`
    select p.proname from pg_proc p join pg_language l on l.oid = p.prolang
    where p.pronamespace = current_schema()::regnamespace and l.lanname = 'plpgsql'
      and not coalesce('jit=off' = any(p.proconfig), false)`
  assert.deepEqual(compiled, [])
})
