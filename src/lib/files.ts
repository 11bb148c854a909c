import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'

/** Bytes of a file from one to another, both included. */
export type Span = { readonly start: number; readonly end: number }

/** A file of this machine. `digest` is its SHA-256. */
export type LocalFile = { readonly path: string; readonly size: number; readonly digest: Buffer }

/** Reads a whole file for its size and digest. */
export const localFile = async (path: string): Promise<LocalFile> => {
  const hash = createHash('sha256')
  let size = 0
  for await (const piece of createReadStream(path)) {
    size += piece.length
    hash.update(piece)
  }
  return { path, size, digest: hash.digest() }
}

export const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Where files are kept, under keys such as `<account>/ab/<digest>`. */
export type Place = {
  /** Keeps a file: durable once it resolves. It may be moved there, or stay where it was. What is there under the key is the same. */
  put(key: string, file: LocalFile, mime: string, signal?: AbortSignal): Promise<void>
  /** @throws Missing when it is not there, Error when nobody can tell */
  get(key: string, span?: Span): Promise<Readable>
  /** Takes the file away, for good once it resolves; what is not there is no error. It takes 20 s at most. */
  delete(key: string, signal?: AbortSignal): Promise<void>
}

/** There is no file under this key. */
export class Missing extends Error {}

/** Sees to it that what was written survives a loss of power: a file, or the names in a folder. */
export const flush = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const ignoreMissing = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOENT') throw error
}

/** A stream of a file, or of a part of it. @throws Missing */
export const openFile = async (path: string, span?: Span): Promise<Readable> => {
  const stream = createReadStream(path, span ?? {})
  await new Promise<void>((found, missing) => {
    stream.once('ready', found).once('error', missing)
  }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new Missing(error.message) : error
  })
  return stream
}

/** A folder of this machine, or one that several share. */
export const makeFolder = (folder: string): Place => {
  const pathOf = (key: string) => join(resolve(folder), key)
  return {
    put: async (key, { path }) => {
      const target = pathOf(key)
      await mkdir(dirname(target), { recursive: true, mode: 0o700 })
      await rename(path, target).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EXDEV') throw error
        // Another disk: copied beside it first, so that nobody sees half a file.
        const beside = `${target}.${randomUUID()}`
        await copyFile(path, beside)
        await flush(beside)
        await rename(beside, target)
        await rm(path, { force: true })
      })
      await flush(dirname(target))
    },
    get: (key, span) => openFile(pathOf(key), span),
    delete: async (key) => {
      const target = pathOf(key)
      await rm(target, { force: true })
      await flush(dirname(target)).catch(ignoreMissing)
    },
  }
}
