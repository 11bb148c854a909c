import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { runningUrl } from '../src/platform/db/embedded.ts'
import { connect } from '../src/platform/db/sql.ts'
import { startPlatform, until } from './platform.ts'

/** Names of the threads of a process; none where there is no /proc. */
const threadsOf = (pid: number): string[] => {
  if (process.platform !== 'linux') return []
  const folder = `/proc/${pid}/task`
  return readdirSync(folder).map((thread) => readFileSync(`${folder}/${thread}/comm`, 'utf8').trim())
}

test('at rest there are at most five database sessions and no media thread, which the first call starts', async (t) => {
  const platform = await startPlatform()
  t.after(() => platform.end('SIGKILL'))
  const db = connect({ url: (await runningUrl(platform.home)) ?? '', connections: 1 })
  t.after(db.end)
  const sessions = async () =>
    (
      await db.one<{ open: number }>`
        select count(*) as open from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`
    ).open
  await Promise.all(Array.from({ length: 100 }, () => platform.call('GET', '/open/info')))
  await until(async () => (await sessions()) <= 5)

  if (process.platform !== 'linux') return
  const hasMedia = () => threadsOf(platform.pid).some((name) => /media/.test(name))
  assert.equal(hasMedia(), false)
  const path = '/operator/trunks/sandbox-trunk/check'
  const { status } = await platform.call('POST', path, { echo_number: '+447700900555' })
  assert.equal(status, 200)
  assert.equal(hasMedia(), true)
})
