import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { makeWorld } from '../../../test/world.ts'
import { exportMaster, type MasterKey, openSeal, rotateMaster } from './ops.ts'
import { sealedColumnList, sealedColumns } from './store.ts'

const nothing = () => {}
const keySettings = (secret: string): MasterKey => ({ home: temporaryFolder(), given: secret, forget: false })
const inFile = (home: string): MasterKey => ({ home, given: null, forget: false })

test('a process with another master key does not start, and its error lists the remedies', async () => {
  const db = await testDatabase()
  await openSeal(db, keySettings('the right key'), nothing)
  await openSeal(db, keySettings('the right key'), nothing)
  await assert.rejects(openSeal(db, keySettings('another key'), nothing), (error: Error) => {
    assert.match(error.message, /its fingerprint is [0-9a-f]{16}, that of the right one is [0-9a-f]{16}/)
    assert.match(error.message, /TRUNKLINE_MASTER_KEY.*\n.*--forget-secrets/)
    return true
  })
})

test('one of two processes that start together with different keys is refused', async () => {
  const db = await testDatabase()
  const starts = await Promise.allSettled(
    ['one', 'other'].map((secret) => openSeal(db, keySettings(`the key of ${secret}`), nothing)),
  )
  assert.deepEqual(starts.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
})

test('a deleted key file is never replaced by a new one', async () => {
  const db = await testDatabase()
  const home = temporaryFolder()
  mkdirSync(home, { recursive: true })
  await openSeal(db, inFile(home), nothing)
  const path = join(home, 'keys', 'master')
  const stored = readFileSync(path)
  rmSync(path)
  await assert.rejects(openSeal(db, inFile(home), nothing), /The master key is missing/)
  assert.ok(!existsSync(path))
  assert.equal(stored.length, 32)
})

test('an installation of an earlier version is bound to the key that opens its secrets', async () => {
  const world = await makeWorld({}, {}, { key: Buffer.alloc(32, 7) })
  const created = await world.call('operator', 'POST', '/operator/connections', {
    kind: 'smpp',
    name: 'acme',
    settings: { host: '127.0.0.1', port: 2775, system_id: 'me', password: 'secret' },
  })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  await assert.rejects(openSeal(world.db, keySettings('another key'), nothing), /connections whose passwords.*: acme/)
})

test('giving up the secrets lists those to enter again, and the installation starts with a new key', async () => {
  const world = await makeWorld({}, {}, { key: Buffer.alloc(32, 7) })
  const tenant = await world.tenant()
  const settings = { host: '127.0.0.1', port: 2775, system_id: 'me', password: 'secret' }
  await world.call('operator', 'POST', '/operator/connections', { kind: 'smpp', name: 'acme', settings })
  const hook = await world.call(tenant, 'POST', '/open/webhooks/subscribe/number.purchased', {
    hook_url: 'https://example.com/hook',
  })
  assert.equal(hook.status, 201, JSON.stringify(hook.body))
  const said: string[] = []
  const key = keySettings('a new key')
  const seal = await openSeal(world.db, { ...key, forget: true }, (text) => said.push(text))
  assert.match(said.join('\n'), /connections whose passwords have to be entered again: acme/)
  assert.match(said.join('\n'), /webhooks that get a new signing secret: 1/)
  const row = await world.db.one<{ sealed_secrets: null; enabled: boolean }>`
    select sealed_secrets, enabled from connections where name = 'acme'`
  assert.deepEqual(row, { sealed_secrets: null, enabled: false })
  const webhook = await world.db.one<{ sealed_secret: Buffer }>`select sealed_secret from webhooks`
  assert.match(seal.open(webhook.sealed_secret), /^whsec_/)
  await openSeal(world.db, key, nothing)
})

test('every sealed column of the schema is cleared with a lost key, and resealed by a rotation', async () => {
  const db = await testDatabase()
  const columns = await db.many<{ name: string }>`
    select c.table_name || '.' || c.column_name as name
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where table_schema = current_schema() and t.table_type = 'BASE TABLE' and c.column_name like 'sealed%'
      and c.data_type = 'bytea' order by 1`
  assert.deepEqual(
    columns.map(({ name }) => name),
    Object.keys(sealedColumns).sort(),
  )
  assert.deepEqual(sealedColumnList.map(({ name }) => name).sort(), Object.keys(sealedColumns).sort())
})

test('a key file becomes a TRUNKLINE_MASTER_KEY: the same key, which opens every secret, also in a rotation', async () => {
  const db = await testDatabase()
  const home = temporaryFolder()
  const first = await openSeal(db, inFile(home), nothing)
  const sealed = first.closeBytes(Buffer.from('a password'), 'here')
  const file = join(temporaryFolder(), 'master-key')
  await exportMaster(inFile(home), file)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const given = readFileSync(file, 'utf8').trim()
  assert.match(given, /^trunkline-key-file:[\w-]{43}$/)
  // Another process still has the file, and this one a home without any.
  const elsewhere = temporaryFolder()
  for (const [key, place] of [
    [given, elsewhere],
    [null, home],
    [given, home],
  ] as const) {
    const seal = await openSeal(db, { home: place, given: key, forget: false }, nothing)
    assert.equal(String(seal.openBytes(sealed, 'here')), 'a password')
  }
  assert.ok(!existsSync(join(elsewhere, 'keys')))
  const nextFile = join(temporaryFolder(), 'next-key')
  await rotateMaster({ home, given, databaseUrl: db.url, nextFile })
  await assert.rejects(openSeal(db, keySettings(given), nothing), /The master key is not the one/)
  await openSeal(db, keySettings(readFileSync(nextFile, 'utf8').trim()), nothing)
})

test('an export writes over no file, and needs a key file that no setting replaces and no rotation changes', async () => {
  const db = await testDatabase()
  const home = temporaryFolder()
  const file = join(temporaryFolder(), 'master-key')
  await assert.rejects(exportMaster(inFile(home), file), /There is no key file/)
  await openSeal(db, inFile(home), nothing)
  await assert.rejects(exportMaster({ home, given: 'the key of a setting' }, file), /comes from TRUNKLINE_MASTER_KEY/)
  writeFileSync(file, 'mine')
  await assert.rejects(exportMaster(inFile(home), file), /exists/)
  assert.equal(readFileSync(file, 'utf8'), 'mine')
  writeFileSync(join(home, 'keys', 'master.next'), Buffer.alloc(32))
  await assert.rejects(exportMaster(inFile(home), `${file}.2`), /A rotation of the master key was interrupted/)
})

test('a TRUNKLINE_MASTER_KEY that only resembles an exported key is a text like any other', async () => {
  const db = await testDatabase()
  const value = `trunkline-key-file:${'A'.repeat(42)}`
  await openSeal(db, keySettings(value), nothing)
  await assert.rejects(openSeal(db, keySettings(`${value}A`), nothing), /The master key is not the one/)
})
