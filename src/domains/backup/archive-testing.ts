import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress, zstdCompressSync } from 'node:zlib'
import { extract, type Headers, pack } from 'tar-stream'
import { makeEncryption, openEnvelope } from './format/envelope.ts'
import { readPlainBackup } from './format/read-backup.ts'
import { digestsPerList } from './limits.ts'
import { makeDatabaseLoad } from './restore/database-load.ts'
import { passphrase } from './testing.ts'

// Crafted backups: their author knows the passphrase, and every digest in them is right.

/** An entry, the fields of its tar header that differ from those of a file, and whether its digest is listed. */
export type Part = {
  readonly name: string
  readonly bytes: Buffer
  readonly header?: Partial<Headers>
  readonly isListed?: boolean
}

/** Reads the entries of a backup, without its digests. */
export const partsOf = async (file: string): Promise<Part[]> => {
  const tar = extract()
  const feeding = pipeline(Readable.from(await openEnvelope(file, passphrase)), createZstdDecompress(), tar)
  const parts: Part[] = []
  for await (const entry of tar) parts.push({ name: entry.header.name, bytes: await buffer(entry) })
  await feeding
  return parts.filter(({ name }) => !name.startsWith('digests/'))
}

/** Returns the tar file of entries, with the digests that a writer adds. */
export const tarOf = async (parts: readonly Part[]): Promise<Buffer> => {
  const tar = pack()
  const whole = buffer(tar)
  let [lines, lists]: [string[], number] = [[], 0]
  const list = () => {
    const text = lines.join('')
    if (text !== '') tar.entry({ name: `digests/${String(++lists).padStart(6, '0')}` }, text)
    lines = []
  }
  for (const { name, bytes, header, isListed = true } of parts) {
    // Entries of other types have no content.
    const isFile = (header?.type ?? 'file') === 'file'
    tar.entry({ name, mode: 0o600, ...header }, isFile ? bytes : Buffer.alloc(0))
    if (isListed) lines.push(`${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`)
    if (lines.length === digestsPerList) list()
  }
  list()
  tar.finalize()
  return whole
}

/** Writes the checksum of a tar header into it (POSIX.1-2024, pax: ustar). */
export const writeChecksum = (header: Buffer): void => {
  header.write('        ', 148, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(sum.toString(8).padStart(6, '0'), 148, 'latin1')
}

/** Compresses and encrypts a tar file as a backup. */
export const seal = async (file: string, tar: Buffer | AsyncIterable<Buffer>): Promise<void> => {
  const source = Buffer.isBuffer(tar) ? Readable.from([tar]) : Readable.from(tar)
  await pipeline(source, createZstdCompress(), await makeEncryption(passphrase, 14), createWriteStream(file))
}

/** Compresses a tar file, as it is inside the encryption. */
export const compressed = (tar: Buffer): AsyncIterable<Buffer> => Readable.from([zstdCompressSync(tar)])

/** Replaces a text in an entry, which must have it. */
export const replaceIn = (parts: readonly Part[], name: string, text: string | RegExp, by: string): Part[] =>
  parts.map((part) => {
    if (part.name !== name) return part
    const before = part.bytes.toString()
    const after = before.replace(text, () => by)
    assert.notEqual(after, before, `${name} has no ${text}`)
    return { name, bytes: Buffer.from(after) }
  })

/** Reads entries as a restore does, into a database that has the schema. Rolls back what is not a sound backup. */
export const load = async (url: string, tar: Buffer): Promise<void> => {
  const loading = makeDatabaseLoad(url, () => {})
  try {
    const { summary } = await readPlainBackup(compressed(tar), {
      begin: (manifest) => loading.begin(manifest),
      entry: async (entry) => void (await loading.entry(entry)),
    })
    await loading.commit(summary)
  } finally {
    await loading.close()
  }
}
