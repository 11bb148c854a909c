import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/servers.ts'
import { energyShare, monoOf, toneFrames } from '../tone-testing.ts'
import { openRecorder } from './recorder.ts'
import { repairWav, trimWav } from './wav.ts'

const path = () => join(temporaryFolder(), 'call.wav')

/** Returns the samples of a channel. */
const channelOf = (file: string, channel: 0 | 1): number[] => {
  const bytes = readFileSync(file).subarray(44)
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => bytes.readInt16LE(i * 4 + channel * 2))
}

const packet = (i: number, payload: Buffer, ssrc = 1, timestamp = i * 160) => ({
  payloadType: 0,
  marker: false,
  sequence: i & 0xffff,
  timestamp: timestamp >>> 0,
  ssrc,
  payload,
})

test('two streams are recorded in parallel, each packet at its timestamp, in any order of arrival', async () => {
  const file = path()
  const recorder = await openRecorder(file, 0)
  const left = toneFrames(1_000, 100)
  const right = toneFrames(620, 100)
  const order = left.map((_, i) => (i % 10 === 4 ? i + 1 : i % 10 === 5 ? i - 1 : i))
  for (const i of order) {
    recorder.addPacket(0, 'pcmu', packet(i, left[i] ?? Buffer.alloc(0), 1, 0xffffff00 + i * 160), i * 20)
    // Packets of the remote side come in bursts of five.
    recorder.addPacket(1, 'pcmu', packet(i, right[i] ?? Buffer.alloc(0), 2), i - (i % 5) * 20 + 100 + i * 19)
    if (i % 50 === 49) recorder.flush(i * 20)
  }
  const recording = await recorder.close(2_000)
  assert.equal(recording.seconds, 2)
  assert.equal(recording.bytes, 44 + 2 * 8_000 * 4)
  assert.ok(energyShare(channelOf(file, 0).slice(0, 15_000), 1_000) > 0.98)
  assert.ok(energyShare(channelOf(file, 1).slice(4_000, 15_000), 620) > 0.98)
  assert.equal(recorder.dropped, 0)
})

test('missing packets become silence of the same length', async () => {
  const file = path()
  const recorder = await openRecorder(file, 0)
  for (const [i, payload] of toneFrames(1_000, 100).entries())
    if (i < 25 || i >= 50) recorder.addPacket(0, 'pcmu', packet(i, payload), i * 20)
  await recorder.close(2_000)
  const samples = channelOf(file, 0)
  assert.ok(samples.slice(4_000, 8_000).every((sample) => sample === 0))
  assert.ok(energyShare(samples.slice(8_000), 1_000) > 0.98)
})

for (const [fill, seconds] of [
  ['silence', 3],
  ['skip', 2],
] as const)
  test(`what comes during a pause with ${fill} is not recorded, and ${seconds} of 3 s remain`, async () => {
    const file = path()
    const recorder = await openRecorder(file, 0)
    const [tone, secret] = [toneFrames(1_000, 150), toneFrames(620, 50)]
    for (let i = 0; i < 150; i++) {
      const at = i * 20
      if (at === 1_000) recorder.pause(fill, at)
      if (at === 1_500) recorder.pause(fill, at)
      if (at === 2_000) recorder.resume(at)
      const isPaused = at >= 1_000 && at < 2_000
      recorder.addPacket(0, 'pcmu', packet(i, (isPaused ? secret[i - 50] : tone[i]) ?? Buffer.alloc(0)), at)
      if (i % 50 === 49) recorder.flush(at)
    }
    assert.equal((await recorder.close(3_000)).seconds, seconds)
    const samples = channelOf(file, 0)
    assert.ok(energyShare(samples.slice(0, 8_000), 1_000) > 0.98)
    assert.ok(energyShare(samples.slice(-8_000), 1_000) > 0.98)
    if (fill === 'silence') assert.ok(samples.slice(8_000, 16_000).every((sample) => sample === 0))
    assert.equal(recorder.dropped, 0)
  })

test('a packet with a timestamp hours ahead increases neither the file nor memory', async () => {
  const file = path()
  const recorder = await openRecorder(file, 0)
  const [payload = Buffer.alloc(0)] = toneFrames(1_000, 1)
  recorder.addPacket(0, 'pcmu', packet(0, payload), 0)
  recorder.addPacket(0, 'pcmu', packet(1, payload, 1, 8_000 * 3_600), 20)
  recorder.addPacket(0, 'pcmu', packet(2, randomBytes(1_400), 1, 8_000 * 7_200), 40)
  assert.equal((await recorder.close(1_000)).seconds, 1)
})

test('a recording whose process was killed is repaired, and a second repair changes nothing', async () => {
  const file = path()
  const recorder = await openRecorder(file, 0)
  for (const [i, payload] of toneFrames(1_000, 150).entries()) recorder.addPacket(0, 'pcmu', packet(i, payload), i * 20)
  recorder.flush(3_000)
  const killed = path()
  const whole = await recorder.close(3_000)
  copyFileSync(file, killed)
  const bytes = readFileSync(killed)
  bytes.writeUInt32LE(36, 4)
  bytes.writeUInt32LE(0, 40)
  writeFileSync(killed, bytes)
  truncateSync(killed, 44 + 16_000 * 4 + 3)
  const repaired = await repairWav(killed)
  assert.equal(repaired.seconds, 2)
  assert.equal(readFileSync(killed).readUInt32LE(40), 64_000)
  assert.deepEqual(await repairWav(killed), repaired)
  assert.deepEqual(await repairWav(file), whole)
})

test('one stream is recorded on one channel, which a repair and a trim keep', async () => {
  const file = path()
  const recorder = await openRecorder(file, 0, 1)
  for (const [i, payload] of toneFrames(1_000, 150).entries()) recorder.addPacket(0, 'pcmu', packet(i, payload), i * 20)
  recorder.flush(2_000)
  const whole = await recorder.close(3_000)
  assert.deepEqual([whole.seconds, whole.bytes, whole.channels], [3, 44 + 3 * 16_000, 1])
  assert.ok(energyShare(monoOf(file), 1_000) > 0.98)
  // As a process leaves it that was killed.
  const bytes = readFileSync(file)
  bytes.writeUInt32LE(36, 4)
  bytes.writeUInt32LE(0, 40)
  writeFileSync(file, bytes.subarray(0, -3))
  const repaired = await repairWav(file)
  assert.deepEqual([repaired.bytes, repaired.channels], [whole.bytes - 4, 1])
  const trimmed = await trimWav(file, 2)
  assert.deepEqual([trimmed.bytes, trimmed.channels], [repaired.bytes - 2 * 16_000, 1])
  assert.deepEqual(await repairWav(file), trimmed)
})

test('a file that is not a recording stays unchanged', async () => {
  const file = path()
  writeFileSync(file, 'something else that is longer than the header of a recording')
  await assert.rejects(repairWav(file), /is not a recording/)
  assert.match(readFileSync(file, 'utf8'), /^something else/)
  await assert.rejects(openRecorder(file, 0), /EEXIST/)
})
