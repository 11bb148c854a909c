import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { runChild } from './child.ts'
import { onEachPostgres, testDatabase } from './database.ts'

onEachPostgres((database) => {
  test('a test database has the schema and is not shared', async () => {
    const [one, other] = await Promise.all([database(), database()])
    assert.notEqual(one.url, other.url)
    await one.run`insert into installation_state (name, value) values ('mine', '1')`
    assert.deepEqual(await other.many`select from installation_state where name = 'mine'`, [])
  })

  test('a test database can be ended twice', async () => {
    const db = await database()
    await db.end()
    await db.end()
  })
})

test('the two servers are the oldest and the newest that are supported', async () => {
  const db = await testDatabase()
  assert.deepEqual(await db.one`select current_setting('server_version_num')::int / 10000 as major`, { major: 18 })
})

for (const durable of [true, false])
  test(`a run that is killed leaves neither server nor folder ${durable ? 'on disk' : 'in memory'}`, async () => {
    const child = runChild(`
    import { startServer } from ${JSON.stringify(import.meta.resolve('./servers.ts'))}
    const { url } = await startServer({ durable: ${durable} })
    console.log(url)
    setInterval(() => {}, 1000)`)
    const data = new URL(await child.readLine()).searchParams.get('host') ?? ''
    const home = dirname(dirname(dirname(data)))
    assert.match(home, /trunkline-test-\w+$/)
    if (durable) assert.ok(!home.startsWith('/dev/shm/'), home)
    assert.ok(existsSync(data))
    await child.kill('SIGKILL')
    const end = Date.now() + 60_000
    while (existsSync(home)) {
      assert.ok(Date.now() < end, `${home} is still there`)
      await pause(10)
    }
  })
