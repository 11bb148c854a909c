import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { makeRandom, mutate } from '@trunkline/sip/testing.ts'
import { testDatabase } from '../../../test/database.ts'
import { mostMs, SlowestInput } from '../../../test/fuzz/slowest-input.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { UnreadableFile } from '../../platform/lib/chunk-cipher.ts'
import { load, type Part, partsOf, tarOf, writeChecksum } from './archive-testing.ts'
import { BadBackup } from './format/envelope.ts'
import { parseManifest, parseSummary } from './format/manifest.ts'
import { readPlainBackup } from './format/read-backup.ts'
import { backups } from './ops.ts'
import { makeInstallation, passphrase, runControl } from './testing.ts'

// Backups with damaged manifests, entries and sizes: each is read, or refused with an error for the user.
//
//   TRUNKLINE_FUZZ_SEED    another seed than 1; the long form takes a new one each time
//   TRUNKLINE_FUZZ_SHARE   the share of the long form to run: 1 is 200,000 texts, 100,000 archives and 3,000 loads

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const share = Number(process.env.TRUNKLINE_FUZZ_SHARE ?? 1)
const seed = Number(process.env.TRUNKLINE_FUZZ_SEED ?? (long ? randomInt(2 ** 31) : 1))
const rounds = (most: number, short: number): number => Math.ceil(long ? most * share : short)

type Random = (below: number) => number

const { settings, db, file } = await makeInstallation()
// Small, as it is read often.
await db.raw('delete from document_parts; delete from documents; delete from msgapp_media')
rmSync(join(settings.home, 'media'), { recursive: true })
await backups.create(settings, file, passphrase, '1.2.3', runControl())
const parts = await partsOf(file)
const bytesOf = (name: string): Buffer => parts.find((part) => part.name === name)?.bytes ?? assert.fail(name)

const folder = temporaryFolder()
// PostgreSQL runs as another account where root runs the tests.
chmodSync(folder, 0o777)
const mark = join(folder, 'mark')

/** Values of another kind than a manifest has, and texts that SQL, a path or a terminal would take for more. */
const odd: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e300, 2 ** 53, '', [], {}, [[]], [null], { length: 1 }],
  ...['__proto__', 'constructor', 'toString', 'accounts', 'pg_authid', 'pg_catalog.pg_class', 'ctid', 'id', '"id"'],
  ...[`accounts from program 'touch ${mark}' --`, `a"; copy accounts from program 'touch ${mark}'; --`],
  ...[`00000000-0000-0000-0000-000000000000'::uuid; copy accounts from program 'touch ${mark}'; --`],
  ...[
    '../../etc/passwd',
    '/etc/passwd',
    'a\\u0000b',
    '\\u001b[2J',
    'x'.repeat(100_000),
    '9'.repeat(400),
    '1e400',
    'NaN',
  ],
]

/** Every place of a parsed JSON text: the value that holds it, and its key. */
const placesOf = (value: unknown): [Record<string, unknown>, string][] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([key, inner]): [Record<string, unknown>, string][] => [
        // An array is changed by its indexes too.
        [value as Record<string, unknown>, key],
        ...placesOf(inner),
      ])

/** Changes values, removes, repeats and exchanges them. */
const mutateJson = (random: Random, bytes: Buffer): Buffer => {
  const value: unknown = JSON.parse(bytes.toString())
  for (let left = 1 + random(3); left > 0; left--) {
    const places = placesOf(value)
    const [[holder, key], [other, its]] = [places[random(places.length)], places[random(places.length)]] as [
      [Record<string, unknown>, string],
      [Record<string, unknown>, string],
    ]
    const kind = random(6)
    if (kind < 3) holder[key] = structuredClone(odd[random(odd.length)])
    else if (kind === 3) holder[key] = structuredClone(other[its])
    else if (kind === 4 && Array.isArray(holder)) holder.push(structuredClone(holder[Number(key)]))
    else if (kind === 4) holder[String(odd[random(odd.length)])] = structuredClone(holder[key])
    else if (Array.isArray(holder)) holder.splice(Number(key), 1)
    else delete holder[key]
  }
  return Buffer.from(JSON.stringify(value))
}

const names = [
  '../out',
  '/etc/out',
  'media/out',
  'keys/other',
  'database/accounts/1',
  'database/pg_class/000001',
  'x'.repeat(300),
]
const types = ['symlink', 'link', 'directory', 'fifo', 'character-device', 'pax-header', 'gnu-long-path'] as const

/** Changes an entry, or the order of entries. */
const mutateParts = (random: Random): Part[] => {
  const changed = [...parts]
  for (let left = 1 + random(2); left > 0; left--) {
    const at = random(changed.length)
    const part = changed[at]
    if (!part) break
    const other = parts[random(parts.length)] ?? part
    const type = types[random(types.length)] ?? 'symlink'
    const by = [
      () => [{ ...part, name: names[random(names.length)] ?? '' }],
      () => [{ ...part, name: other.name }],
      () => [{ ...part, bytes: mutate(random, [part.bytes.subarray(0, 4_000), other.bytes.subarray(0, 400)]) }],
      () => [part, other],
      () => [],
      () => [
        part,
        { name: names[random(names.length)] ?? '', bytes: Buffer.alloc(0), header: { type, linkname: '/etc' } },
      ],
      () => [
        part.name.endsWith('.json') ? { ...part, bytes: mutateJson(random, part.bytes) } : { ...part, isListed: false },
      ],
    ][random(7)]
    changed.splice(at, 1, ...(by?.() ?? [part]))
  }
  return changed
}

