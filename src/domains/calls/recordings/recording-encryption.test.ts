import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import pino from 'pino'
import { startBucket } from '../../../../test/bucket.ts'
import { until } from '../../../../test/platform.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { repairWav, wavHeader } from '../../../adapters/media/recording/wav.ts'
import { chunkBytes } from '../../../platform/lib/chunk-cipher.ts'
import { headerBytes, recordingCipher } from '../../../platform/lib/encrypted-file.ts'
import { makeSeal } from '../../../platform/lib/secret.ts'
import { makeCallControl } from '../control/call-control.ts'
import * as recordings from './recording-files.ts'
import { recordingLinks } from './recording-links.ts'
import { deleteExpired, type RecordingDeps, repairRecordings, storeOf, uploadRecordings } from './recording-upload.ts'

const marker = Buffer.from('ZQXPLAINZQX.')
const frames = 50_000
/** 200 kB of samples that a search would find in plain files. */
const wav = Buffer.concat([wavHeader(frames), Buffer.alloc(frames * 4, marker)])
const bucket = await startBucket()
const failures: string[] = []
const log = pino({ level: 'error' }, { write: (line: string) => void failures.push(line) })
const world = await makeWorld(
  { TRUNKLINE_HOME: temporaryFolder(), TRUNKLINE_MEDIA_STORE: bucket.address, TRUNKLINE_ENCRYPT_FILES: 'true' },
  {},
  { log },
)
const { db, parts, call, tenant } = world
const failed: unknown[] = []
const deps: RecordingDeps = {
  ...{
    db,
    config: parts.config,
    linkOf: recordingLinks(parts).urlOf,
    urlOfRecording: recordingLinks(parts).urlOfRecording,
    store: storeOf(parts.config),
  },
  cipher: recordingCipher(parts.seal),
  failed: (error) => failed.push(error),
}
const off: RecordingDeps = { ...deps, config: { ...deps.config, encryptFiles: false } }
const base = await world.app.listen({ host: '127.0.0.1', port: 0 })
const pass = (seconds: number) => db.run`update clock set offset_seconds = offset_seconds + ${seconds}`
const move = () => uploadRecordings(deps, new AbortController().signal)

const callControlOf = ({ config }: RecordingDeps) =>
  makeCallControl({
    ...{
      db,
      seal: parts.seal,
      prices: parts.prices,
      quotas: parts.quotas,
      sandboxAccounts: parts.sandboxAccounts,
      log,
      ...{ linkOf: deps.linkOf, urlOfRecording: deps.urlOfRecording },
      callPrograms: parts.callPrograms,
      epoch: 1,
    },
    config: { ...parts.config, ...config },
    hangUp: () => {},
    trunks: () => [],
  })

/** Makes an answered call with a recording on the disk, and a function to end it. */
const record = async (who: Tenant, content = wav, at = deps) => {
  const callControl = callControlOf(at)
  const user = async (name: string) => {
    const names = { first_name: name, last_name: 'L', email: `${crypto.randomUUID()}@example.com` }
    return String((await call('operator', 'POST', `/operator/accounts/${who.uuid}/users`, names)).body.user.uuid)
  }
  const person = { account: who.id, user: (await user('Ada')).slice(3) }
  const request = { person, to: await user('Grace'), from: null, headers: { 'X-Record': 'true' }, callId: 'c' }
  const placed = await callControl.placeCall(request)
  assert.ok('value' in placed && placed.value.record !== null)
  const { call: id, targets } = placed.value
  const { id: recording, path: file } = placed.value.record
  const [target] = targets
  assert.ok(target)
  await callControl.answered(id, target, [])
  writeFileSync(file, content, { mode: 0o600 })
  const end = async (isLeft = false) => {
    const content = isLeft ? ('left' as const) : await repairWav(file)
    const begun = content === null ? [] : [{ id: recording, content }]
    const said = {
      how: 'completed',
      status: 200,
      reason: '',
      by: 'caller',
      agoMs: 0,
      stats: [],
      recordings: begun,
    } as const
    await callControl.ended(id, said)
  }
  return { id, recording, file, encrypted: `${file}.enc`, end }
}

