import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import { extract, pack } from 'tar-stream'
import { UnreadableFile } from '../../../platform/lib/chunk-cipher.ts'
import { syncToDisk } from '../../../platform/lib/file-store.ts'
import { digestsPerList } from '../limits.ts'
import { digestsFolder, type EntryKind, kindOf, shown } from './entry-name.ts'
import { BadBackup, makeEncryption, openEnvelope } from './envelope.ts'
import { checkTar } from './tar-check.ts'

// Inside the encryption a backup is a tar file, compressed with zstd. After each 1,000 entries, and at the end, an
// entry `digests/…` lists their SHA-256 in the format of sha256sum.

/** Writes the entries of a backup sequentially. */
export type Writer = {
  add(name: string, bytes: Buffer): Promise<void>
  /** @param source yields exactly `size` bytes */
  addStream(name: string, size: number, source: AsyncIterable<Buffer>): Promise<void>
}

const lineOf = (digest: Buffer, name: string): string => `${digest.toString('hex')}  ${name}\n`

async function* hashed(source: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for await (const part of source) {
    hash.update(part)
    yield part
  }
}

/** Passes on a body. A fault of the file ends the tar stream without its reason, which `feeding` has. */
async function* withReason(body: AsyncIterable<Buffer>, feeding: Promise<void>): AsyncGenerator<Buffer> {
  try {
    yield* body
  } catch (error) {
    await feeding
    throw error
  }
}

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

/**
 * Writes a backup to a new file, durable once the promise resolves.
 * @param fill adds the entries
 * @returns the result of `fill`
 */
export const writeArchive = async <Result>(
  path: string,
  passphrase: string,
  signal: AbortSignal,
  fill: (writer: Writer) => Promise<Result>,
  scryptLog?: number,
): Promise<Result> => {
  const encrypt = await makeEncryption(passphrase, scryptLog)
  const tar = pack()
  const output = createWriteStream(path, { flags: 'wx', mode: 0o600 })
  const writing = pipeline(Readable.from(tar), createZstdCompress(), encrypt, output, { signal })
  const broken = writing.then(
    () => new Promise<never>(() => {}),
    (error: unknown) => {
      throw error
    },
  )
  broken.catch(() => {})

  const put = async (name: string, size: number, source: AsyncIterable<Buffer>): Promise<Buffer> => {
    const hash = createHash('sha256')
    const sink = tar.entry({ name, size, mode: 0o600, mtime: new Date() })
    await Promise.race([pipeline(hashed(source, hash), sink, { signal }), broken])
    return hash.digest()
  }

  let lines: string[] = []
  let lists = 0
  const listDigests = async (): Promise<void> => {
    if (lines.length === 0) return
    const text = Buffer.from(lines.join(''))
    lines = []
    lists += 1
    await put(`${digestsFolder}${String(lists).padStart(6, '0')}`, text.length, one(text))
  }
  const addStream: Writer['addStream'] = async (name, size, source) => {
    lines.push(lineOf(await put(name, size, source), name))
    if (lines.length === digestsPerList) await listDigests()
  }
  try {
    const result = await fill({ addStream, add: (name, bytes) => addStream(name, bytes.length, one(bytes)) })
    await listDigests()
    tar.finalize()
    await writing
    await syncToDisk(path)
    return result
  } catch (error) {
    tar.destroy()
    await writing.catch(() => {})
    throw error
  }
}

/** An entry of a backup. Its body may be read once, before the next entry is requested. */
export type Entry = {
  readonly name: string
  readonly kind: EntryKind
  readonly size: number
  readonly body: AsyncIterable<Buffer>
}

/** Decompresses a backup to a plain tar file. @throws BadBackup when it holds anything but entries of a backup */
const feedTar = (plain: AsyncIterable<Buffer>, to: NodeJS.WritableStream, signal?: AbortSignal): Promise<void> =>
  pipeline(Readable.from(plain), createZstdDecompress(), checkTar, to, signal ? { signal } : {})

/** Opens a backup as a plain tar file. @throws BadBackup; the stream throws BadBackup and Unreadable */
export const openTar = async (path: string, passphrase: string) => {
  const plain = await openEnvelope(path, passphrase)
  return (to: NodeJS.WritableStream, signal?: AbortSignal) => feedTar(plain, to, signal)
}

/**
 * Yields the entries of a decrypted backup, each compared with its digest after it was read.
 * @throws BadBackup for entries that no version writes, Unreadable if the content differs from its digests
 */
export async function* readEntries(plain: AsyncIterable<Buffer>): AsyncGenerator<Entry> {
  const tar = extract()
  const feeding = feedTar(plain, tar)
  feeding.catch(() => {})
  let lines: string[] = []
  try {
    for await (const entry of tar) {
      const { name, size = 0 } = entry.header
      const kind = kindOf(name)
      if (!kind) throw new BadBackup(`The backup has an entry ${shown(name)} with a name that no version gives.`)
      if (kind.kind === 'digests') {
        if (lines.length === 0 || (await text(entry)) !== lines.join(''))
          throw new UnreadableFile(`The digests of ${name} are not those of its entries`)
        lines = []
        continue
      }
      if (lines.length === digestsPerList)
        throw new BadBackup(`The backup has more than ${digestsPerList} entries without their digests.`)
      const hash = createHash('sha256')
      const body = withReason(hashed(entry, hash), feeding)
      yield { name, kind, size, body }
      for await (const _ of body) void _
      lines.push(lineOf(hash.digest(), name))
    }
  } catch (error) {
    // The reason of the tar file's end is more informative.
    if (!(error instanceof UnreadableFile || error instanceof BadBackup)) await feeding
    throw error
  } finally {
    tar.destroy()
  }
  await feeding
  if (lines.length > 0) throw new UnreadableFile('The backup has no digests at its end')
}

/** Yields the entries of a backup. @throws BadBackup for another file or passphrase, Unreadable if it was changed */
export async function* readArchive(path: string, passphrase: string): AsyncGenerator<Entry> {
  yield* readEntries(await openEnvelope(path, passphrase))
}
