import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { cp, mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { wavHeader } from '../../src/adapters/media/recording/wav.ts'
import * as backups from '../../src/domains/backup/store.ts'
import { recordingLinks } from '../../src/domains/calls/recordings/recording-links.ts'
import {
  deleteExpired,
  repairRecordings,
  storeOf,
  uploadRecordings,
} from '../../src/domains/calls/recordings/recording-upload.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { connect } from '../../src/platform/db/sql.ts'
import { recordingCipher } from '../../src/platform/lib/encrypted-file.ts'
import { makeS3Store } from '../../src/platform/lib/s3-store.ts'
import { makeSeal } from '../../src/platform/lib/secret.ts'
import { startBucket } from '../bucket.ts'
import { onEachPostgres } from '../database.ts'
import { temporaryFolder } from '../servers.ts'
import { makeWorld } from '../world.ts'
import { describeSchema } from './catalogue.ts'

const folder = join(import.meta.dirname, '../../src/platform/db/migrations')
const file = '20261129T040000_recording_ids.sql'
const uuidOf = (n: number): string => `01a1fcca-93ab-7cbc-9f10-${String(n).padStart(12, '0')}`

const key = Buffer.alloc(32, 7)
const seal = makeSeal(key)
const account = uuidOf(1)
const folderId = uuidOf(2)
const [plain, encrypted, stored, cut] = [uuidOf(3), uuidOf(4), uuidOf(5), uuidOf(6)]
const samplesOf = (call: string) => `sound of call ${call.slice(-1)}!`
const wavOf = (call: string) => {
  const samples = Buffer.from(samplesOf(call))
  return Buffer.concat([wavHeader(samples.length / 4), samples])
}

/** Writes the files as the version before did: by the calls' ids. */
const writeFiles = async (home: string, bucket: string): Promise<void> => {
  const place = join(home, 'recordings', account)
  await mkdir(place, { recursive: true })
  await writeFile(join(home, 'recordings', 'id'), `${folderId}\n`)
  await writeFile(join(place, `${plain}.wav`), wavOf(plain))
  const encryption = recordingCipher(seal).encrypt(account)
  const ciphertext = join(place, `${encrypted}.wav.enc`)
  const source = (async function* () {
    yield wavOf(encrypted)
  })()
  await pipeline(encryption.body(source), createWriteStream(ciphertext))
  await encryption.finish(ciphertext, `recordings/${account}/${encrypted}`)
  const upload = join(temporaryFolder(), 'upload')
  await writeFile(upload, wavOf(stored))
  const digest = createHash('sha256').update(wavOf(stored)).digest()
  const size = wavOf(stored).length
  await makeS3Store(bucket).put(`recordings/${account}/${stored}.wav`, { path: upload, size, digest }, 'audio/wav')
  // A killed process left it.
  await writeFile(join(place, `${cut}.wav`), wavOf(cut))
  await utimes(join(place, `${cut}.wav`), 1, 1)
}

/** Stores the rows as the version before did. */
const insertRows = async (db: ReturnType<typeof connect>): Promise<void> => {
  await db.run`insert into accounts (id, name, requests_per_minute) values (${account}, 'a', 60)`
  for (const call of [plain, encrypted, stored, cut]) {
    await db.run`
      insert into calls (account_id, id, callid, direction, to_number, iso_country_code, status, is_msgapp, is_trunk,
        caller_id_used, answered_at, ended_at, recorded_at)
      values (${account}, ${call}, 'c', 'O', '+447700900123', 'GB', 'COMPLETED', false, true, '+441632960000',
        app_now() - interval '1 hour', app_now() - interval '59 minutes', ${call === cut ? null : new Date()})`
    const [bytes, sha256] = [wavOf(call).length, createHash('sha256').update(wavOf(call)).digest('hex')]
    if (call === cut)
      await db.run`insert into call_recordings (account_id, call_id, home) values (${account}, ${call}, ${folderId})`
    else
      await db.run`
        insert into call_recordings (account_id, call_id, seconds, bytes, sha256, ready_at, kept, home, encrypted)
        values (${account}, ${call}, 1, ${bytes}, ${sha256}, app_now(), ${call === stored ? 'store' : 'disk'}, ${folderId},
          ${call === encrypted})`
  }
}

/** A backup names the files on the disk by the ids of the calls, also that of a database from before. */
const isNamedInBackups = (db: ReturnType<typeof connect>) =>
  db.begin(async (tx) => {
    await backups.openFiles(tx, folderId)
    const files = await backups.nextFiles(tx, 16)
    await backups.closeFiles(tx)
    assert.deepEqual(files.map(({ name }) => name).sort(), [
      `${account}/${plain}.wav`,
      `${account}/${encrypted}.wav.enc`,
    ])
    await backups.prepareFileList(tx)
    for (const one of files) {
      assert.deepEqual(await backups.findFile(tx, `recordings/${one.name}`), one)
      assert.equal(await backups.isNamed(tx, one), true)
      assert.equal(
        await backups.isNamed(tx, { ...one, name: one.name.replace(plain, cut).replace(encrypted, cut) }),
        false,
      )
    }
    await tx.raw('drop table backup_files, backup_recordings; drop index backup_media')
  })

onEachPostgres((database) => {
  test('recordings of the version before keep their files and links, and are repaired, uploaded and deleted', async () => {
    const before = join(temporaryFolder(), 'migrations')
    await cp(folder, before, { recursive: true })
    for (const name of await readdir(before)) if (name.endsWith('.sql') && name >= file) await rm(join(before, name))
    const [old, bucket, home] = [await database(), await startBucket(), temporaryFolder()]
    const schema = await describeSchema(old)
    await old.raw('drop schema public cascade; create schema public')
    const db = connect({ url: old.url, connections: 2, unlimited: true })
    try {
      await migrate(db, { folder: before })
      await insertRows(db)
      await writeFiles(home, bucket.address)
      await isNamedInBackups(db)
      assert.ok((await migrate(db)) >= 1)
      await isNamedInBackups(db)
      assert.deepEqual(await describeSchema(db), schema)
      const bytes = wavOf(plain).length * 3
      const usage = await db.one<{ bytes: number }>`select bytes from stored_bytes where account_id = ${account}`
      assert.equal(Number(usage.bytes), bytes)
    } finally {
      await db.end()
    }

    const settings = { TRUNKLINE_HOME: home, TRUNKLINE_MEDIA_STORE: bucket.address }
    const world = await makeWorld(settings, {}, { db: old, key })
    const { app, parts } = world
    /** A link as the version before made it. */
    const linkOf = (call: string) => {
      const until = String(Math.floor(Date.now() / 86_400_000 + 8) * 86_400)
      const signature = seal.sign(`recording ${account} ${call} ${until}`)
      return `/recordings/CDR${call}.wav?account=${account}&until=${until}&signature=${signature}`
    }
    const hear = async (url: string) => {
      const { statusCode, rawPayload } = await app.inject({ url })
      return statusCode === 200 ? String(rawPayload.subarray(44)) : statusCode
    }
    const hearAll = (calls: readonly string[]) => Promise.all(calls.map((call) => hear(linkOf(call))))
    const whole = [plain, encrypted, stored]
    assert.deepEqual(await hearAll([...whole, cut]), [...whole.map(samplesOf), 404])
    const links = recordingLinks(parts)
    const { pathname, search } = new URL(links.urlOfRecording(account, plain))
    assert.equal(await hear(pathname + search), samplesOf(plain), 'their ids are those of their calls')

    const deps = {
      ...{
        db: old,
        config: parts.config,
        linkOf: links.urlOf,
        urlOfRecording: links.urlOfRecording,
        cipher: recordingCipher(parts.seal),
      },
      store: storeOf(parts.config),
      failed: (error: unknown) => assert.fail(String(error)),
    }
    const { signal } = new AbortController()
    await repairRecordings(deps)
    await uploadRecordings(deps, signal)
    const all = [plain, encrypted, stored, cut]
    assert.deepEqual(await hearAll(all), all.map(samplesOf))
    assert.deepEqual(
      [...bucket.objects.keys()].map((name) => name.split('/').at(-1)).sort(),
      all.map((call) => `${call}.wav${call === encrypted ? '.enc' : ''}`),
    )
    await old.run`update clock set offset_seconds = offset_seconds + ${91 * 86_400}`
    await deleteExpired(deps, signal)
    assert.deepEqual([bucket.objects.size, await old.many`select from calls where recorded_at is not null`], [0, []])
  })
})
