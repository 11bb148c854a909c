import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import fc from 'fast-check'
import { startBucket } from '../../../test/bucket.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { chunkBytes } from './chunk-cipher.ts'
import { headerBytes, makeFileCipher, plainSize } from './encrypted-file.ts'
import { type ByteRange, type FileStore, makeFolderStore, openFile } from './file-store.ts'
import { makeS3Store } from './s3-store.ts'
import { makeSeal } from './secret.ts'

const folder = temporaryFolder()
const seal = makeSeal(randomBytes(32))
const cipher = makeFileCipher(seal, 'test')
const marker = Buffer.from('the marker of these tests ')
const bucket = await startBucket()
const places: readonly (readonly [string, FileStore])[] = [
  ['folder', makeFolderStore(join(folder, 'place'))],
  ['bucket', makeS3Store(bucket.address)],
]

let files = 0
/** Encrypts content into a new file. */
const encrypted = async (content: Buffer, place: string, account = 'a', pieces = [content]) => {
  const path = join(folder, `file${files++}`)
  const encryption = cipher.encrypt(account)
  await pipeline(
    Readable.from(pieces, { objectMode: false }),
    (source: AsyncIterable<Buffer>) => encryption.body(source),
    createWriteStream(path),
  )
  return encryption.finish(path, place)
}

const read = async (
  path: string,
  size: number,
  { span, account = 'a', place = 'p', with: other = cipher }: ReadOptions = {},
) => buffer(await other.open((part) => openFile(path, part), { account, place, size }, span))
type ReadOptions = { span?: ByteRange; account?: string; place?: string; with?: typeof cipher }

/** Smallest content with a marker, chunk borders and no two equal parts. */
const contentOf = (size: number): Buffer => {
  const content = randomBytes(size)
  for (let at = 0; at + marker.length <= size; at += 1_000) marker.copy(content, at)
  return content
}

const sizes = fc.oneof(
  fc.constantFrom(0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 2 * chunkBytes, 3 * chunkBytes, 3 * chunkBytes + 7),
  fc.nat({ max: 4 * chunkBytes }),
)
/** Start or end of a range: a chunk border, or any position. */
const points = fc.oneof(
  fc.tuple(fc.nat({ max: 4 }), fc.integer({ min: -2, max: 2 })).map(([chunk, more]) => chunk * chunkBytes + more),
  fc.nat({ max: 4 * chunkBytes }),
)

for (const [name, place] of places)
  test(`ranges of an encrypted file equal those of its content, and the ${name} holds no plain bytes`, async () => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.array(fc.tuple(points, points), { minLength: 4, maxLength: 4 }),
        async (size, ends) => {
          const key = `a/aa/${name}${runs++}`
          const content = contentOf(size)
          const file = await encrypted(content, key)
          const stored = await readFile(file.path)
          assert.equal(stored.indexOf(marker), -1)
          assert.deepEqual([plainSize(file.size), stored.length], [size, file.size])
          await place.put(key, file, 'application/octet-stream')
          const open = async (span?: ByteRange) =>
            buffer(await cipher.open((part) => place.get(key, part), { account: 'a', place: key, size }, span))
          assert.ok((await open()).equals(content))
          for (const [one, other] of size === 0 ? [] : ends) {
            const [start = 0, end = 0] = [one, other]
              .map((at) => Math.min(Math.max(at, 0), size - 1))
              .sort((a, b) => a - b)
            assert.ok(
              (await open({ start, end })).equals(content.subarray(start, end + 1)),
              `${start}-${end} of ${size}`,
            )
          }
        },
      ),
      { numRuns: 40 },
    )
  })

test('a range reads only the header and the chunks that it touches', async () => {
  const size = 100 * chunkBytes
  const { path } = await encrypted(contentOf(size), 'p')
  const spans: ByteRange[] = []
  const get = (span: ByteRange) => {
    spans.push(span)
    return openFile(path, span)
  }
  const part = await buffer(
    await cipher.open(get, { account: 'a', place: 'p', size }, { start: 5 * chunkBytes - 1, end: 5 * chunkBytes }),
  )
  assert.equal(part.length, 2)
  const bytes = spans.map(({ start, end }) => end - start + 1)
  assert.deepEqual(bytes, [headerBytes, 2 * (chunkBytes + 16)])
})

test('content is encrypted completely for pieces of any length', async () => {
  const content = contentOf(3 * chunkBytes + 100)
  const pieces = []
  for (let at = 0, step = 1; at < content.length; at += step, step = (step * 7 + 3) % 90_000)
    pieces.push(content.subarray(at, at + step))
  const { path } = await encrypted(content, 'p', 'a', pieces)
  assert.ok((await read(path, content.length)).equals(content))
})

test('a file with a flipped bit at any position is refused', async () => {
  const size = 2 * chunkBytes + 50
  const { path } = await encrypted(contentOf(size), 'p')
  const whole = await readFile(path)
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.nat({ max: headerBytes - 1 }), fc.nat({ max: whole.length - 1 })),
      fc.nat({ max: 7 }),
      async (at, bit) => {
        const changed = Buffer.from(whole)
        changed[at] = (changed[at] ?? 0) ^ (1 << bit)
        await writeFile(path, changed)
        await assert.rejects(read(path, size), { message: /./ })
      },
    ),
    { numRuns: 300 },
  )
})

