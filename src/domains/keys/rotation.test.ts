import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { runChild } from '../../../test/child.ts'
import { onEachPostgres, type TestDatabase, testDatabase } from '../../../test/database.ts'
import { fullForm } from '../../../test/needs.ts'
import { startPlatform, until } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { makeWorld } from '../../../test/world.ts'
import { openSession } from '../../platform/db/database-session.ts'
import { connect } from '../../platform/db/sql.ts'
import { uuid } from '../../platform/lib/id.ts'
import type { Seal } from '../../platform/lib/secret.ts'
import { runCli } from '../backup/testing.ts'
import { readFile, storeFile } from '../documents/ops.ts'
import { makeMedia } from '../msgapp/media/ops.ts'
import { makeChatHarness } from '../msgapp/messages/testing.ts'
import { makeCredentialStore } from '../msgapp/runner/credential-store.ts'
import { admitWith, checkSealedValues, KeyReplaced, openSeal, rotateMaster } from './ops.ts'

const nothing = () => {}
const bytes = randomBytes(1_300_000)

/** Makes an installation with a key file, sealed values of several kinds and an encrypted media file. */
const furnish = async (target?: TestDatabase) => {
  const db = target ?? (await testDatabase())
  const home = temporaryFolder()
  const open = () => openSeal(db, { home, given: null, forget: false }, nothing)
  const first = await open()
  const master = () => readFileSync(join(home, 'keys', 'master'))
  const world = await makeWorld({ TRUNKLINE_HOME: home }, { sandbox: true, encryptFiles: true }, { db, key: master() })
  const { id: account } = await world.tenant()
  const settings = { host: '127.0.0.1', port: 2775, system_id: 'me', password: 'sealed away' }
  const created = await world.call('operator', 'POST', '/operator/connections', {
    kind: 'smpp',
    name: 'acme',
    settings,
    enabled: false,
  })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  const document = {
    account_id: account,
    id: uuid(),
    name: 'a.pdf',
    kind: 'identity',
    media_type: 'application/pdf',
  } as const
  const stored = await db.begin((tx) => storeFile(tx, first, document, bytes))
  const { line, network } = await makeChatHarness(world, account)
  await makeCredentialStore(db, first, nothing).write(line.channel, [
    { type: 't', id: 'a:b', value: Buffer.from('kept') },
  ])
  const mail = uuid()
  await db.run`
    insert into mails (id, recipient, recipient_key, template, sealed_values)
    values (${mail}, 'a@example.com', 'a@example.com', 'invitation', ${first.closeBytes(Buffer.from('{}'), `mail ${mail}`)})`
  const id = uuid()
  await db.run`
    insert into msgapp_media (account_id, id, channel_id, type, mime_type, name, source, created_at)
    values (${account}, ${id}, ${line.channel}, 'document', 'application/pdf', 'a.pdf', ${{ id: 'f' }}, now())`
  network.media = async () => ({ outcome: 'done', value: { mimeType: null, body: Readable.from([bytes]) } })
  const job = { account, runAt: new Date(), createdAt: new Date() }
  assert.ok('file' in (await world.parts.chat.media.fetch(job, id, network, new AbortController().signal)))
  const mediaWith = (seal: Seal) => makeMedia({ ...world.parts, seal })
  /** Checks that values of every kind are unchanged. */
  const isWhole = async (seal: Seal) => {
    assert.deepEqual(
      (await db.begin((tx) => checkSealedValues(tx, master()))).filter(({ broken }) => broken > 0),
      [],
    )
    assert.ok((await buffer(readFile(db, seal, stored))).equals(bytes))
    const read = await makeCredentialStore(db, seal, nothing).read(line.channel, 't', ['a:b'])
    assert.equal(String(read.get('a:b')), 'kept')
    const media = mediaWith(seal)
    const row = await media.find(account, id)
    const { key = null, digest = null } = row ?? {}
    assert.ok(row && digest && key)
    assert.match(key, /\.enc$/)
    assert.ok((await buffer(await media.read({ ...row, key }))).equals(bytes))
    return { key, digest }
  }
  // The test world holds the connections of a running platform.
  await isWhole(first)
  return {
    db,
    home,
    open,
    first,
    isWhole,
    account,
    id,
    mediaWith,
    rotation: { home, databaseUrl: db.url, given: null, nextFile: null },
  }
}

