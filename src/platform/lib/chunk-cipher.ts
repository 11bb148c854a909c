import { createCipheriv, createDecipheriv } from 'node:crypto'

// Chunks of 64 KiB of content under AES-256-GCM, each with its tag. The nonce consists of the chunk's number and a flag
// for the last chunk, so that chunks cannot be swapped, dropped or added (STREAM: Hoang, Reyhanitabar, Rogaway, Vizár
// 2015).

export const algorithm = 'aes-256-gcm'
export const chunkBytes = 65_536
export const tagBytes = 16
/** Bytes of an encrypted chunk. */
export const sealedBytes = chunkBytes + tagBytes

/** The file cannot be decrypted: it was changed, truncated or exchanged, or belongs to another master key. */
export class UnreadableFile extends Error {}

export const nonceOf = (index: number, isLast: boolean): Buffer => {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(index, 7)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

type Chunk = { readonly bytes: Buffer; readonly index: number; readonly isLast: boolean }

/** Splits a stream into chunks. The bytes of a chunk are valid until the next one is read. */
export async function* chunked(source: AsyncIterable<Buffer>, size: number, first = 0): AsyncGenerator<Chunk> {
  const chunk = Buffer.allocUnsafe(size)
  let [length, index] = [0, first]
  for await (const piece of source)
    for (let at = 0; at < piece.length; ) {
      if (length === size) {
        yield { bytes: chunk, index: index++, isLast: false }
        length = 0
      }
      const copied = piece.copy(chunk, length, at)
      length += copied
      at += copied
    }
  yield { bytes: chunk.subarray(0, length), index, isLast: true }
}

export const encryptChunk = (key: Buffer, { bytes, index, isLast }: Chunk): Buffer => {
  const cipher = createCipheriv(algorithm, key, nonceOf(index, isLast))
  return Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
}

export const decryptChunk = (key: Buffer, bytes: Buffer, nonce: Buffer, more = Buffer.alloc(0)): Buffer => {
  try {
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(more)
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    const plain = decipher.update(bytes.subarray(0, -tagBytes))
    decipher.final()
    return plain
  } catch {
    throw new UnreadableFile('The encrypted file was changed, cut off or exchanged: it does not open')
  }
}

/** Encrypts a stream of any length. The key must encrypt nothing else. */
export async function* encryptChunks(key: Buffer, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunked(source, chunkBytes)) yield encryptChunk(key, chunk)
}

/** Decrypts the output of `encryptChunks`. @throws UnreadableFile */
export async function* decryptChunks(key: Buffer, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const { bytes, index, isLast } of chunked(source, sealedBytes))
    yield decryptChunk(key, bytes, nonceOf(index, isLast))
}