const urlOf = async (who: Tenant, id: string): Promise<string | undefined> =>
  (await call(who, 'GET', `/open/voip/call/CDR${id}`)).body.cdr.recording_url
const hear = async (who: Tenant, id: string, range?: string) => {
  const { pathname, search } = new URL((await urlOf(who, id)) ?? 'none:')
  return fetch(base + pathname + search, { headers: range === undefined ? {} : { range } })
}
const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer())
const isPlain = (file: string) => readFileSync(file).includes(marker)

/** Asserts that the whole recording and parts at chunk borders are as recorded. */
const isHeardWhole = async (who: Tenant, id: string) => {
  const whole = await hear(who, id)
  assert.deepEqual(
    [whole.status, whole.headers.get('content-type'), whole.headers.get('content-length')],
    [200, 'audio/wav', String(wav.length)],
  )
  assert.ok((await bytesOf(whole)).equals(wav))
  for (const start of [0, 44, chunkBytes - 1, chunkBytes, 3 * chunkBytes])
    for (const end of [start, start + 1, start + chunkBytes]) {
      const last = Math.min(end, wav.length - 1)
      const part = await hear(who, id, `bytes=${start}-${end}`)
      assert.deepEqual([part.status, part.headers.get('content-range')], [206, `bytes ${start}-${last}/${wav.length}`])
      assert.ok((await bytesOf(part)).equals(wav.subarray(start, last + 1)))
    }
  assert.equal((await hear(who, id, `bytes=${wav.length}-`)).status, 416)
}

test('a finished recording is ciphertext on disk and in the bucket, and is served whole and in parts from both', async () => {
  const who = await tenant()
  const { id, recording, file, encrypted, end } = await record(who)
  await end()
  assert.deepEqual([existsSync(file), isPlain(encrypted), statSync(encrypted).mode & 0o777], [false, false, 0o600])
  await isHeardWhole(who, id)
  await move()
  assert.deepEqual(
    [...bucket.objects].map(([name, bytes]) => [name, bytes.includes(marker)]),
    [[`/files/kept/recordings/${who.id}/${recording}.wav.enc`, false]],
  )
  assert.equal(existsSync(encrypted), false)
  await isHeardWhole(who, id)
  await pass(91 * 86_400)
  await deleteExpired(deps, new AbortController().signal)
  assert.deepEqual([bucket.objects.size, await urlOf(who, id)], [0, undefined])
})

test('an expired encrypted recording is deleted from the disk', async () => {
  const who = await tenant()
  const { encrypted, end } = await record(who)
  await end()
  assert.ok(existsSync(encrypted))
  await pass(91 * 86_400)
  await deleteExpired({ ...deps, store: null }, new AbortController().signal)
  assert.equal(existsSync(encrypted), false)
})

test('plain recordings are served after encryption is turned on, and encrypted ones after it is turned off', async () => {
  const who = await tenant()
  const [before, after] = [await record(who, wav, off), await record(who)]
  await before.end()
  await after.end()
  assert.deepEqual([isPlain(before.file), existsSync(before.encrypted)], [true, false])
  for (const { id } of [before, after]) await isHeardWhole(who, id)
  await move()
  for (const { id } of [before, after]) await isHeardWhole(who, id)
  // Reading does not depend on the setting, which applies to writing.
  assert.deepEqual([...bucket.objects.keys()].map((name) => name.endsWith('.enc')).sort(), [false, true])
})

/** Writes a recording as a killed process leaves it: without its length, a while ago. */
const leave = (file: string) => {
  writeFileSync(file, Buffer.concat([wavHeader(0), wav.subarray(44), Buffer.from('xy')]))
  utimesSync(file, 1, 1)
}