onEachPostgres((database) => {
  test('a rotation reseals all values, and earlier encrypted files remain readable, also after the next rotation', async () => {
    const { db, home, open, first, isWhole, account, id, mediaWith, rotation } = await furnish(await database())
    const before = readFileSync(join(home, 'keys', 'master'))
    const link = first.sign('a link')
    const done = await rotateMaster(rotation)
    assert.ok(done.values >= 4)
    assert.deepEqual(readFileSync(String(done.before)), before)
    assert.notDeepEqual(readFileSync(join(home, 'keys', 'master')), before)
    assert.equal(statSync(done.file).mode & 0o777, 0o600)
    const second = await open()
    await isWhole(second)
    assert.notEqual(second.sign('a link'), link)
    assert.ok((await db.begin((tx) => checkSealedValues(tx, before))).some(({ broken }) => broken > 0))
    await rotateMaster(rotation)
    const third = await open()
    const { digest, key } = await isWhole(third)
    // Retention finds the file under the name derived from the first key.
    await db.run`delete from msgapp_media where account_id = ${account} and id = ${id}`
    assert.ok(existsSync(join(home, 'media', key)))
    await mediaWith(third).discard(account, digest)
    assert.ok(!existsSync(join(home, 'media', key)))
  })
})

test('a rotation is refused while a process is alive, while a value does not open, and without the right key', async () => {
  const { db, home, open, isWhole, rotation } = await furnish()
  await db.run`insert into processes (id, public_url, media_store) values (gen_random_uuid(), null, 'a folder')`
  await assert.rejects(rotateMaster(rotation), /A platform runs on the database: stop every process/)
  await db.run`delete from processes`
  await assert.rejects(
    rotateMaster({ ...rotation, nextFile: 'x' }),
    /--new-key-file is for installations that set TRUNKLINE_MASTER_KEY/,
  )
  await assert.rejects(
    rotateMaster({ ...rotation, given: 'another key than the right one' }),
    /not the one of this database/,
  )
  const { id } = await db.one<{ id: string }>`select id from connections where name = 'acme'`
  const stored = await db.one<{ sealed_secrets: Buffer }>`select sealed_secrets from connections where id = ${id}`
  await db.run`update connections set sealed_secrets = ${randomBytes(60)} where id = ${id}`
  await assert.rejects(rotateMaster(rotation), /nothing was changed: connections\.sealed_secrets \(1 of \d+\)/)
  await db.run`update connections set sealed_secrets = ${stored.sealed_secrets} where id = ${id}`
  await isWhole(await open())
  assert.deepEqual(readdirSync(join(home, 'keys')), ['master'])
})

test('a key of the settings is replaced by the key of a file, which exists before any value is sealed under it', async () => {
  const db = await testDatabase()
  const [home, given] = [temporaryFolder(), 'the first key of these tests']
  await openSeal(db, { home, given, forget: false }, nothing)
  const rotation = { home, databaseUrl: db.url, given, nextFile: null }
  await assert.rejects(rotateMaster(rotation), /give --new-key-file FILE/)
  const nextFile = join(home, 'next')
  const done = await rotateMaster({ ...rotation, nextFile })
  assert.equal(done.file, nextFile)
  assert.equal(statSync(nextFile).mode & 0o777, 0o600)
  await assert.rejects(openSeal(db, { home, given, forget: false }, nothing), /not the one that sealed/)
  await openSeal(db, { home, given: readFileSync(nextFile, 'utf8').trim(), forget: false }, nothing)
  writeFileSync(nextFile, 'too short\n')
  const present = { ...rotation, given: 'whatever it is, it is not right' }
  await assert.rejects(rotateMaster({ ...present, nextFile }), /not the one of this database/)
})

