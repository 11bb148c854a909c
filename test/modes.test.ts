import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { after, test } from 'node:test'
import { buyNumber, type Platform, startedHome, startPlatform, until } from './platform.ts'

let platform: Platform
const token = 'a-token-for-the-metrics'
after(() => platform?.end('SIGKILL'))

/** Permissions of other users on a file or folder. */
const others = (path: string): number => statSync(path).mode & 0o077

test('a home that other users can read is closed at the start, and only its owner can read anything in it', async () => {
  const home = startedHome()
  mkdirSync(join(home, 'simulator'), { recursive: true })
  for (const path of [home, join(home, 'simulator')]) chmodSync(path, 0o755)
  platform = await startPlatform(home, { TRUNKLINE_METRICS_TOKEN: token })
  // Root grants others the execute bit for PostgreSQL's account, and nothing else.
  assert.equal(others(home) & 0o066, 0)
  if (process.getuid?.() !== 0) assert.equal(others(home), 0)

  const { number } = await buyNumber(platform)
  const to_number = '+447700900123'
  await platform.call('POST', '/open/sms/send', { from_number: number, to_number, text: 'x' })
  await until(async () => (await platform.call('GET', `/sandbox/handsets/${to_number}`)).body.sms.length === 1)
  const made = readdirSync(home, { withFileTypes: true, recursive: true })
    .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
    // PostgreSQL manages its own modes, and its data is in a folder of mode 0700. The cache holds only compiled code.
    .filter(({ path }) => !/^(?:postgres|cache)(?:\/|$)/.test(relative(home, path)))
  assert.ok(made.some(({ path }) => path.includes('simulator/')) && existsSync(join(home, 'ready.json')))
  const open = made
    .filter(({ entry, path }) => entry.isFile() && others(path) !== 0)
    .map(({ path }) => relative(home, path))
  assert.deepEqual(open, [])
  for (const folder of readdirSync(join(home, 'postgres'))) {
    if (/^\d+$/.test(folder)) assert.equal(others(join(home, 'postgres', folder)), 0)
  }
})

test('/metrics requires its token if one is set', async () => {
  const ask = async (authorization: string | null) => {
    const answer = await fetch(`${platform.url}/metrics`, { headers: authorization === null ? {} : { authorization } })
    return [answer.status, /trunkline_jobs/.test(await answer.text())]
  }
  for (const wrong of [null, 'Bearer x', `Bearer ${token}x`, `Basic ${token}`, token])
    assert.deepEqual(await ask(wrong), [401, false], String(wrong))
  assert.deepEqual(await ask(`Bearer ${token}`), [200, true])
})
