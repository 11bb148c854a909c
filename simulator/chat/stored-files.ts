import { createHash } from 'node:crypto'
import type { ReadStream } from 'node:fs'
import {
  closeSync,
  createReadStream,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/** Maximum bytes of one file, and of all stored files. */
const maxFileBytes = 33_554_432
const maxTotalBytes = 268_435_456

const downloadTimeoutMs = 10_000

export type StoredFile = { readonly id: string; readonly mimeType: string; readonly size: number }

/** Reads a whole stream. @throws Error beyond the maximum */
const readAll = async (stream: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of stream) {
    size += part.length
    if (size > maxFileBytes) throw new Error('the file is too long')
    parts.push(part)
  }
  return Buffer.concat(parts)
}

const mimeOf = (header: string | null | undefined): string =>
  header?.split(';')[0]?.trim() || 'application/octet-stream'

/** Downloads one of the platform's own links. @throws Error on an error status or an oversized file */
const download = async (url: string): Promise<{ body: Buffer; mimeType: string }> => {
  const response = await fetch(url, { signal: AbortSignal.timeout(downloadTimeoutMs), redirect: 'error' })
  if (!response.ok || !response.body) throw new Error(`the address answered ${response.status}`)
  return { body: await readAll(response.body), mimeType: mimeOf(response.headers.get('content-type')) }
}

const digestOf = (body: Buffer): string => createHash('sha256').update(body).digest('hex')

/** Files of handsets by SHA-256; the newest 256 MiB are stored. */
export class StoredFiles {
  private readonly folder: string

  constructor(home: string) {
    this.folder = join(home, 'chat-files')
    mkdirSync(this.folder, { recursive: true })
  }

  /** Stores a file from the platform. @throws Error when it is too large or aborted */
  async receive(stream: AsyncIterable<Uint8Array>, type: string | undefined): Promise<StoredFile> {
    const body = await readAll(stream)
    return { id: this.store(body), mimeType: mimeOf(type), size: body.length }
  }

  /** Downloads and stores the file at a platform link. */
  async fetch(url: string): Promise<StoredFile> {
    const { body, mimeType } = await download(url)
    return { id: this.store(body), mimeType, size: body.length }
  }

  /** SHA-256 of the file at a platform link; null when the download fails. */
  async digest(url: string): Promise<string | null> {
    try {
      return digestOf((await download(url)).body)
    } catch {
      return null
    }
  }

  store(body: Buffer): string {
    const id = digestOf(body)
    writeFileSync(join(this.folder, id), body)
    this.deleteOldest()
    return id
  }

  /** A chunk, and whether it is the last one; null for a file that is no longer stored. */
  piece(id: string, offset: number, length: number): { piece: Buffer; end: boolean } | null {
    const path = this.path(id)
    if (!path) return null
    const file = openSync(path, 'r')
    try {
      const piece = Buffer.alloc(length)
      const read = readSync(file, piece, 0, length, offset)
      return { piece: piece.subarray(0, read), end: offset + read >= statSync(path).size }
    } finally {
      closeSync(file)
    }
  }

  open(id: string): ReadStream | null {
    const path = this.path(id)
    return path ? createReadStream(path) : null
  }

  has(id: string): boolean {
    return this.path(id) !== null
  }

  private path(id: string): string | null {
    const path = /^[0-9a-f]{64}$/.test(id) ? join(this.folder, id) : null
    return path && statSync(path, { throwIfNoEntry: false }) ? path : null
  }

  private deleteOldest(): void {
    const files = readdirSync(this.folder).map((name) => {
      const path = join(this.folder, name)
      const { size, mtimeMs } = statSync(path)
      return { path, size, mtimeMs }
    })
    let storedBytes = files.reduce((sum, { size }) => sum + size, 0)
    for (const { path, size } of files.sort((a, b) => a.mtimeMs - b.mtimeMs)) {
      if (storedBytes <= maxTotalBytes) return
      unlinkSync(path)
      storedBytes -= size
    }
  }
}
