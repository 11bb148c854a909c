import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { testDatabase } from './database.ts'
import { type Platform, startPlatform } from './platform.ts'
import { temporaryFolder } from './servers.ts'

// The secrets that a first start makes: who shows them, and where.

const none = { TRUNKLINE_API_KEY: '', TRUNKLINE_OPERATOR_KEY: '' }
const ownDatabase = (url: string) => ({ DATABASE_URL: url, TRUNKLINE_MASTER_KEY: 'a master key for these tests' })
const apiKeys = (text: string): string[] => text.match(/UAK[0-9A-Za-z]{49}/g) ?? []

const answers = async ({ url }: Platform, key: string) =>
  (await fetch(`${url}/open/info`, { headers: { 'x-user-api-key': key } })).status

test('TRUNKLINE_KEYS_FILE takes the first keys, for its owner alone, and the output has none; a lax file is reported', async () => {
  const home = temporaryFolder()
  const file = join(temporaryFolder(), 'keys.json')
  const missing = join(home, 'no such folder', 'keys.json')
  const db = await testDatabase()
  const env = { ...none, ...ownDatabase(db.url), TRUNKLINE_ROLES: 'api' }
  await assert.rejects(
    startPlatform(home, { ...env, TRUNKLINE_KEYS_FILE: missing }),
    /TRUNKLINE_KEYS_FILE cannot be written: .*ENOENT/,
  )
  // The keys of the failed start were shown to no one: this start makes others.
  writeFileSync(file, 'an older file')
  chmodSync(file, 0o644)
  const platform = await startPlatform(home, { ...env, TRUNKLINE_KEYS_FILE: file })
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.ok(!existsSync(`${file}.new`))
  const { api_key, operator_key } = JSON.parse(readFileSync(file, 'utf8'))
  assert.equal(await answers(platform, api_key), 200)
  const accounts = await fetch(`${platform.url}/operator/accounts`, { headers: { 'x-operator-key': operator_key } })
  assert.equal(accounts.status, 200)
  assert.match(platform.output(), /had the mode 0644\. It is replaced by a file of mode 0600/)
  assert.ok(platform.output().includes(`The first keys are in ${file}`))
  assert.deepEqual(apiKeys(platform.output()), [])
  assert.ok(!platform.output().includes(operator_key))
  // The ready file has them as without the setting.
  assert.equal(JSON.parse(readFileSync(join(home, 'ready.json'), 'utf8')).api_key, api_key)
  await platform.end()
})

test('of several processes that start together on a new database, one shows the first keys and one the claim link', async () => {
  const db = await testDatabase()
  const env = { ...none, ...ownDatabase(db.url), TRUNKLINE_ROLES: 'api,console' }
  const started = await Promise.all(Array.from({ length: 3 }, () => startPlatform(temporaryFolder(), env)))
  const outputs = started.map((one) => one.output())
  const shown = outputs.flatMap(apiKeys)
  assert.equal(shown.length, 1)
  for (const platform of started) assert.equal(await answers(platform, shown[0] ?? ''), 200)
  const links = outputs.flatMap((text) => text.match(/console\/claim#\S+/g) ?? [])
  assert.equal(links.length, 1)

  // A later process shows a link once the one that did has ended, and no keys.
  const holder = started.findIndex((one) => one.output().includes('console/claim#'))
  const [first] = started.splice(holder, 1)
  assert.equal(await first?.end(), 0)
  const next = await startPlatform(temporaryFolder(), env)
  assert.match(next.output(), /console\/claim#/)
  assert.deepEqual(apiKeys(next.output()), [])
})
