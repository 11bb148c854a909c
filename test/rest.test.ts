import { test } from 'node:test'
import { runningUrl } from '../src/platform/db/embedded.ts'
import { connect } from '../src/platform/db/sql.ts'
import { startPlatform, until } from './platform.ts'
import { temporaryFolder } from './servers.ts'

test('at rest the platform keeps at most five database sessions', async (t) => {
  const platform = await startPlatform(temporaryFolder())
  t.after(() => platform.end('SIGKILL'))
  const db = connect({ url: (await runningUrl(platform.home)) ?? '', connections: 1 })
  t.after(db.end)
  const sessions = async () =>
    (
      await db.one<{ open: number }>`
        select count(*) as open from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`
    ).open
  await Promise.all(Array.from({ length: 100 }, () => platform.call('GET', '/open/info')))
  await until(async () => (await sessions()) <= 5, 20)
})
