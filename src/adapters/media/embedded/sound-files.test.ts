import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { silence } from '@trunkline/rtp/g711.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { SoundFiles } from './sound-files.ts'
import type { SoundReader } from './sound-reader.ts'

const folder = temporaryFolder()
const files = new SoundFiles()

/** A file without an octet of silence. */
const fileOf = (length: number) => {
  const octets = Buffer.from(Array.from({ length }, (_, i) => (i * 31) % 127))
  const path = join(folder, `${length}.ulaw`)
  writeFileSync(path, octets)
  return { path, octets }
}

const isSilent = (frame: Buffer) => frame.every((octet) => octet === silence.pcmu)

/** Reads a sound to its end; frames that the disk delays are left out. */
const readAll = async (read: SoundReader): Promise<Buffer> => {
  const frames: Buffer[] = []
  for (let frame = read(); frame; frame = read())
    if (isSilent(frame)) await turn()
    else frames.push(frame)
  return Buffer.concat(frames)
}

const padded = (octets: Buffer) =>
  Buffer.concat([octets, Buffer.alloc((160 - (octets.length % 160)) % 160, silence.pcmu)])

// In memory, and read in blocks: a multiple of the block, and not.
for (const length of [4_000, 1_600_000, 1_500_100])
  test(`a file of ${length} octets is read in order, from its start and again from the beginning`, async () => {
    const { path, octets } = fileOf(length)
    const first = padded(octets.subarray(1_000))
    assert.ok((await readAll(await files.open(path, 1_000, 1))).equals(first))
    assert.ok((await readAll(await files.open(path, 1_000, 2))).equals(Buffer.concat([first, padded(octets)])))
    const endless = await files.open(path, 0, 0)
    for (let i = 0; i < 20; i++) assert.ok(endless())
    endless.close?.()
  })

test('a long file that is not read any more is closed, and read no further', async () => {
  const { path } = fileOf(1_600_000)
  const read = await files.open(path, 0, 1)
  assert.ok(read())
  read.close?.()
  read.close?.()
  assert.equal(read(), null)
})

test('a file that is missing, too long, or ends too early is refused', async () => {
  const { path } = fileOf(4_000)
  await assert.rejects(files.open(join(folder, 'none'), 0, 1), { code: 'ENOENT' })
  await assert.rejects(files.open(path, 4_000, 1), /ends before/)
  const { path: long } = fileOf(20_971_521)
  await assert.rejects(files.open(long, 0, 1), /more than 20971520/)
})
