import assert from 'node:assert/strict'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { fileOf } from '../../../domains/calls/recordings/recording-files.ts'
import { reportRecording } from '../../../domains/calls/recordings/recording-status.ts'
import { deleteExpired } from '../../../domains/calls/recordings/recording-upload.ts'
import { recordingCipher } from '../../../platform/lib/encrypted-file.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import { signatureOf } from '../callbacks/signature.ts'
import { basic, makeTwilioWorld, startProgram } from '../testing.ts'

const world = await makeTwilioWorld()
const { app, db, parts, tenant, credentials, ask } = world

/** A call of an account with a complete recording of 3.4 s. */
const open = async () => {
  const who = await tenant()
  const [call, recording] = [uuid(), uuid()]
  await db.run`
    insert into calls (account_id, id, callid, direction, from_number, to_number, iso_country_code, status, is_msgapp,
      is_trunk, caller_id_used, toll_free, rate, ended_at, recorded_at)
    values (${who.id}, ${call}, ${call}, 'I', '+447911123456', '+442079460123', 'GB', 'COMPLETED',
      false, true, '+447911123456', false, 0, app_now(), app_now())`
  const path = fileOf(parts.config, who.id, recording)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, 'a sound')
  await db.run`
    insert into call_recordings (account_id, id, call_id, seconds, bytes, sha256, ready_at)
    values (${who.id}, ${recording}, ${call}, 3.4, 7, '', app_now())`
  return { who, own: await credentials(who), call, recording, path, sid: printSid('RE', recording) }
}

const listed = (body: { recordings: readonly { sid: string }[] }) => body.recordings.map(({ sid }) => sid)

test('a recording is listed and fetched, of the account and of its call', async () => {
  const { own, call, sid } = await open()
  const callSid = printSid('CA', call)
  for (const [path, query] of [
    ['/Recordings.json', {}],
    ['/Recordings.json', { CallSid: callSid, DateCreated: new Date().toISOString().slice(0, 10) }],
    [`/Calls/${callSid}/Recordings.json`, {}],
  ] as const)
    assert.deepEqual(listed((await ask(own, 'GET', path, query)).body), [sid], path)
  assert.deepEqual(listed((await ask(own, 'GET', '/Recordings.json', { CallSid: `CA${'0'.repeat(32)}` })).body), [])
  const { body } = await ask(own, 'GET', `/Recordings/${sid}.json`)
  assert.deepEqual([body.call_sid, body.status, body.duration, body.channels], [callSid, 'completed', '3', 2])
  assert.equal((await ask(own, 'GET', `/Calls/${callSid}/Recordings/${sid}.json`)).body.sid, sid)
})

test('a recording says by what it began, as Twilio names it', async () => {
  const { own, recording, sid } = await open()
  for (const [source, shown] of [
    ['record', 'RecordVerb'],
    ['record_call', 'StartCallRecordingTwiML'],
    ['dial', 'DialVerb'],
    ['order', 'OutboundAPI'],
    ['command', 'StartCallRecordingAPI'],
    ['call', 'StartCallRecordingAPI'],
    // From before sources were stored.
    [null, 'StartCallRecordingAPI'],
  ] as const) {
    await db.run`update call_recordings set source = ${source} where id = ${recording}`
    assert.equal((await ask(own, 'GET', `/Recordings/${sid}.json`)).body.source, shown)
  }
})

test('the file of a recording is found under its path with .wav, and under its link, with and without .wav', async () => {
  const { own, sid } = await open()
  const headers = { authorization: basic(own.sid, own.token) }
  const moved = await app.inject({ url: `/2010-04-01/Accounts/${own.sid}/Recordings/${sid}.wav`, headers })
  assert.equal(moved.statusCode, 302)
  const link = (await ask(own, 'GET', `/Recordings/${sid}.json`)).body.media_url
  for (const address of [String(moved.headers.location), link, `${link}.wav`]) {
    const { pathname, search } = new URL(address)
    const { statusCode, body } = await app.inject({ url: pathname + search })
    assert.deepEqual([statusCode, body], [200, 'a sound'], address)
  }
  const { pathname } = new URL(link)
  const foreign = (await open()).sid
  assert.equal((await app.inject({ url: pathname.replace(sid, foreign) })).statusCode, 404)
})

test('a deleted recording is not found any more, and its file is removed', async () => {
  const { own, who, call, sid, path } = await open()
  const link = new URL((await ask(own, 'GET', `/Recordings/${sid}.json`)).body.media_url).pathname
  assert.equal((await ask(own, 'DELETE', `/Recordings/${sid}.json`)).status, 204)
  assert.equal((await ask(own, 'GET', `/Recordings/${sid}.json`)).body.code, 20404)
  assert.equal((await ask(own, 'DELETE', `/Recordings/${sid}.json`)).body.code, 20404)
  assert.equal((await app.inject({ url: link })).statusCode, 404)
  const { recorded_at } = await db.one<{ recorded_at: Date | null }>`
    select recorded_at from calls where account_id = ${who.id} and id = ${call}`
  assert.equal(recorded_at, null)
  const { config, seal, log } = parts
  await db.run`update call_recordings set kept = 'store' where account_id = ${who.id}`
  const failed = (error: unknown) => assert.fail(String(error))
  await deleteExpired(
    { db, config, cipher: recordingCipher(seal), store: null, log, failed } as never,
    new AbortController().signal,
  )
  await assert.rejects(stat(path), { code: 'ENOENT' })
})

test('a complete recording cannot be changed: the one in progress is another', async () => {
  const { own, who, call, sid } = await open()
  await db.run`update calls set status = 'ANSWERED', ended_at = null where account_id = ${who.id} and id = ${call}`
  const changed = await ask(own, 'POST', `/Calls/${printSid('CA', call)}/Recordings/${sid}.json`, { Status: 'stopped' })
  assert.deepEqual([changed.status, changed.body.code], [400, 21220])
})

test('recordings of another account are unknown', async () => {
  const [ada, bob] = [await open(), await open()]
  for (const method of ['GET', 'DELETE'] as const)
    assert.equal((await ask(ada.own, method, `/Recordings/${bob.sid}.json`)).body.code, 20404)
  assert.deepEqual(listed((await ask(ada.own, 'GET', '/Recordings.json')).body), [ada.sid])
})

test('a stored recording is reported once to the address that its program named', async () => {
  const { own, who, call, recording, sid } = await open()
  const program = await startProgram()
  const url = program.url('/stored')
  await db.run`
    update call_recordings set channels = 1, source = 'record', status_callback = ${JSON.stringify({ url, method: 'POST', shape: 'twilio' })}::text::jsonb
    where account_id = ${who.id} and id = ${recording}`
  await db.begin((tx) => reportRecording(tx, who.id, call, { id: recording, seconds: 3.4, url: '' }))
  await until(async () => program.requests.length > 0)
  const [{ parameters, signature } = assert.fail()] = program.requests
  const { RecordingUrl, RecordingStartTime, ...rest } = parameters
  assert.deepEqual(rest, {
    ...{ AccountSid: own.sid, CallSid: printSid('CA', call), RecordingSid: sid, RecordingStatus: 'completed' },
    ...{
      RecordingDuration: '3',
      RecordingChannels: '1',
      RecordingTrack: 'both',
      RecordingSource: 'RecordVerb',
      ErrorCode: '0',
    },
  })
  assert.equal(signature, signatureOf(own.token, url, parameters))
  assert.equal((await app.inject({ url: new URL(RecordingUrl ?? '').pathname })).body, 'a sound')
  assert.ok(!Number.isNaN(Date.parse(RecordingStartTime ?? '')))
})
