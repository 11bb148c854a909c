import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { temporaryFolder } from '../../../../test/servers.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { storedBytes } from '../../../platform/http/quotas.ts'
import { expireOld } from '../../msgapp/media/store.ts'
import { maxSoundBytes } from '../limits.ts'
import { amplitudeOf, linear, toneMp3, toneWav } from '../sounds/sound-testing.ts'
import { makeSounds } from '../sounds/sounds.ts'

const home = temporaryFolder()
const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_HOME: home })
const { app, call, db, parts } = world
const { signal } = new AbortController()
const sounds = makeSounds({ ...parts, config: { home }, media: parts.chat.media })
after(() => sounds.close())

const upload = async (who: Tenant, content: Buffer, type = 'audio/wav', name = 'Welcome') => {
  const answer = await app.inject({
    method: 'POST',
    url: `/open/voip/clips?name=${encodeURIComponent(name)}`,
    headers: { 'x-user-api-key': who.key, 'content-type': type },
    payload: content,
  })
  return { status: answer.statusCode, body: answer.json() }
}

const clipOf = async (who: Tenant, content: Buffer, type?: string) => {
  const { status, body } = await upload(who, content, type)
  assert.equal(status, 201, JSON.stringify(body))
  return body.clip
}

const bare = ({ uuid }: { uuid: string }): string => uuid.slice(3)

test('a WAV or MP3 file is uploaded, listed, downloaded and played', async () => {
  const ada = await world.tenant()
  const wav = toneWav({ rate: 44_100, channels: 2 })
  const one = await clipOf(ada, wav)
  assert.match(one.uuid, /^CLP/)
  assert.deepEqual(
    { ...one, uuid: '', url: '', created_at: '' },
    { uuid: '', name: 'Welcome', media_type: 'audio/wav', size: wav.length, seconds: 0.5, url: '', created_at: '' },
  )
  const two = await clipOf(ada, toneMp3, 'application/octet-stream')
  assert.deepEqual([two.media_type, two.seconds], ['audio/mpeg', undefined])
  const { clips, total } = (await call(ada, 'GET', '/open/voip/clips')).body
  assert.deepEqual([clips.map((clip: { uuid: string }) => clip.uuid), total], [[two.uuid, one.uuid], 2])
  assert.equal((await call(ada, 'GET', `/open/voip/clips/${one.uuid}`)).body.clip.name, 'Welcome')
  const file = await app.inject({ url: one.url.replace('http://127.0.0.1:8080', '') })
  assert.ok(file.rawPayload.equals(wav))
  for (const clip of [one, two]) {
    const prepared = await sounds.prepare(ada.id, { clip: bare(clip) }, signal)
    const [sound] = 'sounds' in prepared ? prepared.sounds : assert.fail(JSON.stringify(prepared))
    assert.ok(sound && 'file' in sound)
    assert.ok(amplitudeOf(linear(readFileSync(sound.file)), 1_000) > 7_500)
  }
})

test('a clip of another account answers as a missing one, in requests and in calls', async () => {
  const [ada, bob] = [await world.tenant(), await world.tenant()]
  const clip = await clipOf(bob, toneWav())
  const missing = `CLP${'0'.repeat(8)}-0000-7000-8000-${'0'.repeat(12)}`
  for (const method of ['GET', 'DELETE'] as const) {
    const [theirs, none] = [
      await call(ada, method, `/open/voip/clips/${clip.uuid}`),
      await call(ada, method, `/open/voip/clips/${missing}`),
    ]
    assert.equal(theirs.status, 404)
    assert.equal(theirs.body.error_message.replace(clip.uuid, missing), none.body.error_message)
  }
  const prepared = await sounds.prepare(ada.id, { clip: bare(clip) }, signal)
  assert.equal('error_code' in prepared && prepared.error_code, 'clip_not_found')
  assert.equal((await call(bob, 'GET', `/open/voip/clips/${clip.uuid}`)).status, 200)
})

test('a deleted clip frees its bytes, and no later call plays it', async () => {
  const ada = await world.tenant()
  const wav = toneWav()
  const clip = await clipOf(ada, wav)
  assert.equal(await storedBytes(db, ada.id), wav.length)
  assert.ok('sounds' in (await sounds.prepare(ada.id, { clip: bare(clip) }, signal)))
  assert.equal((await call(ada, 'DELETE', `/open/voip/clips/${clip.uuid}`)).status, 200)
  assert.equal(await storedBytes(db, ada.id), 0)
  const { waiting } = await db.one<{ waiting: number }>`
    select count(*)::integer as waiting from jobs where kind = 'msgapp.media.discard' and account_id = ${ada.id}`
  assert.equal(waiting, 1, 'the bytes are deleted from the store')
  const prepared = await sounds.prepare(ada.id, { clip: bare(clip) }, signal)
  assert.equal('error_code' in prepared && prepared.error_code, 'clip_not_found')
  assert.equal((await call(ada, 'DELETE', `/open/voip/clips/${clip.uuid}`)).status, 404)
})

test('a file that is no usable sound is refused, and leaves nothing', async () => {
  const ada = await world.tenant()
  const float = toneWav()
  float.writeUInt16LE(3, 20)
  const cases = [
    [Buffer.from('%PDF-1.7'), 400, 'invalid_sound'],
    [float, 400, 'invalid_sound'],
    [toneWav().subarray(0, 1_000), 400, 'invalid_sound'],
    [Buffer.alloc(0), 400, 'empty_file'],
    [Buffer.concat([toneMp3, Buffer.alloc(maxSoundBytes)]), 413, 'body_too_large'],
  ] as const
  for (const [content, status, code] of cases) {
    const refused = await upload(ada, content)
    assert.deepEqual([refused.status, refused.body.error_code], [status, code], JSON.stringify(refused.body))
  }
  assert.equal((await upload(ada, toneWav(), 'image/png')).status, 415)
  assert.equal((await call(ada, 'GET', '/open/voip/clips')).body.total, 0)
  assert.equal(await storedBytes(db, ada.id), 0)
  const { files } = await db.one<{ files: number }>`
    select count(*)::integer as files from msgapp_media where account_id = ${ada.id}`
  assert.equal(files, 0)
  assert.deepEqual(
    readdirSync(join(home, 'media/arriving'), { recursive: true, withFileTypes: true }).filter((one) => one.isFile()),
    [],
  )
})

test('clips count for the quota of stored bytes, and for the limit of clips', async () => {
  const ada = await world.tenant()
  const wav = toneWav()
  await call('operator', 'PATCH', `/operator/accounts/${ada.uuid}`, { quotas: { stored_bytes: wav.length + 100 } })
  await clipOf(ada, wav)
  const refused = await upload(ada, wav)
  assert.deepEqual([refused.status, refused.body.error_code], [403, 'limit_exceeded'])
  const bob = await world.tenant()
  await db.run`
    insert into call_clips (account_id, id, name, media_id, media_type, size)
    select ${bob.id}, gen_random_uuid(), 'filler', gen_random_uuid(), 'audio/mpeg', 1 from generate_series(1, 999)`
  const both = await Promise.all([upload(bob, wav), upload(bob, wav)])
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409])
  assert.equal(await storedBytes(db, bob.id), wav.length)
})

test('a clip does not expire with the files of messages', async () => {
  const ada = await world.tenant()
  const clip = await clipOf(ada, toneWav())
  await db.run`update msgapp_media set created_at = app_now() - interval '10 years' where account_id = ${ada.id}`
  await db.begin((tx) => expireOld(tx, 30, 1_000))
  assert.ok('sounds' in (await sounds.prepare(ada.id, { clip: bare(clip) }, signal)))
})