test('a truncated or extended file, or one with swapped chunks, is refused', async () => {
  const sealed = chunkBytes + 16
  for (const size of [3 * chunkBytes, 3 * chunkBytes + 5, 5]) {
    const { path } = await encrypted(contentOf(size), 'p')
    const whole = await readFile(path)
    const chunk = (i: number) => whole.subarray(headerBytes + i * sealed, headerBytes + (i + 1) * sealed)
    const header = whole.subarray(0, headerBytes)
    const forgeries = [
      Buffer.alloc(0),
      whole.subarray(0, 10),
      header,
      whole.subarray(0, -1),
      whole.subarray(0, -20),
      Buffer.concat([whole, Buffer.alloc(1)]),
      Buffer.concat([whole, Buffer.alloc(100_000)]),
      Buffer.concat([whole, chunk(0)]),
      ...(size > chunkBytes
        ? [
            Buffer.concat([header, chunk(0)]),
            Buffer.concat([header, chunk(0), chunk(1)]),
            Buffer.concat([header, chunk(1), chunk(0), chunk(2), chunk(3)]),
            Buffer.concat([header, chunk(0), chunk(2), chunk(1), chunk(3)]),
            Buffer.concat([header, chunk(0), chunk(0), chunk(2), chunk(3)]),
          ]
        : []),
    ]
    for (const [i, forged] of forgeries.entries()) {
      await writeFile(path, forged)
      await assert.rejects(read(path, size), { message: /encrypted|header/ }, `forgery ${i} of ${size} bytes`)
    }
  }
})

test('a file truncated between two chunks is refused, also if its size is only known from the file', async () => {
  for (const chunks of [1, 2, 3]) {
    const { path } = await encrypted(contentOf(3.5 * chunkBytes), 'p')
    const cut = (await readFile(path)).subarray(0, headerBytes + chunks * (chunkBytes + 16))
    await writeFile(path, cut)
    await assert.rejects(read(path, plainSize(cut.length)), /does not open/)
  }
  assert.throws(() => plainSize(headerBytes), /cannot have/)
})

test('chunks, headers and files of another file, place or account are refused', async () => {
  const size = 2 * chunkBytes
  const [one, other] = [await encrypted(contentOf(size), 'p'), await encrypted(contentOf(size), 'p')]
  const [mine, foreign] = [await readFile(one.path), await readFile(other.path)]
  await assert.rejects(read(one.path, size, { place: 'q' }), /q: .* does not open/)
  await assert.rejects(read(one.path, size, { account: 'b' }), /does not open/)
  await assert.rejects(read(one.path, size, { with: makeFileCipher(seal, 'other') }), /does not open/)
  await assert.rejects(read(one.path, size - 1), /unexpected size/)
  for (const forged of [
    Buffer.concat([foreign.subarray(0, headerBytes), mine.subarray(headerBytes)]),
    Buffer.concat([mine.subarray(0, headerBytes + chunkBytes + 16), foreign.subarray(headerBytes + chunkBytes + 16)]),
  ]) {
    await writeFile(one.path, forged)
    await assert.rejects(read(one.path, size), /does not open/)
  }
})

test('the first chunk is checked before any output, and a later fault ends the stream after the last good chunk', async () => {
  const size = 6 * chunkBytes
  const content = contentOf(size)
  const { path } = await encrypted(content, 'p')
  const whole = await readFile(path)
  const at = headerBytes + 4 * (chunkBytes + 16) + 9
  whole[at] = (whole[at] ?? 0) ^ 1
  await writeFile(path, whole)
  const stream = await cipher.open((part) => openFile(path, part), { account: 'a', place: 'p', size })
  const got: Buffer[] = []
  await assert.rejects(
    (async () => {
      for await (const piece of stream) got.push(piece)
    })(),
    /does not open/,
  )
  assert.ok(Buffer.concat(got).equals(content.subarray(0, 4 * chunkBytes)))
  const late = cipher.open(
    (part) => openFile(path, part),
    { account: 'a', place: 'p', size },
    { start: 4 * chunkBytes, end: size - 1 },
  )
  await assert.rejects(late, /does not open/)
})

test('the error for a file of another master key names both keys', async () => {
  const { path } = await encrypted(contentOf(10), 'p')
  const other = makeFileCipher(makeSeal(randomBytes(32)), 'test')
  await assert.rejects(
    read(path, 10, { with: other }),
    /under another master key \([0-9a-f]{16}\) than that of this process/,
  )
})

test('a file that is replaced under another key during a read is read completely', async () => {
  const content = contentOf(chunkBytes + 1)
  const [one, other] = [await encrypted(content, 'p'), await encrypted(content, 'p')]
  let reads = 0
  // The first read returns the header of the first file, later reads return the second file.
  const stream = await cipher.open((span) => openFile(reads++ === 0 ? one.path : other.path, span), {
    ...{ account: 'a', place: 'p', size: content.length },
  })
  assert.ok((await buffer(stream)).equals(content))
})

test('a destroyed stream closes its file', async () => {
  const size = 50 * chunkBytes
  const { path } = await encrypted(contentOf(size), 'p')
  const sources: Readable[] = []
  const get = async (span: ByteRange) => {
    const source = await openFile(path, span)
    sources.push(source)
    return source
  }
  const stream = await cipher.open(get, { account: 'a', place: 'p', size })
  const closed = Promise.all(
    sources.map((source) => source.closed || new Promise((done) => source.once('close', done))),
  )
  stream.destroy()
  await closed
  assert.ok(sources.every(({ destroyed }) => destroyed))
})

test('the name of a file does not reveal its content, and differs between accounts', () => {
  const digest = randomBytes(32)
  const name = cipher.nameOf('a', digest)
  assert.equal(cipher.nameOf('a', digest), name)
  assert.notEqual(name, cipher.nameOf('b', digest))
  assert.notEqual(name, digest.toString('hex'))
})
