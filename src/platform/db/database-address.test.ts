import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { hostUrls } from './database-address.ts'

test('an address of several hosts is read as libpq reads it', () => {
  const cases: [string, string[]][] = [
    ['postgres://u:p@a:5432/db', ['postgres://u:p@a:5432/db']],
    ['postgres://u:p@a:5432,b:5433/db', ['postgres://u:p@a:5432/db', 'postgres://u:p@b:5433/db']],
    [
      'postgresql://u:p%40@a,b/db?sslmode=verify-full&target_session_attrs=read-write',
      ['postgresql://u:p%40@a/db?sslmode=verify-full', 'postgresql://u:p%40@b/db?sslmode=verify-full'],
    ],
    ['postgres://u@[::1]:5432,[::2]/db', ['postgres://u@[::1]:5432/db', 'postgres://u@[::2]/db']],
    ['postgres://u@a/db?target_session_attrs=primary', ['postgres://u@a/db']],
    ['postgres://u@/db?host=a,b&port=1,2', ['postgres://u@/db?host=a&port=1', 'postgres://u@/db?host=b&port=2']],
    ['postgres://u@localhost/db?host=%2Ftmp%2Fx', ['postgres://u@localhost/db?host=%2Ftmp%2Fx']],
  ]
  for (const [url, expected] of cases) assert.deepEqual(hostUrls(url), expected, url)
})

test('a list with a missing host, too many hosts, or a target that is not written is refused with the reason', () => {
  const many = Array.from({ length: 9 }, (_, i) => `h${i}`).join()
  assert.throws(() => hostUrls('postgres://u@a,,b/db'), /wants an address such as/)
  assert.throws(() => hostUrls(`postgres://u@${many}/db`), /at most 8 hosts/)
  assert.throws(() => hostUrls('postgres://u@a,b/db?target_session_attrs=standby'), /leave it out, or set read-write/)
  assert.throws(() => hostUrls('postgres://u@/db?host=a,b,c&port=1,2'), /3 hosts and 2 ports/)
})

test('every connection of the program tries the hosts of its address', () => {
  const source = join(import.meta.dirname, '../..')
  const files = globSync('**/*.ts', { cwd: source }).filter((path) => !path.endsWith('.test.ts'))
  const opening = files.filter((path) =>
    /\bpg\.(?:Client|Pool)\(|extends pg\.Client/.test(readFileSync(join(source, path), 'utf8')),
  )
  // sql.ts makes the pool, of clients of database-hosts.ts. owner-role.ts makes the role of the embedded database.
  assert.deepEqual(
    opening.sort(),
    ['database-hosts', 'owner-role', 'sql'].map((name) => `platform/db/${name}.ts`),
  )
})
