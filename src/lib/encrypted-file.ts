import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type LocalFile, localFile, type Span } from './files.ts'
import type { Seal } from './secret.ts'

// Format of a file that is encrypted at rest: a header of 80 bytes, then chunks. Numbers are big-endian.
//
//   0  magic "TRNKFILE"    10  chunk size in KiB        20  nonce of the wrapped key (12 bytes)
//   8  version             12  id of the master key     32  wrapped key of the file (32 bytes), its tag (16 bytes)
//
// The header holds a random key of the file, wrapped by AES-256-GCM under a key of the account. Its additional data are the
// first 20 bytes of the header and the place of the file: a file of another place does not open.
// Each chunk is 64 KiB of content under AES-256-GCM, with its tag. The nonce is the chunk's number and whether it is the last
// one (STREAM: Hoang, Reyhanitabar, Rogaway, Vizár 2015), so that chunks cannot be swapped, dropped or added.

const algorithm = 'aes-256-gcm'
const magic = Buffer.from('TRNKFILE')
const version = 1
const kibibytes = 64
export const chunkBytes = kibibytes * 1024
const tagBytes = 16
const sealedBytes = chunkBytes + tagBytes
export const headerBytes = 80
/** What the wrapping of the file's key authenticates of the header. */
const plainHeaderBytes = 20

/** The file cannot be opened: it was changed, cut off or exchanged, or it belongs to another master key. */
export class Unreadable extends Error {}

/** Bytes of content in an encrypted file of this size. @throws Unreadable when no encrypted file has this size */
export const plainSize = (size: number): number => {
  const sealed = size - headerBytes
  const plain = sealed - Math.ceil(sealed / sealedBytes) * tagBytes
  if (sealed < tagBytes || plain < 0) throw new Unreadable(`An encrypted file cannot have ${size} bytes`)
  return plain
}

const lastChunk = (size: number): number => Math.max(0, Math.ceil(size / chunkBytes) - 1)

const nonceOf = (index: number, isLast: boolean): Buffer => {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(index, 7)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

type Chunk = { readonly bytes: Buffer; readonly index: number; readonly isLast: boolean }

/** Cuts a stream into chunks. The bytes of one are valid until the next one is asked for. */
async function* chunked(source: AsyncIterable<Buffer>, size: number, first = 0): AsyncGenerator<Chunk> {
  const held = Buffer.allocUnsafe(size)
  let [length, index] = [0, first]
  for await (const piece of source)
    for (let at = 0; at < piece.length; ) {
      if (length === size) {
        yield { bytes: held, index: index++, isLast: false }
        length = 0
      }
      const copied = piece.copy(held, length, at)
      length += copied
      at += copied
    }
  yield { bytes: held.subarray(0, length), index, isLast: true }
}

const encryptChunk = (key: Buffer, { bytes, index, isLast }: Chunk): Buffer => {
  const cipher = createCipheriv(algorithm, key, nonceOf(index, isLast))
  return Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
}

const decryptChunk = (key: Buffer, bytes: Buffer, nonce: Buffer, more = Buffer.alloc(0)): Buffer => {
  try {
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(more)
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    const plain = decipher.update(bytes.subarray(0, -tagBytes))
    decipher.final()
    return plain
  } catch {
    throw new Unreadable('The encrypted file was changed, cut off or exchanged: it does not open')
  }
}

/** Encrypts one file. */
export type Encryption = {
  /** The encrypted file, with room for its header. */
  body(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer>
  /** Writes the header, once the body is on the disk; durable once it resolves. @param place where the file will be kept */
  finish(path: string, place: string): Promise<LocalFile>
}

/** A file that is to be read. `size` is that of its content. */
export type EncryptedFile = { readonly account: string; readonly place: string; readonly size: number }

/** Encrypts files of accounts, and opens them. */
export type FileCipher = {
  encrypt(account: string): Encryption
  /**
   * The content of a file, or a part of it. Reads the header and the chunks that are needed, and holds two chunks at most.
   * The first chunk has been checked once it resolves; a fault in a later one destroys the stream.
   * @param get reads bytes of the encrypted file
   * @throws Unreadable, and what `get` throws
   */
  open(get: (span: Span) => Promise<Readable>, file: EncryptedFile, span?: Span): Promise<Readable>
  /** A name for content of this digest, from which nobody without the key can tell the content. */
  nameOf(account: string, digest: Buffer): string
}

/** @param purpose separates the keys of one kind of file from those of another */
export const makeFileCipher = (seal: Seal, purpose: string): FileCipher => {
  const masterId = seal.derive('id of the master key').subarray(0, 8)
  const keyOf = (account: string) => seal.derive(`${purpose} of account ${account}`)

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
      throw new Unreadable('The file should be encrypted, and has no header of an encrypted file')
    if (header.readUInt16BE(8) !== version || header.readUInt16BE(10) !== kibibytes)
      throw new Unreadable('The file is encrypted in a form that this version does not know')
    const id = header.subarray(12, 20)
    if (!id.equals(masterId))
      throw new Unreadable(
        `The file was encrypted under another master key (${id.toString('hex')}) than that of this process (${masterId.toString('hex')}). Start with the key that it was encrypted under.`,
      )
    const plain = Buffer.concat([header.subarray(0, plainHeaderBytes), Buffer.from(place)])
    return decryptChunk(keyOf(account), header.subarray(32), header.subarray(plainHeaderBytes, 32), plain)
  }

  const decrypted = async function* (key: Buffer, source: Readable, size: number, first: number, end: number) {
    const last = lastChunk(size)
    for await (const { bytes, index, isLast } of chunked(source, sealedBytes, first)) {
      if (isLast !== (index === end))
        throw new Unreadable(`The encrypted file ${isLast ? 'ends too early' : 'is longer than it should be'}`)
      const plain = decryptChunk(key, bytes, nonceOf(index, index === last))
      if (index === last && plain.length !== size - last * chunkBytes)
        throw new Unreadable('The encrypted file has another size than it should have')
      yield { plain, at: index * chunkBytes }
    }
  }

  const attempt = async (
    get: Parameters<FileCipher['open']>[0],
    file: EncryptedFile,
    header: Buffer,
    span: Span | undefined,
  ): Promise<Readable> => {
    const { size } = file
    const key = unwrap(file, header)
    const { start, end } = span ?? { start: 0, end: Math.max(0, size - 1) }
    const [from, to] = [Math.floor(start / chunkBytes), Math.floor(end / chunkBytes)]
    // One byte more than the chunks have, after the last one: a longer file is found out.
    const source = await get({
      start: headerBytes + from * sealedBytes,
      end: headerBytes + (to + 1) * sealedBytes - (to === lastChunk(size) ? 0 : 1),
    })
    const chunks = decrypted(key, source, size, from, to)
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
    nameOf: (account, digest) => createHmac('sha256', keyOf(account)).update(digest).digest('hex'),
    encrypt: (account) => {
      const fileKey = randomBytes(32)
      return {
        body: async function* (source) {
          yield Buffer.alloc(headerBytes)
          for await (const chunk of chunked(source, chunkBytes)) yield encryptChunk(fileKey, chunk)
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
          // The same content was stored again, under another key, between the header and its chunks.
          if (!(error instanceof Unreadable)) throw error
          if (before?.equals(header)) throw new Unreadable(`${file.place}: ${error.message}`)
          before = header
        }
      }
    },
  }
}
