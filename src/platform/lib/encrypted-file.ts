import { createCipheriv, createHmac, randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import {
  algorithm,
  chunkBytes,
  chunked,
  decryptChunk,
  encryptChunks,
  nonceOf,
  sealedBytes,
  tagBytes,
  UnreadableFile,
} from './chunk-cipher.ts'
import { type ByteRange, type LocalFile, localFile } from './file-store.ts'
import type { Seal } from './secret.ts'

// Format of an encrypted file: a header of 80 bytes, then chunks. Numbers are big-endian.
//
//   0  magic "TRNKFILE"    10  chunk size in KiB        20  nonce of the wrapped key (12 bytes)
//   8  version             12  id of the master key     32  wrapped key of the file (32 bytes), its tag (16 bytes)
//
// The header holds a random key of the file, wrapped by AES-256-GCM under a key of the account. The additional data are
// the first 20 bytes of the header and the place of the file: a file that was moved to another place does not open.
// The chunks are those of chunk-cipher.ts.

const magic = Buffer.from('TRNKFILE')
const version = 1
const kibibytes = chunkBytes / 1024
export const headerBytes = 80
/** Bytes of the header that the wrapping of the file's key authenticates. */
const plainHeaderBytes = 20

/** Returns the size of the content of an encrypted file. @throws UnreadableFile if no encrypted file has this size */
export const plainSize = (size: number): number => {
  const sealed = size - headerBytes
  const plain = sealed - Math.ceil(sealed / sealedBytes) * tagBytes
  if (sealed < tagBytes || plain < 0) throw new UnreadableFile(`An encrypted file cannot have ${size} bytes`)
  return plain
}

const lastChunk = (size: number): number => Math.max(0, Math.ceil(size / chunkBytes) - 1)

/** Encrypts one file. */
export type Encryption = {
  /** Yields the encrypted file, with zeros in place of the header. */
  body(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer>
  /** Writes the header after the body is on disk; durable once it resolves. @param place of the file in its store */
  finish(path: string, place: string): Promise<LocalFile>
}

/** A file to read. `size` is that of its content. */
export type EncryptedFile = { readonly account: string; readonly place: string; readonly size: number }

/** Encrypts and decrypts files of accounts. */
export type FileCipher = {
  encrypt(account: string): Encryption
  /**
   * Returns the content of a file, or a part of it. Reads the header and the required chunks only, and holds at most
   * two chunks. The first chunk is verified when the promise resolves; a fault in a later one destroys the stream.
   * @param get reads bytes of the encrypted file
   * @throws UnreadableFile, and errors of `get`
   */
  open(get: (span: ByteRange) => Promise<Readable>, file: EncryptedFile, span?: ByteRange): Promise<Readable>
  /** Returns a name for content of this digest, which reveals nothing without the key. */
  nameOf(account: string, digest: Buffer): string
  /** Returns the names under each former master key. */
  formerNamesOf(account: string, digest: Buffer): string[]
}

/** Yields the decrypted chunks from `first` to `end` of a file. `size` is that of its content. */
async function* decryptedChunks(key: Buffer, source: Readable, size: number, first: number, end: number) {
  const last = lastChunk(size)
  for await (const { bytes, index, isLast } of chunked(source, sealedBytes, first)) {
    if (isLast !== (index === end))
      throw new UnreadableFile(`The encrypted file ${isLast ? 'ends too early' : 'is longer than expected'}`)
    const plain = decryptChunk(key, bytes, nonceOf(index, index === last))
    if (index === last && plain.length !== size - last * chunkBytes)
      throw new UnreadableFile('The encrypted file has an unexpected size')
    yield { plain, at: index * chunkBytes }
  }
}

/** @param purpose separates the keys of different kinds of files */
export const makeFileCipher = (seal: Seal, purpose: string): FileCipher => {
  const idOf = (key: Seal) => key.derive('id of the master key').subarray(0, 8)
  const masterId = idOf(seal)
  /** Seals with the ids of their keys: each opens files, the current one encrypts them. */
  const seals = [seal, ...seal.former].map((seal) => ({ seal, id: idOf(seal) }))
  const keyOf = (account: string, under = seal) => under.derive(`${purpose} of account ${account}`)
  const nameUnder = (account: string, digest: Buffer, under: Seal) =>
    createHmac('sha256', keyOf(account, under)).update(digest).digest('hex')

  const wrap = (account: string, place: string, fileKey: Buffer): Buffer => {
    const plain = Buffer.alloc(plainHeaderBytes)
    magic.copy(plain)
    plain.writeUInt16BE(version, 8)
    plain.writeUInt16BE(kibibytes, 10)
    masterId.copy(plain, 12)
    const nonce = randomBytes(12)
    const cipher = createCipheriv(algorithm, keyOf(account), nonce).setAAD(Buffer.concat([plain, Buffer.from(place)]))
    return Buffer.concat([plain, nonce, cipher.update(fileKey), cipher.final(), cipher.getAuthTag()])
  }

  const unwrap = ({ account, place }: EncryptedFile, header: Buffer): Buffer => {
    if (header.length !== headerBytes || !header.subarray(0, 8).equals(magic))
      throw new UnreadableFile('The file should be encrypted, but has no header of an encrypted file')
    if (header.readUInt16BE(8) !== version || header.readUInt16BE(10) !== kibibytes)
      throw new UnreadableFile('The file is encrypted in a format that this version does not support')
    const id = header.subarray(12, 20)
    const known = seals.find((each) => id.equals(each.id))
    if (!known)
      throw new UnreadableFile(
        `The file was encrypted under another master key (${id.toString('hex')}) than that of this process (${masterId.toString('hex')}). Start with the key that it was encrypted under.`,
      )
    const plain = Buffer.concat([header.subarray(0, plainHeaderBytes), Buffer.from(place)])
    return decryptChunk(keyOf(account, known.seal), header.subarray(32), header.subarray(plainHeaderBytes, 32), plain)
  }

  const attempt = async (
    get: Parameters<FileCipher['open']>[0],
    file: EncryptedFile,
    header: Buffer,
    span: ByteRange | undefined,
  ): Promise<Readable> => {
    const { size } = file
    const key = unwrap(file, header)
    const { start, end } = span ?? { start: 0, end: Math.max(0, size - 1) }
    const [from, to] = [Math.floor(start / chunkBytes), Math.floor(end / chunkBytes)]
    // Requests one byte after the last chunk, to detect a longer file.
    const source = await get({
      start: headerBytes + from * sealedBytes,
      end: headerBytes + (to + 1) * sealedBytes - (to === lastChunk(size) ? 0 : 1),
    })
    const chunks = decryptedChunks(key, source, size, from, to)
    const first = await chunks.next()
    const parts = async function* () {
      for (let next = first; !next.done; next = await chunks.next()) {
        const { plain, at } = next.value
        const part = plain.subarray(Math.max(0, start - at), Math.max(0, end + 1 - at))
        if (part.length > 0) yield part
      }
    }
    return Readable.from(parts(), { objectMode: false }).once('close', () => source.destroy())
  }

  return {
    nameOf: (account, digest) => nameUnder(account, digest, seal),
    formerNamesOf: (account, digest) => seal.former.map((one) => nameUnder(account, digest, one)),
    encrypt: (account) => {
      const fileKey = randomBytes(32)
      return {
        body: async function* (source) {
          yield Buffer.alloc(headerBytes)
          yield* encryptChunks(fileKey, source)
        },
        finish: async (path, place) => {
          const file = await open(path, 'r+')
          try {
            await file.write(wrap(account, place, fileKey), 0, headerBytes, 0)
            await file.sync()
          } finally {
            await file.close()
          }
          return localFile(path)
        },
      }
    },
    open: async (get, file, span) => {
      for (let before: Buffer | null = null; ; ) {
        const header = await buffer(await get({ start: 0, end: headerBytes - 1 }))
        try {
          return await attempt(get, file, header, span)
        } catch (error) {
          // The content may have been stored again under another key between the reads of header and chunks: retry.
          if (!(error instanceof UnreadableFile)) throw error
          if (before?.equals(header)) throw new UnreadableFile(`${file.place}: ${error.message}`)
          before = header
        }
      }
    },
  }
}

/** Encrypts and opens files of messages. */
export const mediaCipher = (seal: Seal): FileCipher => makeFileCipher(seal, 'files of messages')

/** Encrypts and opens recordings of calls. */
export const recordingCipher = (seal: Seal): FileCipher => makeFileCipher(seal, 'recordings')