test(
  'killed at any moment, the installation starts with the old key before the commit and with the new one after it',
  fullForm('crashes at further moments'),
  async (t) => {
    const { db, home, open, isWhole, rotation } = await furnish()
    const ops = JSON.stringify(join(import.meta.dirname, 'ops.ts'))
    const code = `const { rotateMaster } = await import(${ops}); console.log('ready')
    await rotateMaster(${JSON.stringify(rotation)}); console.log('done')`
    // A rotation ends the sessions of the platform; this session has another application name.
    const address = new URL(db.url)
    address.searchParams.set('application_name', 'watcher')
    const watcher = connect({ url: address.href, connections: 1 })
    t.after(() => watcher.end())
    const fingerprint = async () =>
      (
        await watcher.one<{
          value: { fingerprint: string }
        }>`select value from installation_state where name = 'master-key'`
      ).value.fingerprint
    const waits = (event: string) => async () =>
      (await watcher.many`select from pg_stat_activity where datname = current_database() and wait_event = ${event}`)
        .length > 0
    const ended = async () =>
      (
        await watcher.many`
      select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`
      ).length === 0
    /** Kills a rotation once a condition holds, and starts the installation. @returns whether the key was replaced */
    const kill = async (seen: () => Promise<boolean>, release = async () => {}): Promise<boolean> => {
      const before = await fingerprint()
      const child = runChild(code)
      await child.readLine()
      await until(seen)
      await child.kill('SIGKILL')
      await release()
      await watcher.raw(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
      )
      await until(ended)
      // The pool notices its terminated sessions one by one.
      await until(() =>
        db.run`select`.then(
          () => true,
          () => false,
        ),
      )
      await isWhole(await open())
      return before !== (await fingerprint())
    }
    const holder = await openSession(db.url)
    await holder.raw('begin; lock table webhooks in share mode')
    const release = async () => {
      await holder.raw('rollback')
      await holder.end()
    }
    assert.equal(await kill(waits('relation'), release), false)

    await db.raw(`create function slow() returns trigger language plpgsql set jit = off as 'begin perform pg_sleep(60); return new; end';
    create trigger slow before update on msgapp_credentials for each row execute function slow()`)
    assert.equal(await kill(waits('PgSleep')), false)
    await db.raw('drop trigger slow on msgapp_credentials')

    // Kill after fixed delays, at any stage.
    for (const wait of [0, 10, 30, 60, 120]) {
      const end = performance.now() + wait
      await kill(async () => performance.now() >= end)
    }

    // Kill between the commit and the replacement of the file.
    const path = join(home, 'keys', 'master')
    const { before } = await rotateMaster(rotation)
    renameSync(path, `${path}.next`)
    writeFileSync(path, readFileSync(String(before)))
    await isWhole(await open())
    assert.ok(!existsSync(`${path}.next`))
  },
)

test('a process that was frozen during a rotation is refused by its next connection', async () => {
  const { db, first, rotation } = await furnish()
  const frozen = connect({ url: db.url, connections: 1, admit: admitWith(first) })
  try {
    await frozen.run`select 1`
    await rotateMaster(rotation)
    // The existing connection was terminated and may report that once.
    await frozen.run`select 1`.catch(nothing)
    await assert.rejects(frozen.run`update connections set sealed_secrets = ${first.close('{}')}`, KeyReplaced)
  } finally {
    await frozen.end()
  }
})

test(
  'the command line rotates the key of a stopped installation, and refuses while the platform runs',
  fullForm('commands that act as an endpoint does'),
  async () => {
    const platform = await startPlatform()
    const refused = await runCli(platform.home, ['master-key', 'rotate']).ended
    assert.deepEqual([refused.status, /is in use by process \d+.*Stop that one first/.test(refused.err)], [1, true])
    const connection = await platform.call('POST', '/operator/connections', {
      kind: 'smpp',
      name: 'acme',
      settings: { host: '127.0.0.1', port: 2775, system_id: 'me', password: 'sealed away' },
      enabled: false,
    })
    assert.equal(connection.status, 201)
    await platform.end()
    const rotated = await runCli(platform.home, ['master-key', 'rotate']).ended
    assert.equal(rotated.status, 0, rotated.err)
    assert.match(rotated.out, /^\d+ values sealed under the new master key, whose fingerprint is [0-9a-f]{16}/)
    const next = await startPlatform(platform.home)
    assert.equal((await next.call('GET', '/open/info')).status, 200)
    await next.end()
    rmSync(join(platform.home, 'keys', 'master'))
    mkdirSync(join(platform.home, 'keys'), { recursive: true })
    await assert.rejects(startPlatform(platform.home), /The master key is missing/)
  },
)

test('a platform that a rotation did not detect exits and states the reason', async () => {
  const db = await testDatabase()
  const given = 'the first key of these tests'
  const platform = await startPlatform(temporaryFolder(), {
    DATABASE_URL: db.url,
    TRUNKLINE_MASTER_KEY: given,
    TRUNKLINE_ROLES: 'api',
  })
  const rotation = { home: temporaryFolder(), databaseUrl: db.url, given, nextFile: join(platform.home, 'next') }
  await assert.rejects(rotateMaster(rotation), /A platform runs on the database/)
  // Simulates a process frozen for longer than the heartbeat timeout.
  await until(async () => {
    await db.run`delete from processes`.catch(nothing)
    return await rotateMaster(rotation).then(
      () => true,
      () => false,
    )
  })
  assert.equal(await platform.end('SIGCONT'), 1)
  assert.match(platform.output(), /The master key of the database was replaced: start again with the new one/)
})