/** Changes bytes of a header: name, size, type, format. The checksum is right, or nothing else would be read. */
const mutateTar = (random: Random, tar: Buffer): Buffer => {
  const headers = []
  for (let at = 0; at + 512 <= tar.length; ) {
    const size = Number.parseInt(tar.toString('latin1', at + 124, at + 135), 8)
    if (Number.isNaN(size)) break
    headers.push(at)
    at += 512 + Math.ceil(size / 512) * 512
  }
  const changed = Buffer.from(tar)
  const header = changed.subarray(headers[random(headers.length)]).subarray(0, 512)
  const [start, length] = [
    [0, 100],
    [124, 12],
    [124, 12],
    [156, 2],
    [257, 8],
    [345, 155],
  ][random(6)] ?? [0, 512]
  for (let left = 1 + random(3); left > 0; left--)
    header[(start ?? 0) + random(length ?? 1)] = random(3) === 0 ? random(256) : 0x30 + random(8)
  writeChecksum(header)
  if (random(4) === 0) return changed.subarray(0, random(changed.length))
  return random(8) === 0 ? Buffer.concat([changed, mutate(random, [changed.subarray(0, 2_000)])]) : changed
}

/** An error for the user: its text is printable, and holds no more than one name. */
const isRefusal = (error: unknown): boolean =>
  (error instanceof BadBackup || error instanceof UnreadableFile) &&
  error.message.length < 1_000 &&
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal would obey them
  !/[\u0000-\u001f\u007f-\u009f]/.test(error.message)

type Fuzz = {
  readonly name: string
  readonly count: number
  readonly first: Buffer
  readonly input: (random: Random) => Buffer | Promise<Buffer>
  readonly read: (input: Buffer) => unknown
  readonly isMeasured?: boolean
}

/** Runs inputs, and counts the sound ones. A failure names the seed and the round. */
const fuzz = async ({ name, count, first, input, read, isMeasured = true }: Fuzz): Promise<string> => {
  const random = makeRandom(seed)
  const worst = new SlowestInput(name)
  let sound = 0
  // The first input is sound: a reader that refuses everything has tested nothing.
  await read(first)
  for (let round = 0; round < count; round++) {
    const bytes = await input(random)
    let isSound = false
    const run = async () => {
      try {
        await read(bytes)
        isSound = true
      } catch (error) {
        if (!isRefusal(error)) throw new Error(`round ${round} of the seed ${seed}`, { cause: error })
      }
    }
    // Measuring repeats a slow input.
    if (isMeasured) await worst.runAsync(run)
    else await run()
    if (isSound) sound += 1
    assert.ok(!existsSync(mark), `round ${round} of the seed ${seed} ran a command`)
  }
  assert.ok(sound < count, `all ${count} were sound`)
  assert.ok(worst.ms < mostMs, `${worst}`)
  return `${isMeasured ? worst : `${name}: ${count} inputs`}, ${sound} were sound`
}

for (const [name, parse] of [
  ['manifest.json', parseManifest],
  ['summary.json', parseSummary],
] as const)
  test(`damaged forms of ${name} are parsed or refused (TRUNKLINE_FUZZ_SEED=${seed})`, async (t) => {
    const first = bytesOf(name)
    const input = (random: Random) => (random(2) ? mutateJson(random, first) : mutate(random, [first]))
    t.diagnostic(await fuzz({ name, count: rounds(100_000, 50), first, input, read: parse }))
  })

const whole = await tarOf(parts)
/** A damaged tar file. */
const archive = async (random: Random): Promise<Buffer> =>
  random(3) === 0 ? mutateTar(random, whole) : tarOf(mutateParts(random))

test(`damaged archives are read or refused (TRUNKLINE_FUZZ_SEED=${seed})`, async (t) => {
  const nothing = { begin: async () => {}, entry: async () => {} }
  const input = async (random: Random) => zstdCompressSync(await archive(random))
  const read = (bytes: Buffer) => readPlainBackup(Readable.from([bytes]), nothing)
  const first = zstdCompressSync(whole)
  t.diagnostic(await fuzz({ name: 'archives', count: rounds(100_000, 30), first, input, read }))
})

test(`damaged backups are loaded into a database or refused, and run no command (TRUNKLINE_FUZZ_SEED=${seed})`, async (t) => {
  const target = await testDatabase()
  const read = (bytes: Buffer) => load(target.url, bytes)
  const about = { name: 'loads', count: rounds(3_000, 4), first: whole, isMeasured: false }
  t.diagnostic(await fuzz({ ...about, input: archive, read }))
})