test('a recording left by a crash is repaired and encrypted, at whichever step the crash came', async () => {
  const who = await tenant()
  const crashed = await record(who)
  await crashed.end(true)
  leave(crashed.file)
  // An interrupted encryption left a partial file.
  const half = `${crashed.encrypted}.half`
  writeFileSync(half, 'half')
  await pass(10)
  await repairRecordings(deps)
  assert.deepEqual([existsSync(crashed.file), existsSync(half), isPlain(crashed.encrypted)], [false, false, false])
  await isHeardWhole(who, crashed.id)

  // The crash comes after the encrypted file is complete: before the plain one is removed, or before the commit.
  for (const hasPlain of [true, false]) {
    const later = await record(who)
    await recordings.encrypt(deps, who.id, later.recording)
    await later.end(true)
    if (hasPlain) leave(later.file)
    await pass(10)
    await repairRecordings(deps)
    assert.deepEqual([existsSync(later.file), existsSync(later.encrypted)], [false, true])
    await isHeardWhole(who, later.id)
  }
  assert.deepEqual(failed, [])
})

test('a recording is withheld until its encryption succeeds', async () => {
  const who = await tenant()
  const { id, recording, file, encrypted, end } = await record(who)
  failures.length = 0
  // A folder in place of the encrypted file makes the encryption fail.
  mkdirSync(encrypted)
  await end()
  assert.match(failures.join(''), /recordings: encryption failed/)
  assert.deepEqual([await urlOf(who, id), existsSync(file)], [undefined, true])
  utimesSync(file, 1, 1)
  await pass(10)
  await repairRecordings(deps)
  assert.deepEqual([await urlOf(who, id), failed.splice(0).length], [undefined, 1])
  rmdirSync(encrypted)
  await repairRecordings(deps)
  assert.equal(existsSync(file), false)
  await isHeardWhole(who, id)
  assert.deepEqual(
    readdirSync(dirname(file)).filter((name) => name.startsWith(recording)),
    [`${recording}.wav.enc`],
  )
})

test('a modified, truncated, exchanged or decrypted recording is refused; one modified while it is served is cut off', async () => {
  const [who, other] = [await tenant(), await tenant()]
  const [mine, same, foreign] = [await record(who), await record(who), await record(other)]
  for (const one of [mine, same, foreign]) await one.end()
  const whole = readFileSync(mine.encrypted)
  const flipped = (at: number) => {
    const bytes = Buffer.from(whole)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    return bytes
  }
  failures.length = 0
  const forgeries = [
    flipped(0),
    flipped(25),
    flipped(headerBytes + 9),
    whole.subarray(0, 70),
    whole.subarray(0, headerBytes),
    wav,
  ]
  for (const forged of [...forgeries, ...[same, foreign].map(({ encrypted }) => readFileSync(encrypted))]) {
    writeFileSync(mine.encrypted, forged)
    const { status, headers } = await hear(who, mine.id)
    assert.deepEqual([status, headers.get('content-type')], [500, 'application/json; charset=utf-8'])
  }
  assert.match(failures.join(''), /does not open/)
  for (const forged of [
    flipped(headerBytes + 2 * (chunkBytes + 16)),
    whole.subarray(0, headerBytes + 2 * (chunkBytes + 16)),
  ]) {
    failures.length = 0
    writeFileSync(mine.encrypted, forged)
    const answer = await hear(who, mine.id)
    await assert.rejects(bytesOf(answer))
    await until(async () => failures.join('').includes('recordings: reading failed'))
  }
  writeFileSync(mine.encrypted, whole)
  await isHeardWhole(who, mine.id)
})

test('a wrong master key is named in the log', async () => {
  const who = await tenant()
  const { id, recording, encrypted, end } = await record(who)
  const stranger = { ...deps, cipher: recordingCipher(makeSeal(randomBytes(32))) }
  await end(true)
  const plain = encrypted.slice(0, -4)
  copyFileSync(plain, `${plain}.copy`)
  await recordings.encrypt(stranger, who.id, recording)
  await pass(10)
  await repairRecordings(deps)
  assert.match(String(failed.splice(0)[0]), /under another master key \([0-9a-f]{16}\)/)
  rmSync(encrypted)
  copyFileSync(`${plain}.copy`, plain)
  utimesSync(plain, 1, 1)
  await repairRecordings(deps)
  await isHeardWhole(who, id)
})
